import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The few calls of the native engine that these tests make, below its own JavaScript. */
export interface NativeTable {
  add(file: Buffer, mode: string): Promise<unknown>;
  countRows(): Promise<number>;
  schema(): Promise<Buffer>;
  query(): NativeQuery;
}

export interface NativeQuery {
  select(columns: readonly (readonly [string, string])[]): void;
  outputSchema(): Promise<Buffer>;
  execute(): Promise<{ next(): Promise<Buffer | null> }>;
}

interface NativeConnection {
  createTable(
    name: string,
    file: Buffer,
    mode: string,
    namespace: undefined,
    options: Readonly<Record<string, string>> | undefined,
  ): Promise<NativeTable>;
  close(): void;
}

interface NativeModule {
  readonly Connection: { new: (uri: string, options: object) => Promise<NativeConnection> };
}

/** A folder of tables of its own, gone when closed. */
export class NativeEngine {
  readonly #folder: string;
  readonly #connection: NativeConnection;
  #tables = 0;

  private constructor(folder: string, connection: NativeConnection) {
    this.#folder = folder;
    this.#connection = connection;
  }

  static async open(): Promise<NativeEngine> {
    process.env['LANCEDB_LOG'] = 'off';
    process.env['RUST_BACKTRACE'] = '0';
    const folder = await mkdtemp(join(tmpdir(), 'arrow-engine-'));
    const require = createRequire(import.meta.url);
    const path = join(dirname(require.resolve('@lancedb/lancedb')), 'native.js');
    // The binding has no types of its own under this path; the interface above is what it offers.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const native = require(path) as NativeModule;
    const connection = await native.Connection.new(`${folder}/`, {
      manifestEnabled: false,
      readConsistencyInterval: 0,
    });
    return new NativeEngine(folder, connection);
  }

  async create(file: Buffer, storageVersion?: string): Promise<NativeTable> {
    this.#tables += 1;
    const options = storageVersion === undefined ? undefined : { new_table_data_storage_version: storageVersion };
    return this.#connection.createTable(`t${this.#tables}`, file, 'create', undefined, options);
  }

  async close(): Promise<void> {
    this.#connection.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
