import { ServiceError } from '../../errors/service-error.ts';
import type { TableLocation, TableState } from '../../model/table.ts';
import type { EngineParts } from '../parts.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { OpenTables } from './open-tables.ts';
import type { Storages } from '../../storage/storages.ts';

/** How tables come and go, apart from their rows. */
export interface LifecycleEngine {
  /** Whether there is a table at the location. */
  hasData(location: TableLocation): Promise<boolean>;
  /** Creates the storage root of a new database. */
  ensureRoot(root: string): Promise<void>;
  /** The location that a caller's location means; nothing outside of the root gets through. */
  locate(root: string, location: string): Promise<TableLocation>;
  /** Refuses a version that refers to files outside of the table's directory. */
  refuseForeignFiles(location: TableLocation, version: number): Promise<void>;
  /**
   * Makes a table of its own out of a state of another, at a fresh location, and gives its version. To be called in the queue
   * of the source, so that nothing cleans up what is being copied.
   */
  clone(source: TableState, target: TableLocation): Promise<number>;
  /** Lets go of a table that is not ours to serve any more. */
  close(location: TableLocation): void;
}

export function createLifecycleEngine({ tables, storages }: EngineParts): LifecycleEngine {
  return {
    async hasData(location) {
      try {
        await tables.use({ location, branch: undefined, version: undefined }, async () => {});
        return true;
      } catch (error) {
        if (error instanceof ServiceError && error.kind === 'TableNotFound') return false;
        throw error;
      }
    },

    async ensureRoot(root) {
      await storages.of(root).ensureRoot();
    },

    async locate(root, location) {
      return locateTable(storages, root, location);
    },

    async refuseForeignFiles(location, version) {
      await storages.of(location.root).refuseForeignFiles(location, version);
    },

    async clone(source, target) {
      return cloneTable(tables, source, target);
    },

    close(location) {
      tables.evict(location);
    },
  };
}

/** Makes a table of its own out of one version of another. */
export async function cloneTable(tables: OpenTables, source: TableState, target: TableLocation): Promise<number> {
  if (source.branch !== undefined) throw new ServiceError('Unsupported', 'A branch cannot be cloned.');
  const { storages } = tables;
  const storage = storages.of(source.location.root);
  const version = await tables.usePrivate(source, async ({ native }) => engineCall(async () => native.version()));
  // Its files are elsewhere, and so would be those of the clone.
  await storage.refuseForeignFiles(source.location, version);
  await storage.cloneVersion(source.location, target, version);
  try {
    const latest = { location: target, branch: undefined, version: undefined };
    return await tables.usePrivate(latest, async ({ native }) => engineCall(async () => native.version()));
  } catch (error) {
    await storages
      .of(target.root)
      .removeFolder(target)
      .catch(() => {});
    throw error;
  }
}

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
