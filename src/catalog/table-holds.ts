import { ServiceError } from '../errors/service-error.ts';
import type { Sql } from './store.ts';

/** `branch` is absent for the main one. */
export interface HeldState {
  readonly version: number;
  readonly branch?: string | undefined;
}

/** From now on readers of the branch see this version. Refused while another is held. */
export async function holdVersion(sql: Sql, tableId: string, { version, branch }: HeldState): Promise<void> {
  const row = await sql
    .selectFrom('tables')
    .select(['held_version', 'held_branch'])
    .where('id', '=', tableId)
    .where('state', '!=', 'reserved')
    .executeTakeFirst();
  if (row === undefined) throw new ServiceError('TableNotFound', 'The table does not exist any more.');
  const isSame = row.held_version === version && row.held_branch === (branch ?? null);
  if (row.held_version !== null && !isSame) {
    throw new ServiceError('ConcurrentModification', 'Another request is writing a lot of data to the table.');
  }
  const held = { held_version: version, held_branch: branch ?? null };
  await sql.updateTable('tables').set(held).where('id', '=', tableId).execute();
}

export async function releaseVersion(sql: Sql, tableId: string): Promise<void> {
  const free = { held_version: null, held_branch: null };
  await sql.updateTable('tables').set(free).where('id', '=', tableId).execute();
}
