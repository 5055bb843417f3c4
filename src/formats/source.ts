import type { DataType, RecordBatch } from 'apache-arrow';
import type { Convert } from './convert-value.ts';

/** A column as the file has it, or as its first rows suggest. */
export interface SourceColumn {
  readonly name: string;
  readonly type: DataType;
  readonly nullable: boolean;
  readonly metadata: ReadonlyMap<string, string>;
}

/** What is wanted of a column: where it comes from, its name and its type. */
export interface PlannedColumn {
  readonly source: SourceColumn;
  readonly name: string;
  readonly type: DataType;
  /** Where the type is not the source's. */
  readonly convert: Convert | undefined;
}

export interface SourceBatch {
  readonly batch: RecordBatch;
  readonly rows: number;
  /** How many bytes of the input were needed so far; the size of the input at its end. */
  readonly endByte: number;
}

export interface BatchBounds {
  readonly rows: number;
}

/** One opened file, whatever its format. */
export interface Source {
  readonly columns: readonly SourceColumn[];
  /** Whether columns that the first rows lack may come later. */
  readonly isOpen: boolean;
  /** Where the file says it. */
  readonly rowCount: number | undefined;
  readonly metadata: ReadonlyMap<string, string>;
  batches(columns: readonly PlannedColumn[], bounds: BatchBounds): AsyncGenerator<SourceBatch>;
}

/** Turns batches into the bytes of a file, piece by piece. */
export interface RowWriter {
  begin(): Uint8Array;
  add(batch: RecordBatch): Uint8Array;
  end(): Uint8Array;
}
