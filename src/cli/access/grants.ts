import type { Catalog, GivenGrant } from '../../catalog/catalog.ts';
import { defined } from '../../client/api-client.ts';
import { ROLES } from '../../model/access.ts';
import type { Grant } from '../../model/access.ts';
import { DEFAULT_DELIMITER, formatPath, parseNamespacePath } from '../../model/identifier.ts';
import { EXIT, UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { readOneOf } from '../options.ts';
import type { Given } from '../options.ts';
import { defineCatalogCommand } from './catalog-command.ts';

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
    prepare(given) {
      const principal = requirePrincipal(given);
      const grant = readGrant(given);
      return async (catalog) => {
        await requireKnown(principal, catalog);
        await catalog.grants.add(principal, grant);
        return { notice: `${principal} is ${showGrant(grant)}.\n` };
      };
    },
  }),
  defineCatalogCommand({
    words: ['grant', 'remove'],
    usage: CHANGE_USAGE,
    summary: 'take a role away, at once',
    help: `${PRINCIPAL_HELP} Give role, database and path as "tiltyard grant list" shows them.`,
    prepare(given) {
      const principal = requirePrincipal(given);
      const grant = readGrant(given);
      return async (catalog) => {
        const isRemoved = await catalog.grants.remove(principal, grant);
        if (!isRemoved) return { notice: 'There is no such grant.\n', code: EXIT.failed };
        return { notice: `${principal} is no longer ${showGrant(grant)}.\n` };
      };
    },
  }),
  defineCatalogCommand({
    words: ['grant', 'list'],
    usage: '[PRINCIPAL] [--database NAME] [--json] [--data DIR]',
    summary: 'list who has which role on what',
    help: 'One line per grant: principal, role, place.',
    prepare(given) {
      const principal = given.names.length === 0 ? undefined : requirePrincipal(given);
      const databases = given.has('database') ? given.values('database') : undefined;
      return async (catalog) => {
        const grants: GivenGrant[] = [];
        let page: readonly GivenGrant[];
        do {
          const after = grants.at(-1);
          page = await catalog.grants.list({ limit: PAGE_SIZE, ...defined({ principal, databases, after }) });
          grants.push(...page);
        } while (page.length === PAGE_SIZE);
        const json = grants.map((grant) => ({ principal: grant.principal, ...grantToJson(grant) }));
        return { json, text: grants.map((grant) => `${grant.principal}  ${showGrant(grant)}\n`).join('') };
      };
    },
  }),
];

export function readGrant(given: Given): Grant {
  const role = readOneOf(given, 'role', ROLES) ?? 'reader';
  const [database, path] = [given.value('database'), given.value('path')];
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

function requirePrincipal({ names: [principal = '', ...others] }: Given): string {
  if (others.length === 0 && /^(key:|client:|token:[^#]+#).+$/.test(principal)) return principal;
  throw new UsageError('Give one principal: "key:ID", "client:ID" or "token:ISSUER#SUBJECT".');
}

async function requireKnown(principal: string, catalog: Catalog): Promise<void> {
  const [kind, id = ''] = principal.split(/:(.*)/s, 2);
  if (kind === 'token') return;
  const record = await (kind === 'key' ? catalog.keys : catalog.clients).find(id);
  if (record === undefined) throw new UsageError(`There is no ${kind} ${id}.`);
}
