import type { Catalog } from '../../catalog/catalog.ts';
import { defined } from '../../client/api-client.ts';
import { ROLES } from '../../model/access.ts';
import type { Grant } from '../../model/access.ts';
import { DEFAULT_DELIMITER, formatPath, parseNamespacePath } from '../../model/identifier.ts';
import { EXIT, UsageError, toJsonText } from '../command.ts';
import type { Command } from '../command.ts';
import { defineCatalogCommand } from './catalog-command.ts';

export const GRANT_OPTIONS = ['role', 'database', 'path'] as const;
export const GRANT_HELP = `ROLE is one of ${ROLES.join(', ')} (default reader). Without --database the role holds on every database; --path limits it to a namespace or a table of it.`;

const CHANGE_USAGE = 'PRINCIPAL --role ROLE [--database NAME] [--path PATH] [--data DIR]';
const PRINCIPAL_HELP = 'PRINCIPAL is "key:ID", "client:ID" or "token:ISSUER#SUBJECT".';
const PAGE_SIZE = 1000;

export const grantCommands: readonly Command[] = [
  defineCatalogCommand({
    words: ['grant', 'add'],
    usage: CHANGE_USAGE,
    summary: 'give a role to a key, a client or the holder of a token',
    help: `${PRINCIPAL_HELP} ${GRANT_HELP}

Example:
  tiltyard grant add 'token:https://login.example.com/#ada' --role reader --database sales`,
    own: { options: GRANT_OPTIONS },
    prepare({ names, options }, terminal) {
      const principal = requirePrincipal(names);
      const grant = readGrant(options);
      return async (catalog) => {
        await requireKnown(principal, catalog);
        await catalog.grants.add(principal, grant, { knownDatabasesOnly: true });
        terminal.err(`${principal} is ${showGrant(grant)}.\n`);
      };
    },
  }),
  defineCatalogCommand({
    words: ['grant', 'remove'],
    usage: CHANGE_USAGE,
    summary: 'take a role away, at once',
    help: `${PRINCIPAL_HELP} Give role, database and path as "tiltyard grant list" shows them.`,
    own: { options: GRANT_OPTIONS },
    prepare({ names, options }, terminal) {
      const principal = requirePrincipal(names);
      const grant = readGrant(options);
      return async (catalog) => {
        const isRemoved = await catalog.grants.remove(principal, grant, { keepAdministrator: true });
        terminal.err(isRemoved ? `${principal} is no longer ${showGrant(grant)}.\n` : 'There is no such grant.\n');
        return isRemoved ? EXIT.done : EXIT.failed;
      };
    },
  }),
  defineCatalogCommand({
    words: ['grant', 'list'],
    usage: '[PRINCIPAL] [--database NAME] [--json] [--data DIR]',
    summary: 'list who has which role on what',
    help: 'One line per grant: principal, role, place.',
    own: { options: ['database'], switches: ['json'] },
    prepare({ names, options: { database }, switches }, terminal) {
      const principal = names.length === 0 ? undefined : requirePrincipal(names);
      const databases = database === undefined ? undefined : [database];
      return async (catalog) => {
        const wanted = { limit: PAGE_SIZE, ...defined({ principal, databases }) };
        const grants = [...(await catalog.grants.list(wanted))];
        for (let last = grants.at(-1); last !== undefined && grants.length % PAGE_SIZE === 0; last = grants.at(-1)) {
          const page = await catalog.grants.list({ ...wanted, after: last });
          if (page.length === 0) break;
          grants.push(...page);
        }
        const json = grants.map((grant) => ({ principal: grant.principal, ...grantToJson(grant) }));
        const lines = grants.map((grant) => `${grant.principal}  ${showGrant(grant)}\n`);
        terminal.out(switches.has('json') ? toJsonText(json) : lines.join(''));
      };
    },
  }),
];

export function readGrant(options: Readonly<Record<string, string>>): Grant {
  const role = ROLES.find((candidate) => candidate === (options['role'] ?? 'reader'));
  if (role === undefined) throw new UsageError(`--role must be one of ${ROLES.join(', ')}.`);
  const { database, path } = options;
  if (path !== undefined && database === undefined) throw new UsageError('--path needs --database.');
  return { role, database, path: path === undefined ? [] : parseNamespacePath(path, DEFAULT_DELIMITER) };
}

export function showGrant({ role, database, path }: Grant): string {
  return `${role} on ${database ?? 'everything'}${path.length === 0 ? '' : `/${formatPath(path)}`}`;
}

export function grantToJson({ role, database, path }: Grant): object {
  return {
    role,
    ...(database === undefined ? { all_databases: true } : { database }),
    ...(path.length === 0 ? {} : { path }),
  };
}

function requirePrincipal([principal = '', ...others]: readonly string[]): string {
  if (others.length === 0 && /^(key:|client:|token:[^#]+#).+$/.test(principal)) return principal;
  throw new UsageError('Give one principal: "key:ID", "client:ID" or "token:ISSUER#SUBJECT".');
}

async function requireKnown(principal: string, catalog: Catalog): Promise<void> {
  const [kind, id = ''] = principal.split(/:(.*)/s, 2);
  if (kind === 'token') return;
  const record = await (kind === 'key' ? catalog.keys : catalog.clients).find(id);
  if (record === undefined) throw new UsageError(`There is no ${kind} ${id}.`);
}
