import { cellOf } from '../../../../../src/client/rows.ts';
import type { JsonRow, JsonValue } from '../../../../../src/client/rows.ts';
import { toText } from '../../../parts/grid/cell.tsx';

/** A stored row as it was read, with its row id at that version. */
export interface StoredRow {
  readonly rowId: string;
  readonly values: JsonRow;
}

interface ChangedRow {
  readonly row: StoredRow;
  /** The new values, by column. */
  readonly values: JsonRow;
}

export interface AddedRow {
  readonly id: number;
  readonly values: JsonRow;
}

/** What Apply would send. Stored rows are identified by their row id. */
export interface PendingEdits {
  readonly changed: ReadonlyMap<string, ChangedRow>;
  readonly deleted: ReadonlyMap<string, StoredRow>;
  readonly added: readonly AddedRow[];
}

export const NO_EDITS: PendingEdits = { changed: new Map(), deleted: new Map(), added: [] };

/** Bounds what one Apply checks and sends. */
export const EDITS_MAX = 1000;

/** A row of the grid: a stored one with its pending changes, or an added one. */
export interface GridRow {
  readonly key: string;
  readonly values: JsonRow;
  readonly stored: StoredRow | undefined;
  readonly addedId: number | undefined;
  readonly isDeleted: boolean;
  readonly changes: JsonRow;
}

export function toGridRow(row: StoredRow, edits: PendingEdits): GridRow {
  const changes = edits.changed.get(row.rowId)?.values ?? {};
  return {
    key: row.rowId,
    values: { ...row.values, ...changes },
    stored: row,
    addedId: undefined,
    isDeleted: edits.deleted.has(row.rowId),
    changes,
  };
}

export function toAddedGridRow({ id, values }: AddedRow): GridRow {
  return { key: `new ${id}`, values, stored: undefined, addedId: id, isDeleted: false, changes: values };
}

export function setCell(edits: PendingEdits, row: GridRow, column: string, value: JsonValue): PendingEdits {
  if (row.stored === undefined) {
    const added = edits.added.map((each) =>
      each.id === row.addedId ? { ...each, values: { ...each.values, [column]: value } } : each,
    );
    return { ...edits, added };
  }
  // The row as first read: after a commit, this shows whether others changed it.
  const { row: stored, values: known } = edits.changed.get(row.stored.rowId) ?? { row: row.stored, values: {} };
  const { [column]: _replaced, ...others }: JsonRow = known;
  const values = isSame(cellOf(stored.values, column), value) ? others : { ...others, [column]: value };
  const changed = new Map(edits.changed);
  if (Object.keys(values).length === 0) changed.delete(stored.rowId);
  else changed.set(stored.rowId, { row: stored, values });
  return { ...edits, changed };
}

/** Added rows that are deleted simply disappear. */
export function deleteRows(edits: PendingEdits, rows: readonly GridRow[]): PendingEdits {
  const gone = new Set(rows.map(({ addedId }) => addedId));
  const deleted = new Map(edits.deleted);
  const changed = new Map(edits.changed);
  for (const { stored } of rows) {
    if (stored === undefined) continue;
    deleted.set(stored.rowId, stored);
    changed.delete(stored.rowId);
  }
  return { changed, deleted, added: edits.added.filter(({ id }) => !gone.has(id)) };
}

/** Discards the pending changes of these rows. */
export function revertRows(edits: PendingEdits, rowIds: readonly string[]): PendingEdits {
  const changed = new Map(edits.changed);
  const deleted = new Map(edits.deleted);
  for (const rowId of rowIds) {
    changed.delete(rowId);
    deleted.delete(rowId);
  }
  return { ...edits, changed, deleted };
}

export function addRow(edits: PendingEdits, values: JsonRow = {}): PendingEdits {
  const id = Math.max(0, ...edits.added.map((each) => each.id)) + 1;
  return { ...edits, added: [{ id, values }, ...edits.added] };
}

export function countEdits({ changed, deleted, added }: PendingEdits): number {
  return changed.size + deleted.size + added.length;
}

export function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return one === other || toText(one ?? null) === toText(other ?? null);
}
