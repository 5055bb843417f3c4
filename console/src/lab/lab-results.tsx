import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { JsonRow, JsonValue } from '../../../src/client/rows.ts';
import { DataGrid } from '../parts/grid/data-grid.tsx';
import type { GridColumn } from '../parts/grid/data-grid.tsx';
import { Sparkline } from '../parts/grid/cell.tsx';
import { Empty } from '../parts/states.tsx';

const TEXT_SHOWN_MAX = 200;

/** Columns that the search added come first. */
export function LabResults({ rows }: { readonly rows: readonly JsonRow[] }): JSX.Element {
  const columns = useMemo(() => toColumns(rows), [rows]);
  if (rows.length === 0) {
    return (
      <Empty icon="search" title="No rows">
        <p>The filter or the search found nothing. Try a wider one.</p>
      </Empty>
    );
  }
  return <DataGrid label="Results" columns={columns} rows={rows} keyOf={(_row, index) => String(index)} />;
}

function toColumns(rows: readonly JsonRow[]): readonly GridColumn<JsonRow>[] {
  const [first = {}] = rows;
  const names = Object.keys(first);
  const ordered = [...names.filter(isAdded), ...names.filter((name) => !isAdded(name))];
  return ordered.map((name) => {
    const values = rows.map((row) => row[name]);
    const isNumber = values.some((value) => typeof value === 'number' || typeof value === 'bigint');
    return {
      id: name,
      label: name,
      width: widthOf(name, values),
      align: isNumber ? ('right' as const) : ('left' as const),
      render: (row) => <ResultValue value={row[name]} />,
    };
  });
}

/** Distance, score, and the index of the query vector. */
function isAdded(name: string): boolean {
  return name.startsWith('_') || name === 'query_index';
}

function widthOf(name: string, values: readonly (JsonValue | undefined)[]): number {
  if (values.some(isVector)) return 190;
  const longest = Math.max(name.length, ...values.map((value) => toText(value).length));
  return Math.min(420, Math.max(80, longest * 7.4 + 24));
}

export function ResultValue({ value }: { readonly value: JsonValue | undefined }): JSX.Element {
  if (value === null || value === undefined) return <span class="muted">null</span>;
  if (isVector(value)) {
    return (
      <span class="vector-value">
        <Sparkline values={value} />
        <span class="muted">{value.length}</span>
      </span>
    );
  }
  return <>{toText(value)}</>;
}

function isVector(value: JsonValue | undefined): value is readonly number[] {
  return Array.isArray(value) && value.length > 3 && value.every((each) => typeof each === 'number');
}

function toText(value: JsonValue | undefined): string {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (typeof value === 'string') return value.slice(0, TEXT_SHOWN_MAX);
  if (typeof value !== 'object' || value === null) return String(value);
  return JSON.stringify(value, (_name, each: unknown) => (typeof each === 'bigint' ? String(each) : each)).slice(
    0,
    TEXT_SHOWN_MAX,
  );
}
