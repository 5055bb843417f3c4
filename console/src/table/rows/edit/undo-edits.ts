import { upsertRows, queryRows } from '../../../../../src/client/rows.ts';
import type { JsonRow } from '../../../../../src/client/rows.ts';
import { describeTable } from '../../../../../src/client/tables.ts';
import { toText } from '../../../parts/grid/cell.tsx';
import { CONDITION_CHARACTERS_MAX, deleteWhere, restoreVersion, withNewestVersion } from './apply-edits.ts';
import type { AppliedEdits, EditTarget, ReverseEdits } from './apply-edits.ts';
import { toArrowStream } from './arrow-rows.ts';
import { EditFault } from './edit-faults.ts';
import { keysOf, pathsOf, whereKey } from './row-filter.ts';
import type { KeyValues } from './row-filter.ts';

/** Undoes exactly these edits; without a key, only if nothing else was committed. */
export async function undoEdits(target: EditTarget, { from, version, reverse }: AppliedEdits): Promise<number> {
  if (reverse !== undefined) return undoByKey(target, reverse, version);
  const latest = (await describeTable(target.client, target.path, target.on)).version;
  if (latest === version) return restoreVersion(target, from, version);
  throw new EditFault(
    `The table was written to since then: it is at version ${latest}, and the edits created version ${version}. Nothing was undone.`,
    `The rows have no unique key to find them again. Version ${from} can be restored in the versions tab, which also reverts later writes.`,
  );
}

async function undoByKey(target: EditTarget, reverse: ReverseEdits, applied: number): Promise<number> {
  const { key, edits, before } = reverse;
  const keys = (rows: readonly JsonRow[]): readonly KeyValues[] => keysOf(rows, key) ?? [];
  const added = keys(edits.added.map(({ values }) => values));
  const changed = keys([...edits.changed.values()].map(({ row }) => row.values));
  const deleted = keys([...edits.deleted.values()].map(({ values }) => values));
  return withNewestVersion(target, async (version) => {
    if (version !== applied) {
      await requireUntouched(target, whereKey(key, [...added, ...changed, ...deleted]), [applied, version]);
    }
    if (changed.length + deleted.length === 0) return deleteWhere(target, whereKey(key, added), version);
    const condition = added.length === 0 ? undefined : whereKey(key, added);
    const isLong = condition !== undefined && condition.length > CONDITION_CHARACTERS_MAX;
    const base = isLong ? await deleteWhere(target, condition, version) : version;
    const stream = toArrowStream(before.schema, [...before.rows.values()]);
    const { version: undone } = await upsertRows(target.client, target.path, stream, {
      on: pathsOf(key),
      branch: target.on.branch,
      headers: { 'if-match': `"${base}"` },
      deleteWhere: isLong ? undefined : condition,
    });
    return undone;
  });
}

/** Requires that the edited rows are the same in both versions. */
async function requireUntouched(
  { client, path, on }: EditTarget,
  filter: string,
  versions: readonly number[],
): Promise<void> {
  const texts = await Promise.all(
    versions.map(async (version) => {
      const rows = await queryRows(client, path, { ...on, version, filter });
      return rows
        .map((row) => toText(row))
        .toSorted()
        .join('\n');
    }),
  );
  if (texts[0] === texts[1]) return;
  throw new EditFault(
    'Some of these rows were changed again. Nothing was undone.',
    'Look at the differences in the versions tab, and edit the rows by hand.',
  );
}
