import type { Catalog, CredentialRecord } from '../../catalog/catalog.ts';
import type { Command } from '../command.ts';
import { CommandFault, splitArguments } from '../command.ts';
import { withCatalog } from './catalog-command.ts';
import { ROLES } from '../../model/access.ts';
import type { Grant, Role } from '../../model/access.ts';
import { DEFAULT_DELIMITER, formatPath, parseNamespacePath } from '../../model/identifier.ts';
import { padText, textWidth } from '../show/text.ts';

/** What commands about keys, clients and grants take and show alike. */
export const GRANT_OPTIONS = ['role', 'database', 'path'] as const;
export const GRANT_HELP = `ROLE is one of ${ROLES.join(', ')} (default reader). Without --database the role holds on every database; --path limits it to a namespace or a table of it.`;

const PRINCIPAL_HELP = 'PRINCIPAL is "key:ID", "client:ID" or "token:ISSUER#SUBJECT".';

const addGrant: Command = {
  words: ['grant', 'add'],
  usage: 'PRINCIPAL --role ROLE [--database NAME] [--path PATH] [--data DIR]',
  summary: 'give a role to a key, a client or the holder of a token',
  help: `${PRINCIPAL_HELP} ${GRANT_HELP}

Example:
  tiltyard grant add 'token:https://login.example.com/#ada' --role reader --database sales`,
  async run(argv, terminal) {
    const { names, options, settings } = splitArguments(argv, GRANT_OPTIONS);
    const principal = requirePrincipal(names);
    const grant = readGrant(options);
    return withCatalog(settings, terminal, async (catalog) => {
      await requireKnown(principal, catalog);
      await catalog.grants.add(principal, grant, { knownDatabasesOnly: true });
      terminal.err(`${principal} is ${showGrant(grant)}.\n`);
      return 0;
    });
  },
};

const removeGrant: Command = {
  words: ['grant', 'remove'],
  usage: 'PRINCIPAL --role ROLE [--database NAME] [--path PATH] [--data DIR]',
  summary: 'take a role away, at once',
  help: `${PRINCIPAL_HELP} Give role, database and path as "tiltyard grant list" shows them.`,
  async run(argv, terminal) {
    const { names, options, settings } = splitArguments(argv, GRANT_OPTIONS);
    const principal = requirePrincipal(names);
    const grant = readGrant(options);
    return withCatalog(settings, terminal, async (catalog) => {
      const isGone = await catalog.grants.remove(principal, grant, { keepAdministrator: true });
      terminal.err(isGone ? `${principal} is no longer ${showGrant(grant)}.\n` : 'There is no such grant.\n');
      return isGone ? 0 : 1;
    });
  },
};

const PAGE = 1000;

const listGrants: Command = {
  words: ['grant', 'list'],
  usage: '[PRINCIPAL] [--database NAME] [--json] [--data DIR]',
  summary: 'list who has which role on what',
  help: 'One line per grant: principal, role, place.',
  async run(argv, terminal) {
    const { names, options, switches, settings } = splitArguments(argv, ['database'], ['json']);
    const principal = names.length === 0 ? undefined : requirePrincipal(names);
    const { database } = options;
    return withCatalog(settings, terminal, async (catalog) => {
      const wanted = {
        limit: PAGE,
        ...(principal === undefined ? {} : { principal }),
        ...(database === undefined ? {} : { databases: [database] }),
      };
      const grants = [...(await catalog.grants.list(wanted))];
      for (let last = grants.at(-1); last !== undefined && grants.length % PAGE === 0; last = grants.at(-1)) {
        const page = await catalog.grants.list({ ...wanted, after: last });
        if (page.length === 0) break;
        grants.push(...page);
      }
      if (switches.has('json')) {
        terminal.out(toJsonText(grants.map((grant) => ({ principal: grant.principal, ...grantToJson(grant) }))));
      } else terminal.out(grants.map((grant) => `${grant.principal}  ${showGrant(grant)}\n`).join(''));
      return 0;
    });
  },
};

export const grantCommands: readonly Command[] = [addGrant, removeGrant, listGrants];

function requirePrincipal(names: readonly string[]): string {
  const [principal] = names;
  const isPrincipal = principal !== undefined && /^(key:|client:|token:[^#]+#).+$/.test(principal);
  if (names.length === 1 && isPrincipal) return principal;
  throw new CommandFault(['Give one principal: "key:ID", "client:ID" or "token:ISSUER#SUBJECT".']);
}

async function requireKnown(principal: string, catalog: Catalog): Promise<void> {
  const [kind, id = ''] = principal.split(/:(.*)/s, 2);
  if (kind === 'token') return;
  const record = await (kind === 'key' ? catalog.keys : catalog.clients).find(id);
  if (record === undefined) throw new CommandFault([`There is no ${kind} ${id}.`]);
}

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;

export function readGrant(options: Readonly<Record<string, string>>): Grant {
  const role = ROLES.find((candidate) => candidate === (options['role'] ?? 'reader'));
  if (role === undefined) throw new CommandFault([`--role must be one of ${ROLES.join(', ')}.`]);
  const { database, path } = options;
  if (path !== undefined && database === undefined) throw new CommandFault(['--path needs --database.']);
  return {
    role: role satisfies Role,
    database,
    path: path === undefined ? [] : parseNamespacePath(path, DEFAULT_DELIMITER),
  };
}

export function readExpiry(days: string | undefined, now: number): { readonly expiresAt?: number } {
  if (days === undefined) return {};
  if (!/^[1-9]\d{0,4}$/.test(days)) throw new CommandFault(['--days must be a whole number from 1 to 99999.']);
  return { expiresAt: now + Number(days) * DAY_MILLISECONDS };
}

export function stateOf({ revokedAt, expiresAt }: CredentialRecord, now: number): 'revoked' | 'expired' | 'valid' {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'valid';
}

export function showGrant({ role, database, path }: Grant): string {
  return `${role} on ${database ?? 'everything'}${path.length === 0 ? '' : `/${formatPath(path)}`}`;
}

/** One line for each: id, state, name, grants. */
export function showCredentials(records: readonly CredentialRecord[], now: number): string {
  const width = Math.max(0, ...records.map(({ name }) => textWidth(name)));
  const lines = records.map((record) => {
    const state = stateOf(record, now).padEnd('revoked'.length);
    return `${record.id}  ${state}  ${padText(record.name, width)}  ${record.grants.map(showGrant).join(', ')}\n`;
  });
  return lines.join('');
}

/** As the operations show them. */
export function credentialToJson(record: CredentialRecord, now: number): object {
  return {
    id: record.id,
    name: record.name,
    state: stateOf(record, now),
    created_at: new Date(record.createdAt).toISOString(),
    ...(record.expiresAt === undefined ? {} : { expires_at: new Date(record.expiresAt).toISOString() }),
    grants: record.grants.map(grantToJson),
  };
}

export function grantToJson({ role, database, path }: Grant): object {
  return {
    role,
    ...(database === undefined ? { all_databases: true } : { database }),
    ...(path.length === 0 ? {} : { path }),
  };
}

export function toJsonText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
