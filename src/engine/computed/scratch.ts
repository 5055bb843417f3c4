import { engineCall } from '../native/engine-errors.ts';
import type { NativeConnection, NativeEngine, NativeTable } from '../native/native.ts';

const ROOT = 'memory://';
/** Small, because each table is used for one calculation only. */
const CACHE_BYTES = 4 * 1024 * 1024;

/** In-memory tables for single calculations: the engine evaluates SQL on rows that are not stored yet. */
export class Scratch {
  readonly #native: NativeEngine;
  #connection: Promise<NativeConnection> | undefined;
  #tables = 0;

  constructor(native: NativeEngine) {
    this.#native = native;
  }

  /** The schema is an Arrow file without batches. */
  async use<Value>(
    schema: Buffer,
    storageOptions: Readonly<Record<string, string>>,
    work: (table: NativeTable) => Promise<Value>,
  ): Promise<Value> {
    this.#connection ??= this.#connect();
    const connection = await this.#connection;
    this.#tables += 1;
    const name = `rows-${this.#tables}`;
    const table = await engineCall(async () => connection.createEmptyTable(name, schema, 'create', [], storageOptions));
    try {
      return await work(table);
    } finally {
      table.close();
      await connection.dropTable(name, []).catch(() => {});
    }
  }

  async close(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined);
    connection?.close();
  }

  async #connect(): Promise<NativeConnection> {
    const session = new this.#native.Session(BigInt(CACHE_BYTES), BigInt(CACHE_BYTES));
    return engineCall(async () =>
      this.#native.Connection.new(ROOT, {
        manifestEnabled: false,
        namespaceClientProperties: { manifest_enabled: 'false' },
        storageOptions: {},
        session,
      }),
    );
  }
}
