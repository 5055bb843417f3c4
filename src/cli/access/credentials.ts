import type { Catalog, CredentialRecord } from '../../catalog/catalog.ts';
import {
  credentialToJson,
  showCredentials,
  toJsonText,
  GRANT_HELP,
  GRANT_OPTIONS,
  readExpiry,
  readGrant,
} from './grants.ts';
import type { Command } from '../command.ts';
import { CommandFault, splitArguments, EXIT, requireConfig } from '../command.ts';
import { withCatalog } from './catalog-command.ts';
import { generateClientSecret, generateApiKey } from '../../auth/keys/secrets.ts';
import { findOwnIssuer } from '../../config/config.ts';

/** What commands about one kind of credential say, and where it is kept. */
export interface CredentialKind {
  readonly word: 'key' | 'client';
  readonly listSummary: string;
  readonly revokeSummary: string;
  /** What a revoked one means to a running server. */
  readonly revokeHelp: string;
  readonly list: (catalog: Catalog) => Promise<readonly CredentialRecord[]>;
  /** False when there is none of that id. */
  readonly revoke: (catalog: Catalog, id: string) => Promise<boolean>;
}

export function listCommand({ word, listSummary, list }: CredentialKind): Command {
  return {
    words: [word, 'list'],
    usage: '[--json] [--data DIR]',
    summary: listSummary,
    help: `One line per ${word}: id, state, name, grants.`,
    async run(argv, terminal) {
      const { names, switches, settings } = splitArguments(argv, [], ['json']);
      return withCatalog([...names, ...settings], terminal, async (catalog) => {
        const records = await list(catalog);
        const now = Date.now();
        if (switches.has('json')) terminal.out(toJsonText(records.map((record) => credentialToJson(record, now))));
        else terminal.out(showCredentials(records, now));
        return 0;
      });
    },
  };
}

export function revokeCommand({ word, revokeSummary, revokeHelp, revoke }: CredentialKind): Command {
  return {
    words: [word, 'revoke'],
    usage: 'ID [--data DIR]',
    summary: revokeSummary,
    help: `ID is the first word of a line of "tiltyard ${word} list". ${revokeHelp}`,
    async run(argv, terminal) {
      const { names, settings } = splitArguments(argv, []);
      const [id] = names;
      if (id === undefined || names.length > 1) throw new CommandFault([`Give the id of one ${word}.`]);
      return withCatalog(settings, terminal, async (catalog) => {
        const isRevoked = await revoke(catalog, id);
        const noun = word === 'key' ? 'Key' : 'Client';
        const missing = `tiltyard: There is no ${word} ${id} that could be revoked. "tiltyard ${word} list" shows them.\n`;
        terminal.err(isRevoked ? `${noun} ${id} is revoked.\n` : missing);
        return isRevoked ? EXIT.done : EXIT.missing;
      });
    },
  };
}

const createClient: Command = {
  words: ['client', 'create'],
  usage: 'NAME [--role ROLE] [--database NAME] [--path PATH] [--days N] [--json] [--data DIR]',
  summary: 'make an OAuth client; its secret is shown once',
  help: `${GRANT_HELP}

A client gets its access tokens from the server's own token endpoint. Give the settings that the server is started with, so that its address can be shown.

Example:
  tiltyard client create nightly-load --role writer --database sales`,
  async run(argv, terminal) {
    const { names, options, switches, settings } = splitArguments(argv, [...GRANT_OPTIONS, 'days'], ['json']);
    const [name] = names;
    if (name === undefined || names.length > 1) throw new CommandFault(['Give the client one name.']);
    const grants = [readGrant(options)];
    const expiry = readExpiry(options['days'], Date.now());
    const issuer = findOwnIssuer(requireConfig(settings, terminal));
    return withCatalog(settings, terminal, async (catalog) => {
      const { secret, digest } = generateClientSecret();
      const record = await catalog.clients.create({ name, digest, grants, ...expiry });
      const shown = { issuer_url: issuer, client_id: record.id, client_secret: secret };
      if (switches.has('json')) terminal.out(toJsonText({ ...credentialToJson(record, Date.now()), ...shown }));
      else terminal.out(`client_id      ${record.id}\nclient_secret  ${secret}\n`);
      terminal.err(`Client ${record.id} for ${name}: keep its secret now, it is not shown again.\n`);
      terminal.err(
        issuer === undefined
          ? 'These settings have no token endpoint: set auth.issuerUrl to its https address.\n'
          : `Its tokens come from the issuer ${issuer}\n`,
      );
      return 0;
    });
  },
};

const OAUTH_CLIENT: CredentialKind = {
  word: 'client',
  listSummary: 'list the OAuth clients, without their secrets',
  revokeSummary: 'revoke an OAuth client and all its tokens, at once',
  revokeHelp: 'A running server refuses its tokens from the next request on.',
  list: async (catalog) => catalog.clients.list(),
  revoke: async (catalog, id) => catalog.clients.revoke(id),
};

export const clientCommands: readonly Command[] = [
  createClient,
  listCommand(OAUTH_CLIENT),
  revokeCommand(OAUTH_CLIENT),
];

const createKey: Command = {
  words: ['key', 'create'],
  usage: 'NAME [--role ROLE] [--database NAME] [--path PATH] [--days N] [--json] [--data DIR]',
  summary: 'make an API key; it is shown once',
  help: `${GRANT_HELP}

Example:
  tiltyard key create dashboard --role reader --database sales --path 'eu$orders' --days 90`,
  async run(argv, terminal) {
    const { names, options, switches, settings } = splitArguments(argv, [...GRANT_OPTIONS, 'days'], ['json']);
    const [name] = names;
    if (name === undefined || names.length > 1) throw new CommandFault(['Give the key one name.']);
    const grants = [readGrant(options)];
    const expiry = readExpiry(options['days'], Date.now());
    return withCatalog(settings, terminal, async (catalog) => {
      const { key, digest } = generateApiKey();
      const record = await catalog.keys.create({ name, digest, grants, ...expiry });
      if (switches.has('json')) terminal.out(toJsonText({ ...credentialToJson(record, Date.now()), key }));
      else terminal.out(`${key}\n`);
      terminal.err(`Key ${record.id} for ${name}: keep it now, it is not shown again.\n`);
      return 0;
    });
  },
};

const API_KEY: CredentialKind = {
  word: 'key',
  listSummary: 'list the API keys, without the keys themselves',
  revokeSummary: 'revoke an API key, at once',
  revokeHelp:
    'A running server refuses the key from its next request on. The last key that administers everything is not revoked: make another one first.',
  list: async (catalog) => catalog.keys.list(),
  revoke: async (catalog, id) => catalog.keys.revoke(id, { keepAdministrator: true }),
};

export const keyCommands: readonly Command[] = [createKey, listCommand(API_KEY), revokeCommand(API_KEY)];
