import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The part of the engine's native layer that comparisons call: the leanest way to use it in process. */
export interface RawTable {
  update(onlyIf: string | null, columns: [string, string][]): Promise<unknown>;
  add(file: Buffer, mode: string): Promise<unknown>;
  createIndex(index: unknown, column: string, replace: boolean): Promise<void>;
  query(): RawQuery;
  countRows(): Promise<number>;
  close(): void;
}

export interface RawQuery {
  onlyIf(filter: string): void;
  limit(count: number): void;
  nearestTo(vector: Float32Array): RawVectorQuery;
  column(name: string): void;
  analyzePlan(): Promise<string>;
  execute(maxBatchLength?: number): Promise<{ next(): Promise<Buffer | null> }>;
}

export interface RawVectorQuery extends RawQuery {
  minimumNprobes(count: number): void;
  /** 0: no maximum. */
  maximumNprobes(count: number): void;
  refineFactor(factor: number): void;
  ef(effort: number): void;
}

export interface RawConnection {
  createTable(name: string, file: Buffer, mode: string): Promise<RawTable>;
  openTable(name: string): Promise<RawTable>;
  dropTable(name: string): Promise<void>;
  tableNames(namespace: readonly string[], startAfter: string | null, limit: number): Promise<string[]>;
  close(): void;
}

export async function openRawEngine(folder: string): Promise<RawConnection> {
  process.env['LANCEDB_LOG'] = 'off';
  const require = createRequire(import.meta.url);
  const native = join(dirname(require.resolve('@lancedb/lancedb')), 'native.js');
  // Safe cast: the binding's own declarations have these types.
  const { Connection } = require(native) as {
    Connection: { new (uri: string, options: object): Promise<RawConnection> } & {
      new: (uri: string, options: object) => Promise<RawConnection>;
    };
  };
  return Connection.new(folder, { manifestEnabled: false });
}
