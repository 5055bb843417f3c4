import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { JsonRow } from '../../../../src/client/rows.ts';
import { countRows, queryRows } from '../../../../src/client/rows.ts';
import { useClient } from '../../api.ts';
import { loadHash, readAt, readRowsPage, tableHash } from '../../links.ts';
import type { RowsPage } from '../../links.ts';
import { Button, LinkButton } from '../../parts/button.tsx';
import { Cell } from '../../parts/grid/cell.tsx';
import { DataGrid } from '../../parts/grid/data-grid.tsx';
import type { GridColumn } from '../../parts/grid/data-grid.tsx';
import { ErrorBox } from '../../parts/error-box.tsx';
import { isBinary, isNumber, isSortable, isText, isVector, listFields, typeText } from '../../parts/grid/field-type.ts';
import type { FieldShape } from '../../parts/grid/field-type.ts';
import type { GridSort } from '../../parts/grid/grid-head.tsx';
import { Pager } from '../../parts/grid/pager.tsx';
import { SqlBox } from '../../parts/forms/sql-box.tsx';
import { Empty, Skeleton } from '../../parts/states.tsx';
import { useLoad } from '../../parts/use-load.ts';
import { ValueDialog } from '../../parts/grid/value-dialog.tsx';
import { go } from '../../router.ts';
import type { DescribedTable, TabProps } from '../described-table.ts';
import { ExportMenu } from './export-menu.tsx';
import { toOrder } from '../../parts/grid/grid-head.tsx';

const PAGE_ROWS = 100;

interface OpenCell {
  readonly row: JsonRow;
  readonly column: string;
}

export function RowsTab({ table, query }: TabProps): JSX.Element {
  const { filter = '', sort, page: number = 1 } = readRowsPage(query);
  const offset = (number - 1) * PAGE_ROWS;
  const [typed, setTyped] = useState(filter);
  useEffect(() => setTyped(filter), [filter]);
  const [open, setOpen] = useState<OpenCell>();
  const { page, count } = useRows(table, { filter, sort, offset });
  // The URL holds the state: links, reload and back show the same rows.
  const show = (place: RowsPage): void => go(tableHash(table.path, 'rows', readAt(query), { filter, sort, ...place }));
  const apply = (text: string): void => {
    setTyped(text);
    if (text.trim() === filter && number === 1) page.reload();
    else show({ filter: text.trim() });
  };
  // The previous page stays while the next one loads.
  const { rows, offset: shown } = page.value ?? { rows: [], offset };
  const type = table.schema.fields.find(({ name }) => name === open?.column)?.type;
  return (
    <div class="rows">
      <div class="bar">
        <SqlBox
          label="Filter"
          value={typed}
          onChange={setTyped}
          onSubmit={() => apply(typed)}
          placeholder="Filter with SQL, such as price > 5 AND name LIKE 'a%'"
          error={page.error}
          place="filter"
          fields={listFields(table.schema.fields).map(({ path }) => path)}
        />
        {filter === '' && typed === '' ? null : (
          <Button kind="quiet" icon="close" label="Clear the filter" onClick={() => apply('')} />
        )}
        <Button onClick={() => apply(typed)} isBusy={page.isLoading && page.value !== undefined}>
          Apply
        </Button>
        <ExportMenu table={table} filter={filter} sort={sort} />
      </div>
      {page.error !== undefined && !isAboutFilter(page.error, filter) ? (
        <ErrorBox error={page.error} onRetry={page.reload} />
      ) : null}
      {page.value === undefined && page.isLoading ? <Skeleton lines={10} /> : null}
      {page.value !== undefined && rows.length === 0 ? (
        <NoRows table={table} filter={filter} isBehind={shown > 0} onFirst={() => show({})} />
      ) : null}
      {rows.length === 0 ? null : (
        <DataGrid
          label={`Rows of ${table.path.at(-1) ?? ''}`}
          columns={columnsOf(table)}
          rows={rows}
          keyOf={(_row, index) => String(shown + index)}
          sort={sort}
          onSort={(next) => show({ sort: next })}
          onOpen={(row, { id }) => setOpen({ row, column: id })}
          firstRow={shown}
          rowCount={count.value}
          isDim={page.isLoading}
        />
      )}
      {rows.length === 0 && shown === 0 ? null : (
        <Pager
          label="Pages of rows"
          offset={shown}
          pageSize={PAGE_ROWS}
          count={rows.length}
          total={count.value}
          onOffset={(next) => show({ page: next / PAGE_ROWS + 1 })}
        />
      )}
      {open === undefined ? null : (
        <ValueDialog title={open.column} value={open.row[open.column]} type={type} onClose={() => setOpen(undefined)} />
      )}
    </div>
  );
}

interface RowsWanted {
  readonly filter: string;
  readonly sort: GridSort | undefined;
  readonly offset: number;
}

function useRows(table: DescribedTable, { filter, sort, offset }: RowsWanted) {
  const client = useClient();
  const { path, at, version } = table;
  const place = [client, path.join('/'), at.branch, version];
  const page = useLoad(
    async () => ({
      offset,
      rows: await queryRows(client, path, {
        ...at,
        k: PAGE_ROWS,
        offset,
        ...(filter === '' ? {} : { filter }),
        ...(sort === undefined ? {} : { order_by: [toOrder(sort)] }),
      }),
    }),
    [...place, filter, sort?.column, sort?.isAscending, offset],
  );
  const count = useLoad(
    async () => countRows(client, path, { ...at, ...(filter === '' ? {} : { predicate: filter }) }),
    [...place, filter],
  );
  return { page, count };
}

function columnsOf(table: DescribedTable): readonly GridColumn<JsonRow>[] {
  return table.schema.fields.map((field) => ({
    id: field.name,
    label: field.name,
    note: typeText(field.type),
    width: widthOf(field),
    align: isNumber(field.type) ? 'right' : 'left',
    isSortable: isSortable(field.type),
    render: (row) => <Cell value={row[field.name]} type={field.type} />,
  }));
}

function widthOf({ type, name }: FieldShape): number {
  if (isVector(type)) return Math.max(160, (name.length + typeText(type).length) * 7.5 + 36);
  if (isText(type)) return 220;
  if (isBinary(type)) return 120;
  if (isNumber(type) || type.type === 'bool') return Math.max(84, (name.length + typeText(type).length) * 7.5 + 36);
  return 170;
}

/** Such an error is shown at the filter. */
function isAboutFilter(error: unknown, filter: string): boolean {
  return filter !== '' && error instanceof Error && 'status' in error && error.status === 400;
}

interface NoRowsProps {
  readonly table: DescribedTable;
  readonly filter: string;
  /** The URL asks for a page beyond the last. */
  readonly isBehind: boolean;
  readonly onFirst: () => void;
}

function NoRows({ table, filter, isBehind, onFirst }: NoRowsProps): JSX.Element {
  if (isBehind) {
    return (
      <Empty icon="table" title="There are fewer pages">
        <p>Rows may have gone since the link was made.</p>
        <Button onClick={onFirst}>To the first page</Button>
      </Empty>
    );
  }
  return filter === '' ? (
    <Empty icon="table" title="The table is empty">
      <p>It has columns but no rows.</p>
      <LinkButton icon="upload" href={loadHash(table.path.slice(0, -1), table.path.at(-1))}>
        Load data
      </LinkButton>
    </Empty>
  ) : (
    <Empty icon="filter" title="No row passes the filter">
      <p>Names and texts are compared exactly, also in case; ILIKE and lower() are not.</p>
    </Empty>
  );
}
