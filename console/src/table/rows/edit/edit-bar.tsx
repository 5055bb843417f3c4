import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button, LinkButton } from '../../../parts/button.tsx';
import { ErrorBox } from '../../../parts/error-box.tsx';
import { formatCountOf } from '../../../parts/format.ts';
import { toastError } from '../../../parts/toasts.tsx';
import { toHash } from '../../../router.ts';
import { branchOf } from '../../described-table.ts';
import type { DescribedTable } from '../../described-table.ts';
import { describeEdits } from './describe-edits.ts';
import { EditConflict } from './edit-faults.ts';
import { EditPreview } from './edit-preview.tsx';
import { countEdits } from './pending-edits.ts';
import type { GridRow } from './pending-edits.ts';
import type { Editing } from './use-editing.ts';

interface EditBarProps {
  readonly table: DescribedTable;
  readonly editing: Editing;
  /** The rows of the page, and the added ones. */
  readonly rows: readonly GridRow[];
}

export function EditBar({ table, editing, rows }: EditBarProps): JSX.Element {
  const [isPreviewed, setIsPreviewed] = useState(false);
  const { edits, chosen, error } = editing;
  const count = countEdits(edits);
  const chosenRows = rows.filter(({ key }) => chosen.has(key));
  return (
    <section class="edit-bar" aria-label="Edits">
      <div class="bar">
        <Button icon="add" onClick={() => attempt(editing.add)}>
          Add row
        </Button>
        <Button
          icon="trash"
          isDisabled={chosenRows.length === 0}
          onClick={() => attempt(() => editing.remove(chosenRows))}
        >
          {chosenRows.length === 0 ? 'Delete rows' : `Delete ${formatCountOf(chosenRows.length, 'row')}`}
        </Button>
        <LinkButton icon="upload" href={toHash('change', table.path, { kind: 'upsert', ...branchOf(table) })}>
          Upsert
        </LinkButton>
        <p class="muted" role="status">
          {count === 0
            ? 'Press Enter, double-click or tap to edit a cell. Nothing is sent until you apply.'
            : `Not applied yet: ${describeEdits(edits)}${ageOf(editing, table)}`}
        </p>
        <span class="spring" />
        <Button isDisabled={count === 0 || editing.isBusy} onClick={editing.discard}>
          Discard
        </Button>
        <Button isDisabled={count === 0} onClick={() => setIsPreviewed(true)}>
          Preview
        </Button>
        <Button kind="primary" isDisabled={count === 0} isBusy={editing.isBusy} onClick={editing.apply}>
          Apply
        </Button>
      </div>
      <ErrorBox error={error} />
      {error instanceof EditConflict ? (
        <Button icon="refresh" onClick={() => editing.revert(error.rowIds)}>
          Leave out {formatCountOf(error.rowIds.length, 'row')}
        </Button>
      ) : null}
      {isPreviewed ? (
        <EditPreview
          table={table}
          edits={edits}
          onApply={() => (setIsPreviewed(false), editing.apply())}
          onClose={() => setIsPreviewed(false)}
        />
      ) : null}
    </section>
  );
}

/** Apply compares the rows with those that were read, whatever the version. */
function ageOf({ version }: Editing, table: DescribedTable): string {
  return version === table.version ? '' : ` Begun at version ${version}, the table is at version ${table.version}.`;
}

function attempt(work: () => void): void {
  try {
    work();
  } catch (fault) {
    toastError(fault);
  }
}
