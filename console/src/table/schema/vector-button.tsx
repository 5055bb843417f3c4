import type { JSX } from 'preact';
import { convertToVectors, findListLength, holdsNumberLists } from '../../../../src/client/columns.ts';
import type { FieldJson } from '../../../../src/client/columns.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { toast, toastError } from '../../parts/toasts.tsx';
import { useTask } from '../../parts/use-load.ts';
import type { DescribedTable } from '../described-table.ts';

interface VectorButtonProps {
  readonly table: DescribedTable;
  readonly field: FieldJson;
  readonly onChanged: () => void;
}

/** Converts a column of number lists to vectors; empty for other columns and old versions. */
export function VectorButton({ table, field, onChanged }: VectorButtonProps): JSX.Element | null {
  const client = useClient();
  const { path, at } = table;
  const task = useTask(async () => {
    const on = at.branch === undefined ? {} : { branch: at.branch };
    try {
      const length = await findListLength(client, path, field, on);
      if (length === undefined) throw new Error(`${field.name} has no lists yet.`);
      const { version } = await convertToVectors(client, path, field, { length, ...on });
      toast(`${field.name} now holds vectors of ${length} values. The table is at version ${version}.`);
      onChanged();
    } catch (error) {
      toastError(error);
    }
  });
  if (at.version !== undefined || !holdsNumberLists(field)) return null;
  return (
    <Button kind="quiet" isBusy={task.isRunning} onClick={task.run}>
      Make vectors
    </Button>
  );
}
