import type { JSX } from 'preact';
import { cellOf } from '../../../../../src/client/rows.ts';
import type { JsonRow } from '../../../../../src/client/rows.ts';
import { Button } from '../../../parts/button.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { formatCount } from '../../../parts/format.ts';
import { Cell } from '../../../parts/grid/cell.tsx';
import { Heads } from '../../../parts/grid/pager.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Badge } from '../../../parts/states.tsx';
import type { DescribedTable } from '../../described-table.ts';
import { describeEdits } from './describe-edits.ts';
import { countEdits } from './pending-edits.ts';
import type { PendingEdits } from './pending-edits.ts';
import { findKey } from './row-filter.ts';

interface EditPreviewProps {
  readonly table: DescribedTable;
  readonly edits: PendingEdits;
  readonly onApply: () => void;
  readonly onClose: () => void;
}

const ROWS_SHOWN = 50;

export function EditPreview({ table, edits, onApply, onClose }: EditPreviewProps): JSX.Element {
  const entries = toEntries(edits);
  return (
    <Dialog title="What Apply sends" onClose={onClose} isWide>
      <div class="body">
        <p>
          {describeEdits(edits)} On{' '}
          {table.at.branch === undefined ? 'the main branch' : `the branch ${table.at.branch}`}, all of it or nothing.
          It is refused if another writer changed one of these rows.
        </p>
        <div class="edit-preview">
          <table class="list changes" aria-label="Edits to send">
            <Heads heads={['Change', 'Row', 'Values']} />
            <tbody>
              {entries.slice(0, ROWS_SHOWN).map((entry, index) => (
                <EntryRow key={index} entry={entry} table={table} />
              ))}
            </tbody>
          </table>
        </div>
        {entries.length > ROWS_SHOWN ? (
          <p class="hint">
            The first {ROWS_SHOWN} of {formatCount(countEdits(edits))} are shown.
          </p>
        ) : null}
        <footer>
          <Button onClick={onClose}>Back</Button>
          <Button kind="primary" onClick={onApply}>
            Apply
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}

interface Entry {
  readonly kind: 'added' | 'changed' | 'deleted';
  readonly before: JsonRow | undefined;
  readonly values: JsonRow;
}

function toEntries({ added, changed, deleted }: PendingEdits): readonly Entry[] {
  return [
    ...added.map(({ values }): Entry => ({ kind: 'added', before: undefined, values })),
    ...[...changed.values()].map(({ row, values }): Entry => ({ kind: 'changed', before: row.values, values })),
    ...[...deleted.values()].map(({ values }): Entry => ({ kind: 'deleted', before: values, values: {} })),
  ];
}

const KINDS = { added: 'good', changed: 'warn', deleted: 'bad' } as const;

function EntryRow({ entry, table }: { readonly entry: Entry; readonly table: DescribedTable }): JSX.Element {
  const { kind, before, values } = entry;
  const { fields } = table.schema;
  const names = findKey(fields)?.names ?? fields.slice(0, 1).map(({ name }) => name);
  const typeOf = (column: string) => fields.find((field) => field.name === column)?.type;
  return (
    <tr>
      <td>
        <Badge kind={KINDS[kind]}>{kind}</Badge>
      </td>
      <td>
        {names.map((name) => (
          <div key={name}>
            {name} <Cell value={cellOf(before ?? values, name)} type={typeOf(name)} />
          </div>
        ))}
      </td>
      <td class="changed">
        {Object.entries(values).map(([column, value]) => (
          <p key={column}>
            {column}{' '}
            {before === undefined ? null : (
              <>
                <del>
                  <Cell value={cellOf(before, column)} type={typeOf(column)} />
                </del>{' '}
                <Icon name="right" />{' '}
              </>
            )}
            <ins>
              <Cell value={value} type={typeOf(column)} />
            </ins>
          </p>
        ))}
      </td>
    </tr>
  );
}
