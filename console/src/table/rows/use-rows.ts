import { useRef } from 'preact/hooks';
import { countRows, queryRows } from '../../../../src/client/rows.ts';
import type { JsonRow } from '../../../../src/client/rows.ts';
import type { QueryTableBody } from '../../../../src/wire/data.ts';
import { useClient } from '../../api.ts';
import { toOrder } from '../../parts/grid/grid-head.tsx';
import type { GridSort } from '../../parts/grid/grid-head.tsx';
import { useLoad } from '../../parts/use-load.ts';
import type { Load } from '../../parts/use-load.ts';
import type { DescribedTable } from '../described-table.ts';
import type { StoredRow } from './edit/pending-edits.ts';
import { valueText } from './edit/row-filter.ts';
import { findPage, keepPage } from './kept-pages.ts';
import type { PageOfRows } from './kept-pages.ts';

export const PAGE_ROWS = 100;

interface RowsWanted {
  readonly filter: string;
  readonly sort: GridSort | undefined;
  readonly offset: number;
  /** Whether it reads the described version, whose row ids stay valid. */
  readonly isPinned: boolean;
}

interface Rows {
  readonly page: Load<PageOfRows>;
  readonly count: number | undefined;
  /** The last page, kept while the next one loads and while the filter has an error. */
  readonly shown: PageOfRows | undefined;
  readonly isFilterFault: boolean;
}

export function useRows(table: DescribedTable, { filter, sort, offset, isPinned }: RowsWanted): Rows {
  const client = useClient();
  const { path, version } = table;
  const at = isPinned ? { ...table.at, version } : table.at;
  const place = [client, path.join('/'), at.branch, version];
  const key = JSON.stringify([path, at, version, filter, sort, offset]);
  const page = useLoad(
    async () => {
      const query = { ...at, ...toPageQuery({ filter, sort, offset }), with_row_id: true };
      const read = { offset, rows: (await queryRows(client, path, query)).map(toStoredRow) };
      keepPage(client, key, read);
      return read;
    },
    [...place, filter, sort?.column, sort?.isAscending, offset, isPinned],
    findPage(client, key),
  );
  const count = useLoad(
    async () => countRows(client, path, { ...at, ...(filter === '' ? {} : { predicate: filter }) }),
    [...place, filter],
  );
  const isFilterFault = filter !== '' && isRefused(page.error);
  const last = useRef<{ readonly page: PageOfRows; readonly count: number | undefined }>(undefined);
  // Not while a page loads: its count may already be refused.
  if (page.value !== undefined && (!page.isLoading || last.current === undefined))
    last.current = { page: page.value, count: count.value };
  const kept = isFilterFault ? last.current : undefined;
  return { page, count: kept?.count ?? count.value, shown: page.value ?? kept?.page, isFilterFault };
}

export function toPageQuery({ filter, sort, offset }: Omit<RowsWanted, 'isPinned'>): QueryTableBody {
  return {
    k: PAGE_ROWS,
    ...(offset === 0 ? {} : { offset }),
    ...(filter === '' ? {} : { filter }),
    ...(sort === undefined ? {} : { order_by: [toOrder(sort)] }),
  };
}

function toStoredRow({ _rowid: rowId = null, ...values }: JsonRow): StoredRow {
  return { rowId: valueText(rowId), values };
}

/** The server refuses an invalid filter; the error is shown at the filter. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 400;
}
