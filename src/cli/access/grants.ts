import { createGrant, deleteGrant, listGrants, listKeys, listOauthClients } from '../../client/access.ts';
import { defined } from '../../client/api-client.ts';
import type { JsonClient } from '../../client/api-client.ts';
import { ROLES } from '../../model/access.ts';
import { DEFAULT_DELIMITER, formatPath, parseNamespacePath } from '../../model/identifier.ts';
import type { GrantShape } from '../../wire/access.ts';
import { UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { readOneOf } from '../options.ts';
import type { Given, Option } from '../options.ts';
import type { Session } from '../session.ts';
import { drawTable } from '../show/draw-table.ts';
import { visibleText } from '../show/text.ts';
import { defineAccessCommand } from './access-command.ts';

export const GRANT_OPTIONS: readonly Option[] = [
  { name: 'role', value: 'ROLE', help: `${ROLES.slice(0, -1).join(', ')} or ${ROLES.at(-1)} (default reader)` },
  { name: 'database', value: 'NAME', help: 'the database that the role applies to (default: all databases)' },
  { name: 'all-databases', help: 'the role applies to all databases; needed if TILTYARD_DATABASE is set' },
  { name: 'path', value: 'PATH', help: 'a namespace or table of --database, such as eu/orders' },
];

export const GRANT_HELP =
  'The role applies to the database given with --database, or to the namespace or table in it given with --path. Without --database, it applies to all databases. If TILTYARD_DATABASE is set, give --database or --all-databases.';

const PRINCIPAL_HELP = 'PRINCIPAL is "key:ID", "client:ID" or "token:ISSUER#SUBJECT".';

export const grantCommands: readonly Command[] = [
  defineAccessCommand({
    words: ['grant', 'add'],
    names: 'PRINCIPAL',
    summary: 'grant a role to a key, a client or the subject of a token',
    about: `Grants a role, with immediate effect. ${PRINCIPAL_HELP} ${GRANT_HELP}`,
    options: GRANT_OPTIONS,
    examples: [
      'grant add key:01h2xcejqtf2nbrexx3vqjhp41 --role writer --database sales --path eu/orders',
      "grant add 'token:https://login.example.com/#ada' --role reader --database sales",
    ],
    async run(client, session) {
      const reply = await createGrant(client, { principal: requirePrincipal(session.given), ...readGrant(session) });
      return { reply, text: `${visibleText(reply.principal)} is now ${showGrant(reply)}.\n` };
    },
  }),
  defineAccessCommand({
    words: ['grant', 'remove'],
    names: 'PRINCIPAL',
    summary: 'revoke a role',
    about: `Revokes a role, with immediate effect. ${PRINCIPAL_HELP} Give role, database and path as "tiltyard grant list" shows them.`,
    options: GRANT_OPTIONS,
    examples: ['grant remove key:01h2xcejqtf2nbrexx3vqjhp41 --role writer --database sales --path eu/orders'],
    async run(client, session) {
      const reply = await deleteGrant(client, { principal: requirePrincipal(session.given), ...readGrant(session) });
      return { reply, text: `${visibleText(reply.principal)} is no longer ${showGrant(reply)}.\n` };
    },
  }),
  defineAccessCommand({
    words: ['grant', 'list'],
    names: '[PRINCIPAL]',
    summary: 'list who has which role on what',
    about:
      'Lists grants, one per line: principal, role, database and path, and the name and state of the key or client. Grants of a revoked or expired one have no effect.',
    options: [{ name: 'database', value: 'NAME', help: 'list only grants on this database (default: all grants)' }],
    examples: ['grant list', 'grant list --database sales', 'grant list key:01h2xcejqtf2nbrexx3vqjhp41'],
    async run(client, { given, canvas }) {
      const principal = given.names.length === 0 ? undefined : requirePrincipal(given);
      const grants = await listGrants(client, defined({ principal, database: given.value('database') }));
      const states = await readStates(client);
      const lines = grants.map((grant) => [
        visibleText(grant.principal),
        grant.role,
        showScope(grant),
        visibleText(grant.principal_name ?? ''),
        states.get(grant.principal) ?? '',
      ]);
      const text = lines.length === 0 ? '' : drawTable(['principal', 'role', 'on', 'name', 'state'], lines, canvas);
      return { reply: grants, text, none: 'There are no grants.' };
    },
  }),
];

/** The states of keys and clients, by principal. */
async function readStates(client: JsonClient): Promise<ReadonlyMap<string, string>> {
  const credentials = [...(await listKeys(client)), ...(await listOauthClients(client))];
  return new Map(credentials.map(({ principal, state }) => [principal, state]));
}

export function readGrant({ given, terminal: { env } }: Pick<Session, 'given' | 'terminal'>): GrantShape {
  const role = readOneOf(given, 'role', ROLES) ?? 'reader';
  const [database, path, isAll] = [given.value('database'), given.value('path'), given.has('all-databases')];
  if (database !== undefined && isAll) throw new UsageError('Give --database or --all-databases, not both.');
  if (database === undefined) {
    // Ambiguous: for other commands, the variable chooses the database.
    if (env['TILTYARD_DATABASE'] && !isAll) {
      throw new UsageError(
        `TILTYARD_DATABASE is set, and does not choose the database of a role. Give --database ${env['TILTYARD_DATABASE']} or --all-databases.`,
      );
    }
    if (path !== undefined) throw new UsageError('--path needs --database.');
    return { role, all_databases: true };
  }
  return { role, database, ...defined({ path: path === undefined ? undefined : toNames(path) }) };
}

function toNames(path: string): string[] {
  return [...parseNamespacePath(path, path.includes('/') ? '/' : DEFAULT_DELIMITER)];
}

export function showGrant(grant: GrantShape): string {
  return `${grant.role} on ${showScope(grant)}`;
}

function showScope({ database, path = [] }: GrantShape): string {
  const names = [database ?? 'all databases', ...(path.length === 0 ? [] : [formatPath(path, '/')])];
  return visibleText(names.join('/'));
}

function requirePrincipal({ names: [principal = ''] }: Given): string {
  if (/^(key:|client:|token:[^#]+#).+$/.test(principal)) return principal;
  throw new UsageError(`"${principal}" is not a principal: give "key:ID", "client:ID" or "token:ISSUER#SUBJECT".`);
}
