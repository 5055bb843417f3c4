import { ServiceError } from '../errors/service-error.ts';
import type { TableLocation } from '../model/table.ts';
import type { Storages } from '../storage/storages.ts';

const ENDING = '.lance';
const SEGMENTS_MAX = 16;
/** What the engine takes as the name of a directory; it panics at others. No hidden ones, and no `.` or `..`. */
const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}$/;

/**
 * The location that a caller's location means: a directory below the root, written from there on, or in full as replies give
 * it. Nothing that leads elsewhere gets through: no step upward, no link, no directory inside another table's.
 */
export async function locateTable(storages: Storages, root: string, location: string): Promise<TableLocation> {
  const base = root.replace(/\/+$/, '');
  const segments = readSegments(base, location);
  const directory = segments.at(-1) ?? '';
  await storages.of(base).requirePlainDirectory(segments);
  const folders = segments.slice(0, -1);
  return { kind: 'listed', root: [base, ...folders].join('/'), directory: directory.slice(0, -ENDING.length) };
}

function readSegments(base: string, location: string): readonly string[] {
  const trimmed = location.replace(/\/+$/, '');
  const relative = trimmed.startsWith(`${base}/`) ? trimmed.slice(base.length + 1) : trimmed;
  const segments = relative.split('/');
  const isPlain = segments.length <= SEGMENTS_MAX && segments.every((segment) => SEGMENT.test(segment));
  const tables = segments.filter((segment) => segment.endsWith(ENDING));
  if (isPlain && tables.length === 1 && segments.at(-1)?.endsWith(ENDING) === true) return segments;
  throw new ServiceError('InvalidInput', 'The location cannot be that of a table of this database.', {
    hint: 'Give the path of a Lance directory from the storage root of the database on, without links or steps upward.',
  });
}
