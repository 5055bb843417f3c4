import { MAIN_BRANCH } from '../../model/table.ts';
import type { VersionMetadata } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { eachPart } from '../store.ts';
import type { Sql } from '../store.ts';

interface VersionSpan {
  readonly tableId: string;
  /** The main branch if absent. */
  readonly branch: string | undefined;
  readonly from: number;
  readonly to: number;
}

/**
 * Metadata that external writers set on their versions. Rows of versions that are gone or were replaced are ignored.
 */
export function createVersionMetadataStore({ read, append }: CatalogContext) {
  return {
    /** By version. */
    async list({
      tableId,
      branch = MAIN_BRANCH,
      from,
      to,
    }: VersionSpan): Promise<ReadonlyMap<number, VersionMetadata>> {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('versionMetadata')
          .select(['version', 'committedAt', 'metadata'])
          .where('tableId', '=', tableId)
          .where('branch', '=', branch)
          .where('version', '>=', from)
          .where('version', '<=', to)
          .execute(),
      );
      return new Map(
        rows.map(({ version, committedAt, metadata }) => {
          // Only `insertVersionMetadata` writes it.
          const entries: VersionMetadata['entries'] = JSON.parse(metadata);
          return [version, { entries, committedAtMicroseconds: committedAt }];
        }),
      );
    },

    /** Versions of the main branch that have metadata, or had it before they were removed. */
    async listVersions(tableId: string): Promise<readonly number[]> {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('versionMetadata')
          .select('version')
          .where('tableId', '=', tableId)
          .where('branch', '=', MAIN_BRANCH)
          .execute(),
      );
      return rows.map(({ version }) => version);
    },

    /** For deleted versions of the main branch. Idempotent. */
    async remove(tableId: string, versions: readonly number[]): Promise<void> {
      if (versions.length > 0) await append(async (sql) => deleteVersionMetadata(sql, { tableId, versions }));
    },
  };
}

export async function insertVersionMetadata(
  sql: Sql,
  { tableId, branch = MAIN_BRANCH, version }: { tableId: string; branch?: string | undefined; version: number },
  { entries, committedAtMicroseconds: committedAt }: VersionMetadata,
): Promise<void> {
  const metadata = JSON.stringify(entries);
  await sql
    .insertInto('versionMetadata')
    .values({ tableId, branch, version, committedAt, metadata })
    .onConflict((conflict) => conflict.columns(['tableId', 'branch', 'version']).doUpdateSet({ committedAt, metadata }))
    .execute();
}

/** Deletes the metadata of these versions, or of a deleted branch. */
export async function deleteVersionMetadata(
  sql: Sql,
  {
    tableId,
    branch = MAIN_BRANCH,
    versions,
  }: { tableId: string; branch?: string | undefined; versions: RemovedVersions },
): Promise<void> {
  const ofBranch = sql.deleteFrom('versionMetadata').where('tableId', '=', tableId).where('branch', '=', branch);
  if (versions === 'all') await ofBranch.execute();
  else await eachPart(versions, async (part) => ofBranch.where('version', 'in', part).execute());
}

export type RemovedVersions = readonly number[] | 'all';
