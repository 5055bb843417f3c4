import type { CredentialRecord } from '../../catalog/catalog.ts';
import { ROLES } from '../../model/access.ts';
import type { Grant, Role } from '../../model/access.ts';
import { DEFAULT_DELIMITER, formatPath, parseNamespacePath } from '../../model/identifier.ts';
import { CommandFault } from '../command.ts';
import { padText, textWidth } from '../show/text.ts';

/** What commands about keys, clients and grants take and show alike. */
export const GRANT_OPTIONS = ['role', 'database', 'path'] as const;
export const GRANT_HELP = `ROLE is one of ${ROLES.join(', ')} (default reader). Without --database the role holds on every database; --path limits it to a namespace or a table of it.`;

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
