import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { cellOf } from '../../../src/client/rows.ts';
import type { JsonRow, JsonValue } from '../../../src/client/rows.ts';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';
import type { SchemaJson, TypeJson } from '../../../src/wire/schema/schema-json.ts';
import { Cell, toText } from '../parts/grid/cell.tsx';
import { DataGrid } from '../parts/grid/data-grid.tsx';
import type { GridColumn } from '../parts/grid/data-grid.tsx';
import { isBinary, isVector } from '../parts/grid/field-type.ts';
import { ValueDialog } from '../parts/grid/value-dialog.tsx';
import { Empty } from '../parts/states.tsx';

interface LabResultsProps {
  readonly rows: readonly JsonRow[];
  readonly schema: SchemaJson;
  readonly columns: readonly ColumnFact[];
  readonly label?: string;
}

interface ResultColumn extends GridColumn<JsonRow> {
  readonly type: TypeJson | undefined;
}

/** Columns that the search added come first. Values are shown as in the table's rows. */
export function LabResults({ rows, schema, columns: facts, label = 'Results' }: LabResultsProps): JSX.Element {
  const columns = useMemo(() => toColumns(rows, typesOf(schema, facts)), [rows, schema, facts]);
  const [open, setOpen] = useState<{ readonly row: JsonRow; readonly column: string }>();
  if (rows.length === 0) {
    return (
      <Empty icon="search" title="No rows found">
        <p>Try a wider filter or another search.</p>
      </Empty>
    );
  }
  return (
    <>
      <DataGrid
        label={label}
        columns={columns}
        rows={rows}
        keyOf={(_row, index) => String(index)}
        onOpen={(row, { id }) => setOpen({ row, column: id })}
      />
      {open === undefined ? null : (
        <ValueDialog
          title={open.column}
          value={cellOf(open.row, open.column)}
          type={columns.find(({ id }) => id === open.column)?.type}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

/** By the name of a result column: a whole field, or the path of a nested one. */
function typesOf(schema: SchemaJson, facts: readonly ColumnFact[]): ReadonlyMap<string, TypeJson> {
  return new Map([
    ...facts.map(({ path, type }) => [path, type] as const),
    ...schema.fields.map(({ name, type }) => [name, type] as const),
  ]);
}

function toColumns(rows: readonly JsonRow[], types: ReadonlyMap<string, TypeJson>): readonly ResultColumn[] {
  const names = Object.keys(rows[0] ?? {});
  const ordered = [...names.filter(isAdded), ...names.filter((name) => !isAdded(name))];
  return ordered.map((name) => {
    const values = rows.map((row) => shownValue(row, name));
    const type = types.get(name);
    const isNumber = values.some((value) => typeof value === 'number' || typeof value === 'bigint');
    return {
      id: name,
      label: name,
      type,
      width: widthOf(name, values, type),
      align: isNumber ? ('right' as const) : ('left' as const),
      render: (row) => <Cell value={shownValue(row, name)} type={type} />,
    };
  });
}

/** Distance, score, and the index of the query vector. */
function isAdded(name: string): boolean {
  return name.startsWith('_') || name === 'query_index';
}

function shownValue(row: JsonRow, name: string): JsonValue | undefined {
  const value = cellOf(row, name);
  return isAdded(name) ? rounded(value) : value;
}

const DIGITS_SHOWN = 6;

function rounded(value: JsonValue | undefined): JsonValue | undefined {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(DIGITS_SHOWN)) : value;
}

const MEASURED_CHARACTERS_MAX = 60;

function widthOf(name: string, values: readonly (JsonValue | undefined)[], type: TypeJson | undefined): number {
  if (type !== undefined && isVector(type)) return 190;
  if (type !== undefined && isBinary(type)) return 130;
  const lengths = values.map((value) => (typeof value === 'string' ? value : toText(value ?? null)).length);
  const longest = Math.min(MEASURED_CHARACTERS_MAX, Math.max(name.length, ...lengths));
  return Math.min(420, Math.max(80, longest * 8.2 + 30));
}
