import { invalidInput } from '../../errors/service-error.ts';
import type { TableLocation, TableState } from '../../model/table.ts';
import type { Storages } from '../../storage/storages.ts';
import { requireRootSupport } from '../native/engine-release.ts';
import type { EngineParts } from '../parts.ts';
import { requireKept } from '../versions/removals.ts';
import type { OpenTables } from './open-tables.ts';

/** Creates, clones, locates and closes tables. */
export function createLifecycleEngine({ tables, storages, release }: EngineParts) {
  return {
    hasData: async (location: TableLocation) => (await tables.findLatestVersion({ location })) !== undefined,
    /**
     * Creates the storage root of a new database, or a folder for tables below one. The server's own root must exist.
     */
    async ensureRoot(root: string, below: string) {
      requireRootSupport(root, release);
      await storages.of(below).requireRoot();
      await storages.of(root).ensureRoot();
    },
    locate: async (root: string, location: string) => locateTable(storages, root, location),
    /** Like `locate`, for a new table: refuses an existing path. */
    locateNew: async (root: string, location: string) => locateNewTable(storages, root, location),
    /** Refuses a version that refers to files outside the table's directory. */
    refuseForeignFiles: async (location: TableLocation, version: number) =>
      storages.of(location.root).refuseForeignFiles(location, version),
    /**
     * Copies a state of a table to a new location, and returns the version of the clone. Call it in the write queue of
     * the source: a cleanup that begins meanwhile would remove the files. Refuses a version that may be about to be
     * removed.
     */
    clone: async (source: TableState, target: TableLocation) => cloneTable(tables, source, target),
    /** Closes a table that this process no longer serves. */
    close: (location: TableLocation) => tables.evict(location),
  };
}

async function cloneTable(tables: OpenTables, source: TableState, target: TableLocation): Promise<number> {
  const asked = source.version ?? source.recorded?.version;
  if (asked !== undefined) await requireKept(tables, source, asked);
  const version = await tables.usePrivate({ ...source, version: asked }, async (table) => table.version());
  await tables.storages.clone({ ...source, version }, target);
  try {
    return await tables.usePrivate({ location: target }, async (table) => table.version());
  } catch (error) {
    const removal = tables.storages.of(target.root).removeFolder(target);
    await removal.catch(() => {});
    throw error;
  }
}

const ENDING = '.lance';
const SEGMENTS_MAX = 16;
/** Directory names that the engine accepts; it panics at others. Excludes hidden ones, `.` and `..`. */
const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}$/;

/**
 * The table at a path given by a caller: relative to the root, or complete as in replies. Refuses anything that leads
 * elsewhere: `..`, links, and directories inside another table's.
 */
export async function locateTable(storages: Storages, root: string, location: string): Promise<TableLocation> {
  const base = root.replace(/\/+$/, '');
  const segments = readSegments(base, location);
  await storages.of(base).requirePlainDirectory(segments);
  return toLocation(base, segments);
}

async function locateNewTable(storages: Storages, root: string, location: string): Promise<TableLocation> {
  const base = root.replace(/\/+$/, '');
  const segments = readSegments(base, location);
  const storage = storages.of(base);
  await storage.requireRoot();
  await storage.requireUnused(segments);
  return toLocation(base, segments);
}

function toLocation(base: string, segments: readonly string[]): TableLocation {
  const directory = segments.at(-1) ?? '';
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
  throw invalidInput(
    'The location is not valid for a table of this database.',
    'Give the path of a Lance directory relative to the storage root of the database, without links or "..".',
  );
}
