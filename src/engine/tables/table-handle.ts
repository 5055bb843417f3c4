import { readFileSchema } from '../../arrow/schema/schema-reader.ts';
import type { Schema } from '../../model/schema.ts';
import type { TableState } from '../../model/table.ts';
import { SharedRuns } from '../../model/time/shared-runs.ts';
import type { Stamp, VersionWatch } from '../../storage/storage.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';

/** The target of a commit: a branch of a table. */
export type WriteTarget = Omit<TableState, 'version'>;

/** A state of a table: the latest version of the main branch, unless others are named. */
export type TableRef = Pick<TableState, 'location'> & Partial<TableState>;

/** A table as one piece of work sees it, valid until that work ends. Known facts about the table are cached. */
export interface OpenTable {
  readonly native: NativeTable;
  version(): Promise<number>;
  /** The version that a read would see now, if that is certain without asking the engine. */
  knownVersion(): number | undefined;
  schema(): Promise<Schema>;
  /** Call it after a write of rows through `native`, with the committed version. */
  moved(version: number): void;
  /** Call it after any other write, and after a failure: drops cached facts about the table. */
  forget(): void;
}

/** A private handle, which caches nothing. At a given version it never moves. */
export function toOpenTable(native: NativeTable, version: number | undefined): OpenTable {
  return {
    native,
    version: async () => readVersion(native),
    knownVersion: () => version,
    schema: async () => readSchema(native),
    moved: () => {},
    forget: () => {},
  };
}

export async function readVersion(native: NativeTable): Promise<number> {
  return engineCall(async () => native.version());
}

export async function readSchema(native: NativeTable): Promise<Schema> {
  return readFileSchema(await engineCall(async () => native.schema()));
}

/** The version that the handle has reached; it may have moved further since. */
interface ReachedVersion {
  readonly version: number;
  /** The stamp of the version folder at that time. */
  readonly stamp: string;
  /** The stamp alone proves that there is no later version. */
  readonly isProven: boolean;
}

/** A handle that is closed once it is retired and its last user has released it. */
export class CountedHandle {
  readonly native: NativeTable;
  #users = 0;
  #isRetired = false;

  constructor(native: NativeTable) {
    this.native = native;
  }

  /** False once it is retired and idle, and therefore closed. */
  acquire(): boolean {
    if (this.#isRetired && this.#users === 0) return false;
    this.#users += 1;
    return true;
  }

  release(): void {
    this.#users -= 1;
    this.#closeWhenIdle();
  }

  retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (this.#isRetired && this.#users === 0) this.native.close();
  }
}

/**
 * Retires a handle after those that are waiting for it to open have used it: while many tables are in use, they would
 * otherwise have to open it again.
 */
export function retireSoon(opening: Promise<CountedHandle>): void {
  opening.then(
    (handle) => setImmediate(() => handle.retire()),
    () => {},
  );
}

/** One handle on the latest state of a table, shared by all its readers and writers. It only moves forward. */
export class SharedTable extends CountedHandle implements OpenTable {
  readonly #watch: VersionWatch;
  /** False for old tables, which name their manifests differently: the watch then sees no versions. */
  readonly #seesVersions: boolean;
  #reached: ReachedVersion | undefined;
  /** A running refresh may have started before the write that a caller must see; the next one has not. */
  readonly #refreshes = new SharedRuns(async () => this.#moveToLatest());
  /** Read since the handle last moved. */
  #schema: Promise<Schema> | undefined;
  /** Kept across moves: comparing the bytes costs less than decoding them again. */
  #decoded: { readonly file: Buffer; readonly schema: Schema } | undefined;

  private constructor(native: NativeTable, watch: VersionWatch, seesVersions: boolean) {
    super(native);
    this.#watch = watch;
    this.#seesVersions = seesVersions;
  }

  static async open(native: NativeTable, watch: VersionWatch): Promise<SharedTable> {
    return new SharedTable(native, watch, watch.has(await readVersion(native)));
  }

  /**
   * Brings the handle to a state no older than the table's at the time of this call. False if that is impossible: a
   * handle never goes back, not even to a table that was dropped and re-created with fewer versions.
   */
  async refresh(): Promise<boolean> {
    return this.#isLatest() || this.#refreshes.run();
  }

  /** Resolves when every refresh requested before has ended. */
  async settled(): Promise<void> {
    await this.#refreshes.settled();
  }

  /** The handle moves only by `refresh` and by writes, and both record the version that they reached. */
  async version(): Promise<number> {
    return this.#reached?.version ?? readVersion(this.native);
  }

  /** While the folder has no later version, no write or refresh can have moved the handle past this one. */
  knownVersion(): number | undefined {
    return this.#isLatest() ? this.#reached?.version : undefined;
  }

  async schema(): Promise<Schema> {
    this.#schema ??= this.#readSchema();
    return this.#schema;
  }

  moved(version: number): void {
    // A version in between belongs to another writer, which may have changed the schema.
    if (version !== (this.#reached?.version ?? 0) + 1) this.#schema = undefined;
    this.#reached = toReached(this.#watch.read(), version, false);
  }

  forget(): void {
    this.#reached = undefined;
    this.#schema = undefined;
  }

  #isLatest(): boolean {
    const reached = this.#reached;
    const stamp = reached === undefined ? undefined : this.#watch.read();
    if (reached === undefined || stamp === undefined || reached.stamp !== stamp.text) return false;
    if (reached.isProven) return true;
    // A commit within the same tick of the stamp has the next number.
    if (!this.#watch.has(reached.version) || this.#watch.has(reached.version + 1)) return false;
    this.#reached = { ...reached, isProven: stamp.isSettled };
    return true;
  }

  async #moveToLatest(): Promise<boolean> {
    this.forget();
    const stamp = this.#watch.read();
    await engineCall(async () => this.native.checkoutLatest());
    this.#schema = undefined;
    if (stamp === undefined) return true;
    const version = await readVersion(this.native);
    if (this.#seesVersions && !this.#watch.has(version)) return false;
    this.#reached = toReached(stamp, version, stamp.isSettled);
    return true;
  }

  async #readSchema(): Promise<Schema> {
    const file = await engineCall(async () => this.native.schema());
    if (this.#decoded === undefined || !this.#decoded.file.equals(file)) {
      this.#decoded = { file, schema: readFileSchema(file) };
    }
    return this.#decoded.schema;
  }
}

function toReached(stamp: Stamp | undefined, version: number, isProven: boolean): ReachedVersion | undefined {
  return stamp === undefined ? undefined : { stamp: stamp.text, version, isProven };
}
