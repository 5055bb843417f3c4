import { turnPlace } from './catalog/catalog.ts';
import type { Catalog, LandedWrite, UnresolvedWrite } from './catalog/catalog.ts';
import type { Engine } from './engine/engine.ts';
import type { CommitKind } from './model/commit.ts';
import { MAIN_BRANCH } from './model/table.ts';
import type { TableRecord } from './model/table.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

/** What the commit of an operation can be. */
const KINDS: Readonly<Record<string, readonly CommitKind[]>> = {
  update_table: ['update'],
  delete_from_table: ['delete'],
  insert_into_table: ['append', 'overwrite'],
  complete_multipart_write: ['append', 'overwrite'],
  merge_insert_into_table: ['append', 'update', 'delete'],
};

/**
 * Finds out what became of the writes that were under way when the service ended. Each noted the version that it met in
 * the lane of its table, so that the commits after that tell. Its sender has not been told, and is when it sends the
 * request again.
 */
export async function resolveWrites(catalog: Catalog, engine: Engine, telemetry: Telemetry): Promise<void> {
  for (const writes of byBranch(await catalog.journal.resume())) {
    try {
      const landed = await findLanded(catalog, engine, writes);
      const ids = new Set(landed.map(({ write }) => write.id));
      await catalog.journal.settle(
        landed,
        writes.map(({ id }) => id).filter((id) => !ids.has(id)),
      );
    } catch (error) {
      // They stay in the journal for the next start; until then the same requests are refused, and what others write
      // is not taken for theirs.
      telemetry.emit({ kind: 'background-failed', task: 'finding out what became of writes', cause: error });
    }
  }
}

function byBranch(writes: readonly UnresolvedWrite[]): readonly (readonly UnresolvedWrite[])[] {
  const groups = new Map<string, UnresolvedWrite[]>();
  for (const write of writes) {
    const key = turnPlace(write);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [write]);
    else group.push(write);
  }
  return [...groups.values()];
}

/** They come in the order of their turns; those that shared a turn share its outcome. */
async function findLanded(
  catalog: Catalog,
  engine: Engine,
  writes: readonly UnresolvedWrite[],
): Promise<readonly LandedWrite[]> {
  const [first] = writes;
  if (first === undefined) return [];
  const table = await catalog.tables.find(first.databaseId, first.path);
  if (table === undefined || table.id !== first.tableId) return [];
  const landed: LandedWrite[] = [];
  for (const write of writes) {
    if (isTakenBack(table, write)) continue;
    const after = write.versionBefore;
    const next = writes.find(({ versionBefore }) => versionBefore > after)?.versionBefore;
    const upTo = Math.min(next ?? Infinity, write.boundVersion ?? Infinity);
    const kinds = KINDS[write.operation] ?? [];
    const version = await engine.findLanded({ place: table.place, branch: write.branch }, { after, upTo, kinds });
    if (version !== undefined) landed.push({ write, version });
  }
  if (landed.length > 0) await engine.syncSince(table.place, Math.min(...landed.map(({ write }) => write.since)));
  return landed;
}

/** The rows of a new table were never published; a write of several commits that was cut short is undone. */
function isTakenBack(table: TableRecord, { versionBefore, branch }: UnresolvedWrite): boolean {
  const { heldVersion, heldBranch } = table;
  if (versionBefore === 0) return true;
  if (heldVersion === undefined || (heldBranch ?? MAIN_BRANCH) !== (branch ?? MAIN_BRANCH)) return false;
  return versionBefore >= heldVersion;
}
