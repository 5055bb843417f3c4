import { readFileSchema } from '../../arrow/schema/schema-reader.ts';
import type { Schema } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { Stamp, VersionWatch } from '../../storage/storage.ts';
import type { NativeTable } from '../native/native.ts';

/** When and what the table was found to be: the handle is at this version or a later one. */
interface Mark {
  readonly stamp: string;
  readonly version: number;
  /** The stamp alone shows that there is no later version. */
  readonly isProven: boolean;
}

interface KnownSchema {
  readonly file: Buffer;
  readonly schema: Schema;
}

/** One handle on the latest state of a table, used by many at once. It only ever moves forward. */
export class SharedTable implements OpenTable {
  readonly native: NativeTable;
  readonly #watch: VersionWatch;
  /** Old tables name their manifests otherwise; the watch then sees no version at all. */
  readonly #seesVersions: boolean;
  #users = 0;
  #retired = false;
  #mark: Mark | undefined;
  #running: Promise<boolean> | undefined;
  #waiting: Promise<boolean> | undefined;
  /** Read since the handle last moved. */
  #schema: Promise<Schema> | undefined;
  #known: KnownSchema | undefined;

  private constructor(native: NativeTable, watch: VersionWatch, seesVersions: boolean) {
    this.native = native;
    this.#watch = watch;
    this.#seesVersions = seesVersions;
  }

  static async open(native: NativeTable, watch: VersionWatch): Promise<SharedTable> {
    return new SharedTable(native, watch, watch.has(await engineCall(async () => native.version())));
  }

  /** False once it is retired and idle: its handle is closed. */
  acquire(): boolean {
    if (this.#retired && this.#users === 0) return false;
    this.#users += 1;
    return true;
  }

  release(): void {
    this.#users -= 1;
    this.#closeWhenIdle();
  }

  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#closeWhenIdle();
  }

  /**
   * Brings the handle to a state no older than the table's at the moment of this call. False when it cannot be: a handle
   * never goes back, not even to a table that was removed and made again with fewer versions.
   */
  async refresh(): Promise<boolean> {
    if (this.#isLatest()) return true;
    // One that is already running may have looked before the write that this caller must see; the next one will not.
    this.#waiting ??= this.#refreshNext();
    return this.#waiting;
  }

  /** Resolves when no move that was asked for before is under way any more. */
  async settled(): Promise<void> {
    await this.#waiting?.catch(() => {});
    await this.#running?.catch(() => {});
  }

  /** The handle moves only by `refresh` and by writes, which both leave a mark. */
  async version(): Promise<number> {
    return this.#mark?.version ?? engineCall(async () => this.native.version());
  }

  async schema(): Promise<Schema> {
    this.#schema ??= this.#readSchema();
    return this.#schema;
  }

  moved(version: number): void {
    // A version in between is another writer's, who may have changed the schema.
    if (version !== (this.#mark?.version ?? 0) + 1) this.#schema = undefined;
    this.#mark = toMark(this.#watch.read(), version, false);
  }

  forget(): void {
    this.#mark = undefined;
    this.#schema = undefined;
  }

  #isLatest(): boolean {
    const mark = this.#mark;
    const stamp = mark === undefined ? undefined : this.#watch.read();
    if (mark === undefined || stamp === undefined || mark.stamp !== stamp.text) return false;
    if (mark.isProven) return true;
    // Whatever was committed within the tick of the stamp has the next number.
    if (!this.#watch.has(mark.version) || this.#watch.has(mark.version + 1)) return false;
    this.#mark = { ...mark, isProven: stamp.isSettled };
    return true;
  }

  async #refreshNext(): Promise<boolean> {
    await this.#running?.catch(() => {});
    this.#waiting = undefined;
    this.#running = this.#moveToLatest();
    return this.#running;
  }

  async #moveToLatest(): Promise<boolean> {
    this.forget();
    const stamp = this.#watch.read();
    await engineCall(async () => this.native.checkoutLatest());
    this.#schema = undefined;
    if (stamp === undefined) return true;
    const version = await engineCall(async () => this.native.version());
    if (this.#seesVersions && !this.#watch.has(version)) return false;
    this.#mark = toMark(stamp, version, stamp.isSettled);
    return true;
  }

  async #readSchema(): Promise<Schema> {
    const file = await engineCall(async () => this.native.schema());
    if (this.#known === undefined || !this.#known.file.equals(file)) {
      this.#known = { file, schema: readFileSchema(file) };
    }
    return this.#known.schema;
  }

  #closeWhenIdle(): void {
    if (this.#retired && this.#users === 0) this.native.close();
  }
}

function toMark(stamp: Stamp | undefined, version: number, isProven: boolean): Mark | undefined {
  return stamp === undefined ? undefined : { stamp: stamp.text, version, isProven };
}

/** A table as one piece of work sees it: good until that work ends. What it knows of the table is not asked for again. */
export interface OpenTable {
  readonly native: NativeTable;
  version(): Promise<number>;
  schema(): Promise<Schema>;
  /** To be called after a write of rows through `native`, with the version that it made. */
  moved(version: number): void;
  /** To be called after any other write, and after a failure: what was known of the table no longer holds. */
  forget(): void;
}

export interface TableDescription {
  readonly version: number;
  readonly schema: Schema;
}

/** A handle that nobody else has, and that remembers nothing. */
export function toOpenTable(native: NativeTable): OpenTable {
  return {
    native,
    version: async () => engineCall(async () => native.version()),
    schema: async () => readSchema(native),
    moved: () => {},
    forget: () => {},
  };
}

/** The schema as the handle has it now. */
export async function readSchema(native: NativeTable): Promise<Schema> {
  return readFileSchema(await engineCall(async () => native.schema()));
}
