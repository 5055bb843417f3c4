import type { CommitKind } from '../../model/table.ts';
import type { Message } from './protobuf.ts';

/** Fields of `DataFragment`, `DataFile` and `DeletionFile` in Lance's table.proto. */
export const FRAGMENT = { id: 1, dataFiles: 2, deletionFile: 3, physicalRows: 4, overlays: 11 } as const;
export const DATA_FILE = { path: 1, fields: 2, columns: 3, bytes: 6, base: 7 } as const;
export const DELETION_FILE = { type: 1, readVersion: 2, id: 3, deletedRows: 4, base: 7 } as const;

/** Includes deleted rows. `undefined` if an old engine omitted a number. */
export function countPhysicalRows(fragments: readonly Message[]): number | undefined {
  return sum(fragments.map((fragment) => fragment.number(FRAGMENT.physicalRows)));
}

export function listFragmentIds(fragments: readonly Message[]): readonly number[] {
  return fragments.map((fragment) => fragment.number(FRAGMENT.id));
}

/** Excludes deleted rows. */
export function countRows(fragments: readonly Message[]): number | undefined {
  const physical = countPhysicalRows(fragments);
  const deleted = sum(
    fragments.flatMap((fragment) =>
      fragment.messages(FRAGMENT.deletionFile).map((file) => file.number(DELETION_FILE.deletedRows)),
    ),
  );
  return physical === undefined || deleted === undefined ? undefined : physical - deleted;
}

/** The size of all data files. `undefined` if an old engine omitted a size. */
export function countDataBytes(fragments: readonly Message[]): number | undefined {
  const files = fragments.flatMap((fragment) => fragment.messages(FRAGMENT.dataFiles));
  return sum(files.map((file) => file.number(DATA_FILE.bytes)));
}

/** Fragments and files are never empty: 0 means that the number was not written. */
function sum(counts: readonly number[]): number | undefined {
  return counts.includes(0) ? undefined : counts.reduce((total, count) => total + count, 0);
}

/** A file that a commit added. */
export interface WrittenFile {
  /** Relative to the folder of the table or branch. */
  readonly path: string;
  /** `undefined` if not recorded. */
  readonly bytes: number | undefined;
  /** The last bytes of a complete file of its format. */
  readonly ending?: string;
}

/** The fields in which operations list the fragments whose data files, or deletion files, they wrote. */
export const WRITTEN_DATA: Partial<Record<CommitKind, number>> = { append: 1, overwrite: 1, merge: 1, update: 3 };
const WRITTEN_DELETIONS: Partial<Record<CommitKind, number>> = { delete: 1, update: 2 };
/** Fields of `Rewrite` and `CreateIndex` in Lance's transaction.proto. */
const REWRITE = { groups: 3, newFragments: 2, indexes: 4 } as const;
export const NEW_INDEXES_FIELD = 1;
/** Fields of `DataOverlayFile`, and of the manifest section with the indexes. */
export const OVERLAY_DATA_FILE = 1;
export const INDICES_FIELD = 1;

export function listWrittenFiles(operation: Message, kind: CommitKind): readonly WrittenFile[] {
  if (kind === 'index') return operation.messages(NEW_INDEXES_FIELD).flatMap((index) => listIndexFiles(index, INDEX));
  if (kind === 'rewrite') {
    const fragments = operation.messages(REWRITE.groups).flatMap((group) => group.messages(REWRITE.newFragments));
    const indexes = operation.messages(REWRITE.indexes);
    return [...listDataFiles(fragments), ...indexes.flatMap((index) => listIndexFiles(index, REWRITTEN_INDEX))];
  }
  const data = WRITTEN_DATA[kind];
  const deletions = WRITTEN_DELETIONS[kind];
  return [
    ...(data === undefined ? [] : listDataFiles(operation.messages(data))),
    ...(deletions === undefined ? [] : operation.messages(deletions).flatMap(toDeletionFile)),
  ];
}

/** The names of the indexes that an operation adds. */
export function listIndexNames(operation: Message): readonly string[] {
  return operation.messages(NEW_INDEXES_FIELD).map((index) => index.text(INDEX.name));
}

/** Old engines record no size. Files of another base are not below the table. */
function listDataFiles(fragments: readonly Message[]): readonly WrittenFile[] {
  return fragments
    .flatMap((fragment) => fragment.messages(FRAGMENT.dataFiles))
    .filter((file) => file.number(DATA_FILE.bytes) > 0 && !file.has(DATA_FILE.base))
    .map((file) => ({ path: `data/${file.text(DATA_FILE.path)}`, bytes: file.number(DATA_FILE.bytes) }));
}

/** An Arrow file ends with its magic bytes; a bitmap has none. */
export function toDeletionFile(fragment: Message): readonly WrittenFile[] {
  const [file] = fragment.messages(FRAGMENT.deletionFile);
  if (file === undefined) return [];
  const isArrow = file.number(DELETION_FILE.type) === 0;
  const [id, readVersion] = [fragment.number(FRAGMENT.id), file.number(DELETION_FILE.readVersion)];
  const path = `_deletions/${id}-${readVersion}-${file.bigint(DELETION_FILE.id)}.${isArrow ? 'arrow' : 'bin'}`;
  return [{ path, bytes: undefined, ...(isArrow ? { ending: 'ARROW1' } : {}) }];
}

/** Fields of `IndexMetadata`, `RewrittenIndex` and `IndexFile`. */
export const INDEX = { id: 1, fields: 2, name: 3, details: 6, base: 9, files: 10, covering: 11 } as const;
const REWRITTEN_INDEX = { id: 2, files: 5, base: undefined } as const;
export const INDEX_FILE = { path: 1, bytes: 2 } as const;
const UUID_BYTES_FIELD = 1;

interface IndexFields {
  readonly id: number;
  readonly files: number;
  readonly base: number | undefined;
}

/** The engine may have measured a file after it was truncated, so the end of the file is checked too. */
export function listIndexFiles(index: Message, fields: IndexFields): readonly WrittenFile[] {
  if (!index.has(fields.id) || (fields.base !== undefined && index.has(fields.base))) return [];
  const folder = indexFolder(index, fields);
  return index.messages(fields.files).map((file) => ({
    path: `${folder}/${file.text(INDEX_FILE.path)}`,
    bytes: file.number(INDEX_FILE.bytes),
    ending: 'LANC',
  }));
}

/** Relative to the folder of the table. */
export function indexFolder(index: Message, fields: Pick<IndexFields, 'id'>): string {
  const [id] = index.messages(fields.id);
  return `_indices/${toUuid(id?.bytes(UUID_BYTES_FIELD) ?? new Uint8Array())}`;
}

function toUuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
