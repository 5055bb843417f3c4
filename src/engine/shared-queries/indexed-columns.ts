import { parseFieldPath } from '../../model/field-path.ts';
import { toIndexDescription } from '../indexes/native-index.ts';
import type { NativeTable } from '../native/native.ts';

/** Indexes that find the rows with a given value without reading the column. */
const TYPES: ReadonlySet<string> = new Set(['BTREE', 'BITMAP']);
/** Rows that are not in an index are scanned. */
const UNINDEXED_ROWS_MAX = 10_000;
/**
 * The minimum age for reading them again, and for reading them the first time: next to a writer, few handles live that
 * long.
 */
const AGE_MILLISECONDS_MAX = 1000;

/** The columns of a handle whose index finds rows without a scan. May be some seconds out of date. */
export class IndexedColumns {
  readonly #table: NativeTable;
  #columns: ReadonlySet<string> = new Set();
  #readAt = performance.now();
  #isReading = false;

  constructor(table: NativeTable) {
    this.#table = table;
  }

  /** False until the indexes were read. */
  has(name: string): boolean {
    if (!this.#isReading && performance.now() - this.#readAt > AGE_MILLISECONDS_MAX) void this.#read();
    return this.#columns.has(name);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      this.#columns = await readColumns(this.#table);
    } catch {
      // Then lookups are not merged; a failure that affects them is reported there.
      this.#columns = new Set();
    }
    this.#readAt = performance.now();
    this.#isReading = false;
  }
}

async function readColumns(table: NativeTable): Promise<ReadonlySet<string>> {
  const indexes = (await table.listIndices()).map(toIndexDescription);
  const fast = indexes.filter(({ type, unindexedRows = Infinity }) => {
    return TYPES.has(type) && unindexedRows <= UNINDEXED_ROWS_MAX;
  });
  const paths = fast.flatMap(({ columns }) => columns.map(parseFieldPath));
  return new Set(paths.flatMap(([name, ...inner]) => (inner.length === 0 ? name : [])));
}
