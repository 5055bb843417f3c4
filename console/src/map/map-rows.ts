import type { JsonRow } from '../../../src/client/rows.ts';
import { queryRows } from '../../../src/client/rows.ts';
import { findDimension } from '../../../src/plans/table-facts.ts';
import { toSingle } from '../../../src/vectors/packed-numbers.ts';
import type { QueryTableBody } from '../../../src/wire/data.ts';
import { toText } from '../parts/grid/cell.tsx';
import type { LabForm } from '../lab/form/lab-form.ts';
import { splitPaths } from '../lab/form/field-paths.ts';
import { toNumber } from '../lab/form/query-body.ts';
import type { Lab } from '../lab/run-lab.ts';
import type { Sample } from './load-sample.ts';

const COLUMNS_SHOWN_MAX = 6;
const ROWS_KEPT_MAX = 500;

/** Columns that identify a row, without the vectors. */
export function shownColumns({ facts }: Lab): readonly string[] {
  const plain = facts.columns.filter(({ type }) => findDimension(type) === undefined);
  return plain.slice(0, COLUMNS_SHOWN_MAX).map(({ path }) => path);
}

/** Reads sampled rows by their ids, and caches the latest ones. */
export class MapRows {
  readonly #lab: Lab;
  readonly #state: QueryTableBody;
  readonly #kept = new Map<string, JsonRow>();

  constructor(lab: Lab, form: LabForm, { version }: Sample) {
    this.#lab = lab;
    this.#state = { version, ...(form.branch === '' ? {} : { branch: form.branch }) };
  }

  find(rowId: string): JsonRow | undefined {
    return this.#kept.get(rowId);
  }

  async read(rowIds: readonly string[]): Promise<void> {
    const missing = rowIds.filter((id) => !this.#kept.has(id));
    if (missing.length === 0) return;
    const rows = await queryRows(this.#lab.client, this.#lab.table, {
      ...this.#state,
      filter: `_rowid IN (${missing.join(', ')})`,
      columns: { column_names: [...shownColumns(this.#lab)] },
      with_row_id: true,
    });
    for (const { _rowid: id, ...row } of rows) this.#kept.set(toText(id ?? null), row);
    for (const id of [...this.#kept.keys()].slice(0, Math.max(0, this.#kept.size - ROWS_KEPT_MAX)))
      this.#kept.delete(id);
  }
}

/** The nearest rows to a point's vector, including itself. */
export function toNeighbourQuery(form: LabForm, { column, matrix, version }: Sample, index: number): QueryTableBody {
  const columns = splitPaths(form.columns);
  const filter = form.filter.trim();
  return {
    k: toNumber('k', form.k, 'k'),
    vector: { single_vector: Array.from(vectorOf(matrix, index), toSingle) },
    vector_column: column.path,
    version,
    with_row_id: true,
    ...(columns.length === 0 ? {} : { columns: { column_names: columns } }),
    ...(filter === '' ? {} : { filter }),
    ...(form.branch === '' ? {} : { branch: form.branch }),
    ...(form.distance === '' ? {} : { distance_type: form.distance }),
    ...(form.exact === '' ? {} : { bypass_vector_index: true }),
  };
}

function vectorOf({ values, columns }: Sample['matrix'], index: number): Float32Array {
  return values.subarray(index * columns, (index + 1) * columns);
}
