import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../errors/service-error.ts';
import type { Place } from '../model/table.ts';
import { isRemote } from './connections.ts';

const ENDING = '.lance';
const SEGMENTS_MAX = 16;
/** What the engine takes as the name of a directory; it panics at others. No hidden ones, and no `.` or `..`. */
const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}$/;

/**
 * The place that a caller's location means: a directory below the root, written from there on, or in full as replies give
 * it. Nothing that leads elsewhere gets through: no step upward, no link, no directory inside another table's.
 */
export async function locateTable(root: string, location: string): Promise<Place> {
  const base = root.replace(/\/+$/, '');
  const segments = readSegments(base, location);
  const directory = segments.at(-1) ?? '';
  if (!isRemote(base)) await requirePlainDirectory(base, segments);
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

/** A link anywhere below the root would lead to data that are not the database's, now or when it is changed later. */
async function requirePlainDirectory(base: string, segments: readonly string[]): Promise<void> {
  const path = join(base, ...segments);
  try {
    const isPlain = (await realpath(path)) === join(await realpath(base), ...segments);
    if (isPlain && (await stat(path)).isDirectory()) return;
  } catch (cause) {
    throw noTableThere(cause);
  }
  throw noTableThere(new Error(`Not a plain directory: ${path}`));
}

export function noTableThere(cause: unknown): ServiceError {
  return new ServiceError('TableNotFound', 'There is no Lance table at the location.', { cause });
}
