import type { Message } from './protobuf.ts';

/** Fields of `DataFragment` and `DeletionFile` in Lance's table.proto. */
const DELETION_FILE_FIELD = 3;
const PHYSICAL_ROWS_FIELD = 4;
const DELETED_ROWS_FIELD = 4;

/** Deleted ones included. `undefined` when an old engine left a number out. */
export function countPhysicalRows(fragments: readonly Message[]): number | undefined {
  return sum(fragments.map((fragment) => fragment.number(PHYSICAL_ROWS_FIELD)));
}

/** Without deleted ones. */
export function countRows(fragments: readonly Message[]): number | undefined {
  const physical = countPhysicalRows(fragments);
  const deleted = sum(
    fragments.flatMap((fragment) =>
      fragment.messages(DELETION_FILE_FIELD).map((file) => file.number(DELETED_ROWS_FIELD)),
    ),
  );
  return physical === undefined || deleted === undefined ? undefined : physical - deleted;
}

/** Neither a fragment nor a deletion file is empty: 0 stands for a number that was not written. */
function sum(counts: readonly number[]): number | undefined {
  return counts.includes(0) ? undefined : counts.reduce((total, count) => total + count, 0);
}
