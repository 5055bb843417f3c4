import { ServiceError } from '../errors/service-error.ts';
import { ROLES } from '../model/caller.ts';
import type { Grant } from '../model/caller.ts';
import type { CatalogContext } from './context.ts';
import { fromPathText, toPathText } from './path-text.ts';
import type { GrantRow } from './rows.ts';
import type { Sql } from './store.ts';

/** A principal is the id of a caller, such as `key:…` or `token:<issuer>#<subject>`. */
export interface GrantStore {
  of(principal: string): Promise<readonly Grant[]>;
  /** Giving a grant a second time changes nothing. */
  add(principal: string, grant: Grant): Promise<void>;
  /** False when there was no such grant. */
  remove(principal: string, grant: Grant): Promise<boolean>;
}

export function createGrantStore({ read, write, caches }: CatalogContext): GrantStore {
  const cache = caches.create<readonly Grant[]>();
  return {
    async of(principal) {
      const grants = await cache.find(principal, async () =>
        read(async (sql) => {
          const rows = await sql.selectFrom('grants').selectAll().where('principal', '=', principal).execute();
          return toGrants(rows);
        }),
      );
      return grants ?? [];
    },

    async add(principal, grant) {
      await write(async (sql) => insertGrants(sql, principal, [grant]));
    },

    async remove(principal, grant) {
      return write(async (sql) => deleteGrant(sql, toGrantRow(principal, grant)));
    },
  };
}

export async function insertGrants(sql: Sql, principal: string, grants: readonly Grant[]): Promise<void> {
  if (grants.length === 0) return;
  await sql
    .insertInto('grants')
    .values(grants.map((grant) => toGrantRow(principal, grant)))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** A role that this release does not know gives nothing. */
export function toGrants(rows: readonly GrantRow[]): readonly Grant[] {
  return rows
    .filter((row) => ROLES.includes(row.role))
    .map((row) => ({
      role: row.role,
      database: row.database_name === '' ? undefined : row.database_name,
      path: fromPathText(row.path),
    }));
}

async function deleteGrant(sql: Sql, row: GrantRow): Promise<boolean> {
  const result = await sql
    .deleteFrom('grants')
    .where('principal', '=', row.principal)
    .where('database_name', '=', row.database_name)
    .where('path', '=', row.path)
    .where('role', '=', row.role)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
}

function toGrantRow(principal: string, grant: Grant): GrantRow {
  // Stored, an empty name stands for all databases: it must not be reached by a name that was left empty.
  if (grant.database === '') throw new ServiceError('InvalidInput', 'The grant names a database without a name.');
  return {
    principal,
    database_name: grant.database ?? '',
    path: toPathText(grant.path),
    role: grant.role,
  };
}
