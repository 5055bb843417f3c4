import { generateApiKey, generateClientSecret } from '../../auth/keys/secrets.ts';
import { generateSigningKey } from '../../auth/keys/signing-keys.ts';
import type { CredentialRecord } from '../../catalog/catalog.ts';
import { findOwnIssuer } from '../../config/config.ts';
import type { Config } from '../../config/config.ts';
import { EXIT, UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { padText, textWidth } from '../show/text.ts';
import { defineCatalogCommand, defineListCommand, requireOneName } from './catalog-command.ts';
import type { Output } from './catalog-command.ts';
import { GRANT_HELP, grantToJson, readGrant, showGrant } from './grants.ts';

/** What the commands of one kind of credential say. */
interface CredentialKind {
  readonly word: 'key' | 'client';
  readonly createSummary: string;
  readonly createHelp: string;
  readonly generate: () => { readonly secret: string; readonly digest: string };
  /** The secret as JSON fields and as text. */
  readonly show: (secret: string, record: CredentialRecord, config: Config) => Output & { readonly fields: object };
  readonly listSummary: string;
  readonly revokeSummary: string;
  readonly revokeHelp: string;
}

const API_KEY: CredentialKind = {
  word: 'key',
  createSummary: 'make an API key; it is shown once',
  createHelp: `${GRANT_HELP}

Example:
  tiltyard key create dashboard --role reader --database sales --path 'eu$orders' --days 90`,
  generate() {
    const { key: secret, digest } = generateApiKey();
    return { secret, digest };
  },
  show: (key, { id, name }) => ({
    fields: { key },
    text: `${key}\n`,
    notice: `Key ${id} for ${name}: keep it now, it is not shown again.\n`,
  }),
  listSummary: 'list the API keys, without the keys themselves',
  revokeSummary: 'revoke an API key, at once',
  revokeHelp:
    'A running server refuses the key from its next request on. The last key that administers everything is not revoked: make another one first.',
};

const OAUTH_CLIENT: CredentialKind = {
  word: 'client',
  createSummary: 'make an OAuth client; its secret is shown once',
  createHelp: `${GRANT_HELP}

A client gets its access tokens from the server's own token endpoint. Give the settings that the server is started with, so that its address can be shown.

Example:
  tiltyard client create nightly-load --role writer --database sales`,
  generate: generateClientSecret,
  show(secret, { id, name }, config) {
    const issuer = findOwnIssuer(config);
    const tokens =
      issuer === undefined
        ? 'These settings have no token endpoint: set auth.issuerUrl to its https address.'
        : `Its tokens come from the issuer ${issuer}`;
    return {
      fields: { issuer_url: issuer, client_id: id, client_secret: secret },
      text: `client_id      ${id}\nclient_secret  ${secret}\n`,
      notice: `Client ${id} for ${name}: keep its secret now, it is not shown again.\n${tokens}\n`,
    };
  },
  listSummary: 'list the OAuth clients, without their secrets',
  revokeSummary: 'revoke an OAuth client and all its tokens, at once',
  revokeHelp: 'A running server refuses its tokens from the next request on.',
};

export const keyCommands = commandsOf(API_KEY);
export const clientCommands = commandsOf(OAUTH_CLIENT);

function commandsOf(kind: CredentialKind): readonly Command[] {
  const { word } = kind;
  const store = `${word}s` as const;
  const create = defineCatalogCommand({
    words: [word, 'create'],
    usage: 'NAME [--role ROLE] [--database NAME] [--path PATH] [--days N] [--json] [--data DIR]',
    summary: kind.createSummary,
    help: kind.createHelp,
    prepare(given) {
      const name = requireOneName(given, `Give the ${word} one name.`);
      const wanted = { name, grants: [readGrant(given)], ...readExpiry(given.value('days'), Date.now()) };
      return async (catalog, config) => {
        const { secret, digest } = kind.generate();
        const record = await catalog[store].create({ ...wanted, digest });
        const { fields, ...texts } = kind.show(secret, record, config);
        return { json: { ...credentialToJson(record, Date.now()), ...fields }, ...texts };
      };
    },
  });
  const list = defineListCommand({
    words: [word, 'list'],
    summary: kind.listSummary,
    help: `One line per ${word}: id, state, name, grants.`,
    async list(catalog) {
      const records = await catalog[store].list();
      const now = Date.now();
      return { json: records.map((record) => credentialToJson(record, now)), text: showCredentials(records, now) };
    },
  });
  const revoke = defineCatalogCommand({
    words: [word, 'revoke'],
    usage: 'ID [--data DIR]',
    summary: kind.revokeSummary,
    help: `ID is the first word of a line of "tiltyard ${word} list". ${kind.revokeHelp}`,
    prepare(given) {
      const id = requireOneName(given, `Give the id of one ${word}.`);
      return async (catalog) => {
        const isRevoked = await catalog[store].revoke(id);
        if (isRevoked) return { notice: `${word === 'key' ? 'Key' : 'Client'} ${id} is revoked.\n` };
        const notice = `tiltyard: There is no ${word} ${id} that could be revoked. "tiltyard ${word} list" shows them.\n`;
        return { notice, code: EXIT.missing };
      };
    },
  });
  return [create, list, revoke];
}

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;

function readExpiry(days: string | undefined, now: number): { readonly expiresAt?: number } {
  if (days === undefined) return {};
  if (!/^[1-9]\d{0,4}$/.test(days)) throw new UsageError('--days must be a whole number from 1 to 99999.');
  return { expiresAt: now + Number(days) * DAY_MILLISECONDS };
}

function stateOf({ revokedAt, expiresAt }: CredentialRecord, now: number): 'revoked' | 'expired' | 'valid' {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'valid';
}

function showCredentials(records: readonly CredentialRecord[], now: number): string {
  const width = Math.max(0, ...records.map(({ name }) => textWidth(name)));
  const lines = records.map((record) => {
    const state = stateOf(record, now).padEnd('revoked'.length);
    return `${record.id}  ${state}  ${padText(record.name, width)}  ${record.grants.map(showGrant).join(', ')}\n`;
  });
  return lines.join('');
}

/** The same fields as in replies of the API. */
function credentialToJson(record: CredentialRecord, now: number): object {
  return {
    id: record.id,
    name: record.name,
    state: stateOf(record, now),
    created_at: new Date(record.createdAt).toISOString(),
    ...(record.expiresAt === undefined ? {} : { expires_at: new Date(record.expiresAt).toISOString() }),
    grants: record.grants.map(grantToJson),
  };
}

export const signingKeyCommands: readonly Command[] = [
  defineCatalogCommand({
    words: ['signing-key', 'rotate'],
    usage: '[--forget-earlier] [--data DIR]',
    summary: 'sign access tokens with a new key from now on',
    help: 'Tokens that earlier keys signed stay valid until they expire. With --forget-earlier they end at once, and every client asks for a new one.',
    prepare: (given) => async (catalog) => {
      const key = await generateSigningKey();
      await catalog.signingKeys.rotate(key, { forgetEarlier: given.has('forget-earlier') });
      return { notice: `Tokens are signed with the key ${key.id} from now on.\n` };
    },
  }),
  defineListCommand({
    words: ['signing-key', 'list'],
    summary: 'list the keys that sign access tokens, without the keys themselves',
    help: 'One line per key: id, state, time of its making. The first one signs.',
    async list(catalog) {
      const json = (await catalog.signingKeys.list()).map(({ id, createdAt, retiredAt }) => ({
        id,
        state: retiredAt === undefined ? 'signs' : 'retired',
        created_at: new Date(createdAt).toISOString(),
      }));
      return { json, text: json.map((key) => `${key.id}  ${key.state.padEnd(7)}  ${key.created_at}\n`).join('') };
    },
  }),
];
