import type { TablePath } from '../../model/identifier.ts';
import type { QueryTableBody, UpdateTableBody } from '../../wire/data.ts';

/** What is measured: a table, and what can be asked of it. What it cannot be asked is `undefined`. */
export interface Subject {
  readonly table: TablePath;
  /** Writes go there, where the table is somebody's. */
  readonly branch?: string;
  /** For people: what kind of table this is. */
  readonly described: string;
  readonly searches: ((turn: number) => QueryTableBody) | undefined;
  readonly filters: ((turn: number) => QueryTableBody) | undefined;
  readonly change: ((turn: number) => UpdateTableBody) | undefined;
  readonly rowsToInsert: (() => Uint8Array) | undefined;
  readonly rowsToCreate: () => Uint8Array;
  /** Names of tables that are made to be measured; no other table has them. */
  readonly tableToCreate: (turn: number) => TablePath;
}
