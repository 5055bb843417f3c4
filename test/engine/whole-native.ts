import { loadNative } from '../../src/engine/native/native.ts';
import type {
  NativeBranches,
  NativeConnection,
  NativeConnectionOptions,
  NativeEngine,
  NativeTable,
} from '../../src/engine/native/native.ts';

/** The engine with those parts that the room does not use, and tests need to set a scene. */
export interface WholeNative extends Omit<NativeEngine, 'Connection' | 'Index'> {
  readonly Connection: { 'new'(uri: string, options: NativeConnectionOptions): Promise<WholeConnection> };
  readonly Index: {
    ivfFlat(distanceType: string, partitions: number): object;
    ivfPq(distanceType: string, partitions: number, subVectors: number): object;
    hnswSq(distanceType: string, partitions: number): object;
    fts(withPosition: boolean): object;
    btree(): object;
  };
}

export interface WholeConnection extends NativeConnection {
  createTable(...args: Parameters<NativeConnection['createTable']>): Promise<WholeTable>;
  openTable(...args: Parameters<NativeConnection['openTable']>): Promise<WholeTable>;
  createNamespace(path: readonly string[]): Promise<unknown>;
}

export interface WholeTable extends NativeTable {
  createIndex(
    index: object,
    column: string,
    replace?: boolean,
    waitTimeoutSeconds?: number | null,
    name?: string,
    train?: boolean,
  ): Promise<void>;
  branches(): Promise<WholeBranches>;
}

export interface WholeBranches extends NativeBranches {
  create(name: string, fromBranch?: string | null, fromVersion?: number | null): Promise<WholeTable>;
  checkout(name: string, version: number | null): Promise<WholeTable>;
}

export function loadWholeNative(): WholeNative {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The shape is that of the package's own native.d.ts.
  return loadNative() as unknown as WholeNative;
}
