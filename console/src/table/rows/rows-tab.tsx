import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { VIEW_PROPERTY } from '../../../../src/model/derived/view.ts';
import { CopyAs } from '../../code/copy-as.tsx';
import { loadHash, readAt, readRowsPage, tableHash } from '../../links.ts';
import type { RowsPage } from '../../links.ts';
import { Button, LinkButton } from '../../parts/button.tsx';
import { ErrorBox } from '../../parts/error-box.tsx';
import { SqlBox } from '../../parts/forms/sql-box.tsx';
import { listFields } from '../../parts/grid/field-type.ts';
import { Pager } from '../../parts/grid/pager.tsx';
import { Empty, Skeleton } from '../../parts/states.tsx';
import { useDraft } from '../../parts/use-load.ts';
import { go } from '../../router.ts';
import { usePermissions } from '../../who.tsx';
import type { DescribedTable, TabProps } from '../described-table.ts';
import { EditBar } from './edit/edit-bar.tsx';
import { countEdits, toAddedGridRow, toGridRow } from './edit/pending-edits.ts';
import { useEditing } from './edit/use-editing.ts';
import type { Editing } from './edit/use-editing.ts';
import { ExportMenu } from './export-menu.tsx';
import { RowsGrid } from './rows-grid.tsx';
import { PAGE_ROWS, toPageQuery, useRows } from './use-rows.ts';

export function RowsTab({ table, query, onChanged }: TabProps): JSX.Element {
  const { filter = '', sort, page: number = 1 } = readRowsPage(query);
  const offset = (number - 1) * PAGE_ROWS;
  const [typed, setTyped] = useDraft(filter);
  const editing = useEditing(table, onChanged);
  const { page, count, shown, isFilterFault } = useRows(table, { filter, sort, offset, isPinned: editing.isOn });
  // The URL holds the state: links, reload and back show the same rows.
  const show = (place: RowsPage): void => go(tableHash(table.path, 'rows', readAt(query), { filter, sort, ...place }));
  const apply = (text: string): void => {
    setTyped(text);
    if (text.trim() === filter && number === 1) page.reload();
    else show({ filter: text.trim() });
  };
  const rows = useMemo(
    () => [
      ...editing.edits.added.map(toAddedGridRow),
      ...(shown?.rows ?? []).map((row) => toGridRow(row, editing.edits)),
    ],
    [shown, editing.edits],
  );
  const firstRow = shown?.offset ?? offset;
  const stored = shown?.rows.length ?? 0;
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
          Filter
        </Button>
        <CopyAs
          table={table.path}
          operation={() => ({ name: 'query', body: { ...table.at, ...toPageQuery({ filter, sort, offset }) } })}
        />
        <ExportMenu table={table} filter={filter} sort={sort} />
        <EditSwitch table={table} editing={editing} />
      </div>
      {editing.isOn ? <EditBar table={table} editing={editing} rows={rows} /> : null}
      {page.error !== undefined && !isFilterFault ? <ErrorBox error={page.error} onRetry={page.reload} /> : null}
      {shown === undefined && page.isLoading ? <Skeleton lines={10} /> : null}
      {shown !== undefined && rows.length === 0 ? (
        <NoRows table={table} filter={filter} isBehind={firstRow > 0} onFirst={() => show({})} />
      ) : null}
      {rows.length === 0 ? null : (
        <RowsGrid
          table={table}
          rows={rows}
          editing={editing}
          sort={sort}
          onSort={(next) => show({ sort: next })}
          firstRow={firstRow}
          rowCount={count}
          isDim={page.isLoading || isFilterFault}
        />
      )}
      {stored === 0 && firstRow === 0 ? null : (
        <Pager
          label="Pages of rows"
          offset={firstRow}
          pageSize={PAGE_ROWS}
          count={stored}
          total={count}
          onOffset={(next) => show({ page: next / PAGE_ROWS + 1 })}
        />
      )}
    </div>
  );
}

interface EditSwitchProps {
  readonly table: DescribedTable;
  readonly editing: Editing;
}

function EditSwitch({ table, editing }: EditSwitchProps): JSX.Element {
  const { isOn, isStarting, edits, setOn } = editing;
  const refusals = usePermissions(table.path);
  return (
    <Button
      icon="edit"
      isPressed={isOn}
      isDisabled={isOn && countEdits(edits) > 0}
      refusal={findReason(table) ?? refusals.write}
      // A disabled button would lose the focus.
      onClick={() => (isStarting ? undefined : setOn(!isOn))}
    >
      {isOn ? 'Stop editing' : 'Edit'}
    </Button>
  );
}

/** Why the rows cannot be edited. */
function findReason({ at, properties }: DescribedTable): string | undefined {
  if (at.version !== undefined) return 'Past versions are read-only. Go to the latest version to edit rows.';
  return properties[VIEW_PROPERTY] === undefined
    ? undefined
    : 'A materialized view gets its rows from its source. Edit the source, and refresh the view.';
}

interface NoRowsProps {
  readonly table: DescribedTable;
  readonly filter: string;
  /** Whether the URL asks for a page beyond the last one. */
  readonly isBehind: boolean;
  readonly onFirst: () => void;
}

function NoRows({ table, filter, isBehind, onFirst }: NoRowsProps): JSX.Element {
  const refusals = usePermissions(table.path);
  if (isBehind) {
    return (
      <Empty icon="table" title="This page does not exist">
        <p>The table may have had more rows when the link was made.</p>
        <Button onClick={onFirst}>Go to the first page</Button>
      </Empty>
    );
  }
  return filter === '' ? (
    <Empty icon="table" title="The table is empty">
      <p>It has columns but no rows.</p>
      <LinkButton icon="upload" href={loadHash(table.path.slice(0, -1), table.path.at(-1))} refusal={refusals.write}>
        Load data
      </LinkButton>
    </Empty>
  ) : (
    <Empty icon="filter" title="No rows match the filter">
      <p>Comparisons of text are case-sensitive. To ignore case, use ILIKE or lower().</p>
    </Empty>
  );
}
