import type { CommitKind } from '../../model/commit.ts';
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

/** The files of a fragment that a commit has written. */
export interface FragmentFiles {
  readonly dataFiles: readonly { readonly path: string; readonly bytes: number }[];
  /** Its name below `_deletions`. */
  readonly deletionFile: string | undefined;
}

/** Where operations list the fragments whose data files, and those whose deletion files, they have written. */
const WRITTEN_DATA: Partial<Record<CommitKind, number>> = { append: 1, overwrite: 1, merge: 1, update: 3 };
const WRITTEN_DELETIONS: Partial<Record<CommitKind, number>> = { delete: 1, update: 2 };

export function listWrittenFiles(operation: Message, kind: CommitKind): readonly FragmentFiles[] {
  const data = WRITTEN_DATA[kind];
  const deletions = WRITTEN_DELETIONS[kind];
  return [
    ...(data === undefined ? [] : operation.messages(data)).map((fragment) => ({
      dataFiles: fragment.messages(DATA_FILES_FIELD).flatMap(toDataFile),
      deletionFile: undefined,
    })),
    ...(deletions === undefined ? [] : operation.messages(deletions)).map((fragment) => ({
      dataFiles: [],
      deletionFile: toDeletionFile(fragment),
    })),
  ];
}

/** Fields of `DataFragment`, `DataFile` and `DeletionFile`. */
const FRAGMENT_ID_FIELD = 1;
const DATA_FILES_FIELD = 2;
const DATA_FILE = { path: 1, bytes: 6, base: 7 } as const;
const DELETION_FILE = { type: 1, readVersion: 2, id: 3 } as const;

/** Old engines record no size, and files of another base are not below the table. */
function toDataFile(file: Message): FragmentFiles['dataFiles'] {
  const bytes = file.number(DATA_FILE.bytes);
  return bytes === 0 || file.has(DATA_FILE.base) ? [] : [{ path: file.text(DATA_FILE.path), bytes }];
}

function toDeletionFile(fragment: Message): string | undefined {
  const [file] = fragment.messages(DELETION_FILE_FIELD);
  if (file === undefined) return undefined;
  const ending = file.number(DELETION_FILE.type) === 0 ? 'arrow' : 'bin';
  const name = [
    fragment.number(FRAGMENT_ID_FIELD),
    file.number(DELETION_FILE.readVersion),
    file.bigint(DELETION_FILE.id),
  ];
  return `${name.join('-')}.${ending}`;
}
