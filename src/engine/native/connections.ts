import { ServiceError } from '../../errors/service-error.ts';
import { escapePath } from '../../model/address.ts';
import { locationUri } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import type { Storages } from '../../storage/storages.ts';
import { engineCall } from './engine-errors.ts';
import { requireRootSupport } from './engine-release.ts';
import type { EngineRelease } from './engine-release.ts';
import type { NativeConnection, NativeEngine, NativeSession, NativeTable } from './native.ts';

interface ConnectionSettings {
  readonly native: NativeEngine;
  readonly release: EngineRelease;
  readonly session: NativeSession;
  readonly storages: Storages;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly onQuarantine: (found: TornManifest) => void;
}

/**
 * The newest version of a table, if it could not be read: its manifest was moved aside, and the previous version is
 * served.
 */
export interface TornManifest {
  readonly directory: string;
  /** The main branch if absent. */
  readonly branch: string | undefined;
  readonly version: number;
}

/** What a table is opened for: `tags` to create or move one. */
export type TableUse = 'rows' | 'tags';

interface WriteTableOptions {
  readonly mode: 'create' | 'overwrite';
  readonly storageOptions: Readonly<Record<string, string>>;
}

/**
 * One connection for each storage root and mode. Listed tables are opened without the engine's own catalog, which costs
 * ten milliseconds per create and treats `$` in a name as a separator. Only tables in that catalog need it.
 */
export class Connections {
  readonly #settings: ConnectionSettings;
  readonly #open = new Map<string, Promise<NativeConnection>>();
  #isClosed = false;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  get storages(): Storages {
    return this.#settings.storages;
  }

  async find(root: string, mode: TableLocation['kind'], uri = root): Promise<NativeConnection> {
    if (this.#isClosed) {
      throw new ServiceError('ServiceUnavailable', 'The server is shutting down.', { retryAfterSeconds: 1 });
    }
    const key = `${mode}\u0000${uri}`;
    const open = this.#open.get(key);
    if (open !== undefined) return open;
    const opening = this.#connect(root, mode, uri);
    this.#open.set(key, opening);
    try {
      return await opening;
    } catch (error) {
      this.#open.delete(key);
      throw error;
    }
  }

  async openTable(location: TableLocation, use: TableUse = 'rows'): Promise<NativeTable> {
    const { connection, name, namespace } = await this.#locate(location, use);
    return this.openPastTornManifests(location, undefined, async () =>
      this.refuseZeros(
        await engineCall(async () => connection.openTable(name, namespace, this.#settings.storageOptions)),
      ),
    );
  }

  /** Opens a table or a branch; if the newest manifest turns out to be torn, retries without it. */
  async openPastTornManifests<Value>(
    location: TableLocation,
    branch: string | undefined,
    open: () => Promise<Value>,
  ): Promise<Value> {
    for (;;) {
      try {
        return await open();
      } catch (error) {
        const version = this.storages.of(location.root).quarantineTornManifest(location, branch);
        if (version === undefined) throw error;
        this.#settings.onQuarantine({ directory: location.directory, branch, version });
      }
    }
  }

  /**
   * Seen in @lancedb/lancedb 0.39.0, not in 0.31.0: a manifest of zeros, which a power loss can leave, opens as version
   * 0 of a table without rows. No table has that version. Can be removed when the engine refuses such a manifest; the
   * tests of manifest-file show it.
   */
  async refuseZeros(native: NativeTable): Promise<NativeTable> {
    if (this.#settings.release.isFallback || (await engineCall(async () => native.version())) > 0) return native;
    native.close();
    throw new ServiceError('Internal', 'The data of the table cannot be read.');
  }

  async writeTable(location: TableLocation, file: Buffer, options: WriteTableOptions): Promise<NativeTable> {
    const { connection, name, namespace } = await this.#locate(location);
    const storageOptions = { ...this.#settings.storageOptions, ...options.storageOptions };
    return engineCall(async () => connection.createTable(name, file, options.mode, namespace, storageOptions));
  }

  /** For creating a branch; see `stageRefs`. */
  async withStagedRefs<Value>(location: TableLocation, work: () => Promise<Value>): Promise<Value> {
    const { storages, release } = this.#settings;
    const remove = release.isFallback ? undefined : await storages.of(location.root).stageRefs?.(location);
    try {
      return await work();
    } finally {
      await remove?.();
    }
  }

  /** Also removes the files of an unfinished create. Missing data is not an error. */
  async dropTable(location: TableLocation): Promise<void> {
    const { connection, name, namespace } = await this.#locate(location);
    try {
      await engineCall(async () => connection.dropTable(name, namespace));
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'TableNotFound') return;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connections = await Promise.allSettled(this.#open.values());
    this.#open.clear();
    for (const outcome of connections) {
      try {
        if (outcome.status === 'fulfilled') outcome.value.close();
      } catch {
        // A call that outlived its caller still uses it, because a store does not respond. It ends with the process.
      }
    }
  }

  /** The connection of a table, and its name in the engine, inside a namespace of the engine's catalog. */
  async #locate(location: TableLocation, use: TableUse = 'rows') {
    const isForTags = use === 'tags' && !this.#settings.release.isFallback;
    const connection = await this.find(location.root, location.kind, isForTags ? tagsRoot(location) : location.root);
    if (location.kind === 'listed') return { connection, name: location.directory, namespace: [] };
    const { enginePath } = location;
    return { connection, name: enginePath.at(-1) ?? '', namespace: enginePath.slice(0, -1) };
  }

  async #connect(root: string, mode: TableLocation['kind'], uri: string): Promise<NativeConnection> {
    const { native, release, session, storageOptions } = this.#settings;
    requireRootSupport(root, release);
    await this.storages.of(root).requireRoot();
    const manifestEnabled = mode === 'namespaced';
    // The engine creates its catalog in every root that it connects to, unless both settings disable that.
    const namespaceClientProperties = { manifest_enabled: String(manifestEnabled) };
    return engineCall(async () =>
      native.Connection.new(uri, { manifestEnabled, namespaceClientProperties, storageOptions, session }),
    );
  }
}

/**
 * Seen in @lancedb/lancedb 0.39.0, not in 0.31.0: the engine first writes the file of a tag or branch next to the root,
 * to a folder such as `Caf%C3%A9` for `Café`, where it may lack permission. A URI of this scheme avoids that, but may
 * return an older version as the latest, and a cleanup does not see what branches use; so it is used only for tags,
 * which name their version. Can be removed when the engine uses the folder itself; the tests of storage-roots show it.
 * Not tried with Windows paths.
 */
function tagsRoot(location: TableLocation): string {
  const { root } = location;
  const path = locationUri(location);
  return !path.startsWith('/') || escapePath(path) === path ? root : `file-object-store://${escapePath(root)}`;
}
