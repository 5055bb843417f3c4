import { ServiceError } from '../errors/service-error.ts';
import type { Sql } from './store.ts';

/**
 * Refuses when no valid API key would administer every database once `principal` does so no more. Only keys count: a
 * client needs the token endpoint, and a token somebody else's issuer.
 */
export async function refuseLastAdministrator(sql: Sql, principal: string, now: number): Promise<void> {
  const administrators = await listAdministrators(sql, now);
  if (!administrators.includes(principal) || administrators.length > 1) return;
  throw new ServiceError('LastAdministrator', 'Without this key nobody could administer the server.', {
    hint: 'Make another API key with the role admin on all databases first.',
  });
}

/** With two of them, either may go. */
const ENOUGH = 2;

async function listAdministrators(sql: Sql, now: number): Promise<readonly string[]> {
  const rows = await sql
    .selectFrom('grants')
    .innerJoin('api_keys', (join) =>
      join.on((on) => on(on.fn('substr', ['grants.principal', on.val('key:'.length + 1)]), '=', on.ref('api_keys.id'))),
    )
    .select('grants.principal')
    .where('grants.principal', '>=', 'key:')
    .where('grants.principal', '<', 'key;')
    .where('database_name', '=', '')
    .where('path', '=', '')
    .where('role', '=', 'admin')
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .limit(ENOUGH)
    .execute();
  return rows.map((row) => row.principal);
}
