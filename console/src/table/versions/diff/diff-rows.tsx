import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { cellOf } from '../../../../../src/client/rows.ts';
import type { JsonRow, JsonValue, RowDifference } from '../../../../../src/client/rows.ts';
import { Cell } from '../../../parts/grid/cell.tsx';
import { DataGrid } from '../../../parts/grid/data-grid.tsx';
import type { GridColumn } from '../../../parts/grid/data-grid.tsx';
import { isNumber, isText, isVector, typeText } from '../../../parts/grid/field-type.ts';
import { ValueDialog } from '../../../parts/grid/value-dialog.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Badge } from '../../../parts/states.tsx';
import type { DescribedTable } from '../../described-table.ts';

interface DiffRowsProps {
  readonly table: DescribedTable;
  readonly rows: readonly RowDifference[];
}

interface Opened {
  readonly title: string;
  readonly value: JsonValue | undefined;
}

const CHANGE = ' change';
const KINDS = { added: 'good', removed: 'bad', changed: 'warn' } as const;

/** One line per row; a changed cell shows the value before and after. Enter shows it completely. */
export function DiffRows({ table, rows }: DiffRowsProps): JSX.Element {
  const [opened, setOpened] = useState<Opened>();
  const edited = new Set(rows.flatMap((row) => row.changed ?? []));
  const typeOf = (name: string) => table.schema.fields.find((field) => field.name === name)?.type;
  const open = (row: RowDifference, { id }: GridColumn<RowDifference>): void => {
    if (id === CHANGE) return;
    const isChanged = row.changed?.includes(id) === true;
    setOpened({
      title: id,
      value: isChanged
        ? { before: cellOf(row.before, id) ?? null, after: cellOf(row.after, id) ?? null }
        : cellOf(row.after ?? row.before, id),
    });
  };
  return (
    <>
      <DataGrid
        label="Rows that differ"
        columns={[
          changeColumn(),
          ...columnNames(rows, edited).map((name) => columnOf(name, typeOf(name), edited.has(name))),
        ]}
        rows={rows}
        keyOf={(_row, index) => String(index)}
        rowClass={({ change }) => `diff-${change}`}
        cellClass={({ changed }, { id }) => (changed?.includes(id) === true ? 'edited' : undefined)}
        onOpen={open}
      />
      {opened === undefined ? null : (
        <ValueDialog
          title={opened.title}
          value={opened.value}
          type={typeOf(opened.title)}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  );
}

/** The key, then the changed columns, then the others, those of the later version first. */
function columnNames(rows: readonly RowDifference[], edited: ReadonlySet<string>): readonly string[] {
  const names = new Set<string>();
  const add = (row: JsonRow | undefined): void => {
    for (const name of Object.keys(row ?? {})) names.add(name);
  };
  for (const { key } of rows) add(key);
  for (const name of edited) names.add(name);
  for (const { after } of rows) add(after);
  for (const { before } of rows) add(before);
  return [...names];
}

function changeColumn(): GridColumn<RowDifference> {
  return {
    id: CHANGE,
    label: 'Change',
    width: 100,
    render: ({ change }) => <Badge kind={KINDS[change]}>{change}</Badge>,
  };
}

type Type = Parameters<typeof typeText>[0] | undefined;

function columnOf(name: string, type: Type, hasChanges: boolean): GridColumn<RowDifference> {
  return {
    id: name,
    label: name,
    ...(type === undefined ? {} : { note: typeText(type) }),
    width: hasChanges || (type !== undefined && (isVector(type) || isText(type))) ? 280 : 180,
    align: type !== undefined && isNumber(type) ? 'right' : 'left',
    render: ({ key, before, after, changed }) =>
      changed?.includes(name) === true ? (
        <span class="before-after">
          <del>
            <Cell value={cellOf(before, name)} type={type} />
          </del>{' '}
          <Icon name="right" />{' '}
          <ins>
            <Cell value={cellOf(after, name)} type={type} />
          </ins>
        </span>
      ) : (
        <Cell value={cellOf(after ?? before, name) ?? cellOf(key, name)} type={type} />
      ),
  };
}
