import {
  createKey,
  createOauthClient,
  listKeys,
  listOauthClients,
  revokeKey,
  revokeOauthClient,
} from '../../client/access.ts';
import { defined } from '../../client/api-client.ts';
import type { JsonClient } from '../../client/api-client.ts';
import type { CreateCredentialBody, Credential, RevokeReply } from '../../wire/access.ts';
import { UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import type { Option } from '../options.ts';
import type { Result, Session } from '../session.ts';
import { drawTable } from '../show/draw-table.ts';
import { formatMoment, visibleText } from '../show/text.ts';
import { defineAccessCommand } from './access-command.ts';
import { GRANT_HELP, GRANT_OPTIONS, readGrant, showGrant } from './grants.ts';

/** The behavior and texts of the commands for one kind of credential. */
interface CredentialKind {
  readonly word: 'key' | 'client';
  readonly createSummary: string;
  readonly createAbout: string;
  readonly createExample: string;
  readonly create: (client: JsonClient, body: CreateCredentialBody) => Promise<Result>;
  readonly listSummary: string;
  readonly list: (client: JsonClient) => Promise<Credential[]>;
  readonly revokeSummary: string;
  readonly revokeAbout: string;
  readonly revoke: (client: JsonClient, id: string) => Promise<RevokeReply>;
}

const API_KEY: CredentialKind = {
  word: 'key',
  createSummary: 'create an API key',
  createAbout: 'Creates an API key and prints it. It is shown only once: the server keeps a digest.',
  createExample: 'key create dashboard --role reader --database sales --path eu/orders --days 90',
  async create(client, body) {
    const reply = await createKey(client, body);
    return { reply, text: `${reply.key}\n`, notice: createdNotice('key', reply) };
  },
  listSummary: 'list the API keys',
  list: listKeys,
  revokeSummary: 'revoke an API key',
  revokeAbout:
    'Revokes an API key: the server refuses it from the next request on. The last key that administers all databases, and the last of those without an expiry, cannot be revoked; create another one first.',
  revoke: revokeKey,
};

const OAUTH_CLIENT: CredentialKind = {
  word: 'client',
  createSummary: 'create an OAuth client',
  createAbout:
    "Creates an OAuth client, which gets access tokens from the server's token endpoint, and prints its id and secret. The secret is shown only once.",
  createExample: 'client create nightly-load --role writer --database sales',
  async create(client, body) {
    const reply = await createOauthClient(client, body);
    const tokens =
      reply.issuer_url === undefined
        ? 'The server has no token endpoint: set auth.issuerUrl to its https address.'
        : `Get tokens from ${reply.issuer_url}`;
    return {
      reply,
      text: `client_id      ${reply.client_id}\nclient_secret  ${reply.client_secret}\n`,
      notice: `${createdNotice('client', reply)}\n${tokens}`,
    };
  },
  listSummary: 'list the OAuth clients',
  list: listOauthClients,
  revokeSummary: 'revoke an OAuth client and all its tokens',
  revokeAbout: 'Revokes an OAuth client: the server refuses its tokens from the next request on.',
  revoke: revokeOauthClient,
};

const CREATE_OPTIONS: readonly Option[] = [
  ...GRANT_OPTIONS,
  { name: 'days', value: 'N', help: 'expires after this many days (default: never)' },
];

export const keyCommands = commandsOf(API_KEY);
export const clientCommands = commandsOf(OAUTH_CLIENT);

function commandsOf(kind: CredentialKind): readonly Command[] {
  const { word } = kind;
  return [
    defineAccessCommand({
      words: [word, 'create'],
      names: 'NAME',
      summary: kind.createSummary,
      about: `${kind.createAbout} ${GRANT_HELP}`,
      options: CREATE_OPTIONS,
      examples: [kind.createExample],
      run: async (client, session) => kind.create(client, readCredential(session)),
    }),
    defineAccessCommand({
      words: [word, 'list'],
      names: '',
      summary: kind.listSummary,
      about: `Lists each ${word} with its id, state, name, grants and expiry, never its secret.`,
      examples: [`${word} list`, `${word} list --json`],
      async run(client, { canvas }) {
        const reply = await kind.list(client);
        const rows = reply.map(({ id, state, name, grants, expires_at: expiry }) => [
          id,
          state,
          visibleText(name),
          grants.map(showGrant).join(', '),
          expiry === undefined ? 'never' : formatMoment(Date.parse(expiry)),
        ]);
        const text = rows.length === 0 ? '' : drawTable(['id', 'state', 'name', 'grants', 'expires'], rows, canvas);
        return { reply, text, none: `There are no ${word}s.` };
      },
    }),
    defineAccessCommand({
      words: [word, 'revoke'],
      names: 'ID',
      summary: kind.revokeSummary,
      about: `${kind.revokeAbout} "tiltyard ${word} list" shows the ids.`,
      examples: [`${word} revoke 01h2xcejqtf2nbrexx3vqjhp41`],
      async run(client, { given: { names } }) {
        const reply = await kind.revoke(client, names[0] ?? '');
        return { reply, text: `Revoked the ${word} ${reply.id}.\n` };
      },
    }),
  ];
}

function createdNotice(word: string, { id, name, grants, expires_at: expiry }: Credential): string {
  const end = expiry === undefined ? '' : ` It expires at ${expiry}.`;
  const roles = grants.map(showGrant).join(', ');
  return `Created the ${word} ${id} for ${visibleText(name)}: ${roles}.${end} Store it now: it is not shown again.`;
}

function readCredential(session: Pick<Session, 'given' | 'terminal'>): CreateCredentialBody {
  const { given } = session;
  const expiry = readExpiry(given.value('days'));
  return { name: given.names[0] ?? '', grants: [readGrant(session)], ...defined({ expires_in_seconds: expiry }) };
}

const DAY_SECONDS = 24 * 60 * 60;

function readExpiry(days: string | undefined): number | undefined {
  if (days === undefined) return undefined;
  if (!/^[1-9]\d{0,3}$/.test(days)) throw new UsageError('--days must be a whole number from 1 to 3,660.');
  return Number(days) * DAY_SECONDS;
}
