import { cellOf } from '../../../../../src/client/rows.ts';
import type { JsonRow } from '../../../../../src/client/rows.ts';
import { valueText } from './row-filter.ts';
import type { RowKey } from './row-filter.ts';

/** Refused by the console, with a hint like the server's. */
export class EditFault extends Error {
  override readonly name: string = 'EditFault';
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

export interface ConflictingRow {
  readonly rowId: string;
  readonly key: RowKey | undefined;
  readonly values: JsonRow;
  /** Absent if the row is gone. */
  readonly now: JsonRow | undefined;
  readonly column: string | undefined;
}

/** Rows differ from what was read. */
export class EditConflict extends EditFault {
  override readonly name = 'EditConflict';
  readonly rowIds: readonly string[];

  constructor(rows: readonly ConflictingRow[]) {
    const [first] = rows;
    const more = rows.length > 1 ? ` So did ${rows.length - 1} more.` : '';
    super(
      `${first === undefined ? 'A row changed' : describe(first)} since you read it.${more} Nothing was changed.`,
      'Leave these rows out to apply the rest, or discard the edits to see the rows as they are now.',
    );
    this.rowIds = rows.map(({ rowId }) => rowId);
  }
}

const VALUE_CHARACTERS_MAX = 40;

function describe({ key, values, now, column }: ConflictingRow): string {
  const names = key?.names ?? Object.keys(values).slice(0, 1);
  const row = `The row with ${names.map((name) => `${name} ${short(cellOf(values, name) ?? null)}`).join(', ')}`;
  if (now === undefined) return `${row} was deleted or moved`;
  if (column === undefined) return `${row} changed`;
  if (!Object.hasOwn(now, column)) return `${row} changed (the column ${column} is gone)`;
  return `${row} changed (${column} was ${short(cellOf(values, column) ?? null)}, is ${short(cellOf(now, column) ?? null)})`;
}

function short(value: JsonRow[string]): string {
  const text = valueText(value);
  return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}…` : text;
}
