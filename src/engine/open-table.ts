import { readFileSchema } from '../arrow/schema-file.ts';
import type { Schema } from '../model/schema.ts';
import { engineCall } from './engine-errors.ts';
import type { NativeTable } from './native.ts';

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
