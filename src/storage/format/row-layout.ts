import { DATA_FILE, DELETION_FILE, FRAGMENT } from './fragments.ts';
import { readManifest } from './manifest.ts';
import type { Message } from './protobuf.ts';

/** Fields of `Manifest` and `Field` in Lance's table.proto. */
const MANIFEST = { fields: 1, fragments: 2, readerFlags: 9 } as const;
const FIELD = { name: 2, id: 3, parent: 4 } as const;
const STABLE_ROW_IDS_FLAG = 2n;

/** Where a version stores its rows. */
export interface RowLayout {
  /** Whether rows keep their ids when they are updated or moved. */
  readonly hasStableRowIds: boolean;
  /** In scan order. `undefined` if an old engine omitted a number of rows. */
  listFragments(columns: readonly string[]): readonly FragmentRows[] | undefined;
}

export interface FragmentRows {
  readonly id: number;
  /** Excludes deleted rows. */
  readonly rows: number;
  /** Equal texts mean that the columns have equal values, row by row, before deletions. */
  readonly files: string;
  /** Equal texts, with equal files, mean that the same rows are deleted. */
  readonly deletions: string;
}

export function readRowLayout(file: Buffer): RowLayout {
  const manifest = readManifest(file);
  return {
    hasStableRowIds: (manifest.bigint(MANIFEST.readerFlags) & STABLE_ROW_IDS_FLAG) !== 0n,
    listFragments(columns) {
      const fieldIds = listFieldIds(manifest.messages(MANIFEST.fields), new Set(columns));
      const fragments = manifest.messages(MANIFEST.fragments).map((fragment) => toFragmentRows(fragment, fieldIds));
      return fragments.some(({ rows }) => Number.isNaN(rows)) ? undefined : fragments;
    },
  };
}

/** The ids of the columns and everything below them. Parents come before their children. */
function listFieldIds(fields: readonly Message[], columns: ReadonlySet<string>): readonly number[] {
  const known = new Set(fields.map((field) => field.number(FIELD.id)));
  const found = new Set<number>();
  for (const field of fields) {
    const parent = field.number(FIELD.parent);
    // The parent of a top-level column is -1, which is not an id.
    const isTop = !known.has(parent);
    if (isTop ? columns.has(field.text(FIELD.name)) : found.has(parent)) found.add(field.number(FIELD.id));
  }
  return [...found];
}

function toFragmentRows(fragment: Message, fieldIds: readonly number[]): FragmentRows {
  const [deletion] = fragment.messages(FRAGMENT.deletionFile);
  const [physical, deleted] = [fragment.number(FRAGMENT.physicalRows), deletion?.number(DELETION_FILE.deletedRows)];
  return {
    id: fragment.number(FRAGMENT.id),
    // 0 means that the number was not written.
    rows: physical === 0 || deleted === 0 ? Number.NaN : physical - (deleted ?? 0),
    files: describeFiles(fragment, fieldIds),
    deletions: deletion === undefined ? '' : describeDeletion(deletion),
  };
}

/**
 * File names are unique; where the files are, and so whether a branch refers to those of its table, does not matter.
 */
function describeFiles(fragment: Message, fieldIds: readonly number[]): string {
  const pathOf = new Map<number, string>();
  for (const file of fragment.messages(FRAGMENT.dataFiles)) {
    for (const id of file.numbers(DATA_FILE.fields)) pathOf.set(id, file.text(DATA_FILE.path));
  }
  const overlays = fragment.all(FRAGMENT.overlays).map((bytes) => Buffer.from(bytes).toString('base64'));
  return JSON.stringify([fieldIds.map((id) => [id, pathOf.get(id) ?? null]), overlays]);
}

function describeDeletion(deletion: Message): string {
  const fields = [DELETION_FILE.type, DELETION_FILE.readVersion, DELETION_FILE.id, DELETION_FILE.deletedRows];
  return fields.map((field) => String(deletion.bigint(field))).join('-');
}
