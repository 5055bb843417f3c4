import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { cellOf } from '../../../../src/client/rows.ts';
import { COMPUTED_KEY } from '../../../../src/model/schema.ts';
import { Cell } from '../../parts/grid/cell.tsx';
import { DataGrid } from '../../parts/grid/data-grid.tsx';
import type { GridColumn } from '../../parts/grid/data-grid.tsx';
import { isBinary, isNumber, isSortable, isText, isVector, typeText } from '../../parts/grid/field-type.ts';
import type { FieldShape } from '../../parts/grid/field-type.ts';
import type { GridSort } from '../../parts/grid/grid-head.tsx';
import { ValueDialog } from '../../parts/grid/value-dialog.tsx';
import { toast, toastError } from '../../parts/toasts.tsx';
import type { DescribedTable } from '../described-table.ts';
import { CellEditor, DialogEditor } from './edit/cell-editor.tsx';
import { needsDialog } from './edit/edit-value.ts';
import type { GridRow } from './edit/pending-edits.ts';
import type { Editing, OpenedCell } from './edit/use-editing.ts';

interface RowsGridProps {
  readonly table: DescribedTable;
  readonly rows: readonly GridRow[];
  readonly editing: Editing;
  readonly sort: GridSort | undefined;
  readonly onSort: (sort: GridSort | undefined) => void;
  readonly firstRow: number;
  readonly rowCount: number | undefined;
  readonly isDim: boolean;
}

const CHOICE = ' choice';

export function RowsGrid(props: RowsGridProps): JSX.Element {
  const { table, rows, editing } = props;
  const [seen, setSeen] = useState<OpenedCell>();
  const fieldOf = (name: string): FieldShape | undefined => table.schema.fields.find((field) => field.name === name);
  const open = (row: GridRow, { id }: GridColumn<GridRow>): void => {
    if (id === CHOICE) editing.choose(row.key);
    else if (editing.isOn) openEditor(editing, row, fieldOf(id));
    else setSeen({ row, column: id });
  };
  // Only while editing do cells depend on more than their row.
  const columns = useMemo(
    () => [
      ...(editing.isOn ? [choiceColumn(editing)] : []),
      ...table.schema.fields.map((field) => columnOf(field, editing)),
    ],
    [table.schema, editing.isOn ? editing : undefined],
  );
  const seenField = fieldOf(seen?.column ?? '');
  const editedField = fieldOf(editing.cell?.column ?? '');
  return (
    <>
      <DataGrid
        label={`Rows of ${table.path.at(-1) ?? ''}`}
        columns={columns}
        frozen={editing.isOn ? 2 : 1}
        rows={rows}
        keyOf={({ key }) => key}
        sort={props.sort}
        onSort={props.onSort}
        onOpen={open}
        onKey={
          editing.isOn
            ? (event, row, column) => onEditKey(event, { editing, row, open: () => open(row, column) })
            : undefined
        }
        rowClass={rowClass}
        cellClass={(row, { id }) => cellClass(row, id, editing)}
        firstRow={props.firstRow}
        rowCount={props.rowCount}
        isDim={props.isDim}
      />
      {seen === undefined ? null : (
        <ValueDialog
          title={seen.column}
          value={cellOf(seen.row.values, seen.column)}
          type={seenField?.type}
          onClose={() => setSeen(undefined)}
        />
      )}
      {editing.cell !== undefined && editedField !== undefined && isInDialog(editing.cell, editedField) ? (
        <DialogEditor {...editorProps(editing, editing.cell, editedField)} />
      ) : null}
    </>
  );
}

function openEditor(editing: Editing, row: GridRow, field: FieldShape | undefined): void {
  if (field === undefined || editing.isBusy) return;
  if (row.isDeleted) toast('The row is marked for deletion. Press Delete again to keep it.', 'bad');
  else if (field.metadata?.[COMPUTED_KEY] !== undefined) toast(`${field.name} is computed by the server.`, 'bad');
  else editing.openCell({ row, column: field.name });
}

interface KeyTarget {
  readonly editing: Editing;
  readonly row: GridRow;
  readonly open: () => void;
}

/** F2 edits, Space selects, Delete toggles the deletion mark of the row. */
function onEditKey(event: KeyboardEvent, { editing, row, open }: KeyTarget): void {
  if (event.key === 'F2') open();
  else if (event.key === ' ') editing.choose(row.key);
  else if (event.key !== 'Delete') return;
  else {
    try {
      if (row.isDeleted) editing.revert([row.key]);
      else editing.remove([row]);
    } catch (error) {
      toastError(error);
    }
  }
  event.preventDefault();
}

function isInDialog({ row, column }: OpenedCell, { type }: FieldShape): boolean {
  return needsDialog(type, cellOf(row.values, column));
}

function editorProps(editing: Editing, { row, column }: OpenedCell, field: FieldShape) {
  return {
    field,
    value: cellOf(row.values, column),
    onSave: (value: Parameters<Editing['set']>[2]) => editing.set(row, column, value),
    onClose: () => editing.openCell(undefined),
  };
}

function rowClass({ addedId, isDeleted }: GridRow): string | undefined {
  if (addedId !== undefined) return 'added';
  return isDeleted ? 'deleted' : undefined;
}

function cellClass({ key, stored, changes }: GridRow, id: string, { cell }: Editing): string | undefined {
  if (cell?.row.key === key && cell.column === id) return 'editing';
  return stored !== undefined && cellOf(changes, id) !== undefined ? 'edited' : undefined;
}

function choiceColumn(editing: Editing): GridColumn<GridRow> {
  return {
    id: CHOICE,
    label: 'Row',
    width: 56,
    render: (row) => (
      <input
        type="checkbox"
        aria-label={row.addedId === undefined ? 'Select this row' : 'Select this added row'}
        tabIndex={-1}
        checked={editing.chosen.has(row.key)}
        onChange={() => editing.choose(row.key)}
      />
    ),
  };
}

function columnOf(field: FieldShape, editing: Editing): GridColumn<GridRow> {
  const { name, type } = field;
  return {
    id: name,
    label: name,
    note: typeText(type),
    width: widthOf(field),
    align: isNumber(type) ? 'right' : 'left',
    isSortable: isSortable(type),
    render: (row) => {
      const { cell } = editing;
      const isOpen = cell !== undefined && cell.row.key === row.key && cell.column === name && !isInDialog(cell, field);
      return isOpen ? (
        <CellEditor {...editorProps(editing, cell, field)} />
      ) : (
        <Cell value={cellOf(row.values, name)} type={type} />
      );
    },
  };
}

function widthOf({ type, name }: FieldShape): number {
  if (isVector(type)) return Math.max(160, (name.length + typeText(type).length) * 7.5 + 36);
  if (isText(type)) return 220;
  if (isBinary(type)) return 120;
  if (isNumber(type) || type.type === 'bool') return Math.max(84, (name.length + typeText(type).length) * 7.5 + 36);
  return 170;
}
