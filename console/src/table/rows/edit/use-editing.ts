import { useEffect, useMemo, useState } from 'preact/hooks';
import type { JsonValue } from '../../../../../src/client/rows.ts';
import { COMPUTED_KEY } from '../../../../../src/model/schema.ts';
import { useClient } from '../../../api.ts';
import { formatCount } from '../../../parts/format.ts';
import { toast, toastError, toastWithAction } from '../../../parts/toasts.tsx';
import { useLoad } from '../../../parts/use-load.ts';
import { branchOf } from '../../described-table.ts';
import type { DescribedTable } from '../../described-table.ts';
import { DRAFTS } from '../drafts.ts';
import type { Draft } from '../drafts.ts';
import { applyEdits, findMisfit, requireAnswered } from './apply-edits.ts';
import type { EditTarget } from './apply-edits.ts';
import { EDITS_MAX, NO_EDITS, addRow, countEdits, deleteRows, revertRows, setCell } from './pending-edits.ts';
import type { GridRow, PendingEdits } from './pending-edits.ts';
import { describeEdits } from './describe-edits.ts';
import { EditFault } from './edit-faults.ts';

export interface OpenedCell {
  readonly row: GridRow;
  readonly column: string;
}

export interface Editing {
  readonly isOn: boolean;
  /** Editing begins as soon as the column types are loaded. */
  readonly isStarting: boolean;
  readonly edits: PendingEdits;
  /** The version on which the first of them was made. */
  readonly version: number;
  /** Grid keys of the selected rows. */
  readonly chosen: ReadonlySet<string>;
  readonly cell: OpenedCell | undefined;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly setOn: (isOn: boolean) => void;
  readonly choose: (key: string) => void;
  readonly openCell: (cell: OpenedCell | undefined) => void;
  /** Throws if the value does not fit its column. */
  readonly set: (row: GridRow, column: string, value: JsonValue) => void;
  readonly add: () => void;
  readonly remove: (rows: readonly GridRow[]) => void;
  readonly revert: (rowIds: readonly string[]) => void;
  /** Also reads the rows again. */
  readonly discard: () => void;
  readonly apply: () => void;
}

/** Collects edits of rows until they are applied or discarded. */
export function useEditing(table: DescribedTable, onChanged: () => void): Editing {
  const { edits, version, setEdits } = usePending(table);
  const [isWanted, setIsWanted] = useState(countEdits(edits) > 0);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [cell, openCell] = useState<OpenedCell>();
  const target = useTarget(table);
  const format = useFormat(target, table.version, isWanted);
  const isReady = format.value !== undefined || format.error !== undefined;
  useUnloadWarning(countEdits(edits) > 0);
  const [run, setRun] = useState<{ readonly isBusy: boolean; readonly error?: unknown }>({ isBusy: false });
  const clear = (): void => {
    setEdits(NO_EDITS);
    setChosen(new Set());
    openCell(undefined);
    setRun({ isBusy: false });
  };
  const apply = async (): Promise<void> => {
    setRun({ isBusy: true });
    const applied = await applyEdits(target, edits);
    const undo = async (): Promise<void> => {
      const { undoEdits } = await import('./undo-edits.ts');
      const undone = await undoEdits(target, applied);
      toast(`Undone: the table is at version ${undone}.`);
      onChanged();
    };
    toastWithAction(`${describeEdits(edits)} The table is at version ${applied.version}.`, {
      label: 'Undo',
      run: () => void undo().catch(toastError),
    });
    clear();
    onChanged();
  };
  const change = (next: PendingEdits): void => {
    requireAnswered(edits);
    if (countEdits(next) > EDITS_MAX)
      throw new EditFault(`You can edit at most ${formatCount(EDITS_MAX)} rows at a time.`, 'Apply these edits first.');
    setEdits(next);
  };
  return {
    isOn: isWanted && isReady,
    isStarting: isWanted && !isReady,
    edits,
    version,
    chosen,
    cell,
    isBusy: run.isBusy,
    error: run.error ?? format.error ?? findMisfit(target, edits),
    setOn: (next) => {
      setIsWanted(next);
      clear();
      onChanged();
    },
    choose: (key) => setChosen((before) => toggled(before, key)),
    openCell,
    set: (row, column, value) => {
      format.value?.check(column, value);
      change(setCell(edits, row, column, value));
    },
    add: () => change(addRow(edits)),
    remove: (rows) => {
      change(deleteRows(edits, rows));
      setChosen(new Set());
    },
    revert: (rowIds) => {
      change(revertRows(edits, rowIds));
      setRun({ isBusy: false });
    },
    discard: () => {
      clear();
      onChanged();
    },
    apply: () => void apply().catch((error: unknown) => setRun({ isBusy: false, error })),
  };
}

function usePending({ location, at, version }: DescribedTable) {
  const { database = '' } = useClient();
  const key = JSON.stringify([database, location, at.branch]);
  const isLatest = at.version === undefined;
  const [draft, setDraft] = useState<Draft>((isLatest && DRAFTS.get(key)) || { edits: NO_EDITS, version });
  // Not in an effect, which is lost if the view is left before it runs.
  const setEdits = (edits: PendingEdits): void => {
    const next = { edits, version: countEdits(draft.edits) === 0 ? version : draft.version };
    if (isLatest && countEdits(edits) > 0) DRAFTS.set(key, next);
    else if (isLatest) DRAFTS.delete(key);
    setDraft(next);
  };
  return { ...draft, setEdits };
}

function useTarget({ path, at, schema }: DescribedTable): EditTarget {
  const client = useClient();
  return useMemo(
    () => ({
      client,
      path,
      on: branchOf({ at }),
      fields: schema.fields,
      writable: schema.fields.flatMap(({ name, metadata }) => (metadata?.[COMPUTED_KEY] === undefined ? [name] : [])),
    }),
    [client, path.join('/'), at.branch, schema],
  );
}

interface RowFormat {
  readonly check: (column: string, value: JsonValue) => void;
}

/** The exact types of the columns; read when editing begins, together with the code that converts values. */
function useFormat({ client, path, on, writable }: EditTarget, version: number, isOn: boolean) {
  return useLoad(async (): Promise<RowFormat | undefined> => {
    if (!isOn) return undefined;
    const { convertValue, readArrowRows } = await import('./arrow-rows.ts');
    const rows = await readArrowRows(client, path, writable, { ...on, version, k: 1 });
    return { check: (column, value) => void convertValue(rows, column, value) };
  }, [client, path.join('/'), on.branch, version, isOn]);
}

function toggled(keys: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(keys);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** The browser asks before it closes a page with edits. */
function useUnloadWarning(hasEdits: boolean): void {
  useEffect(() => {
    if (!hasEdits) return;
    const warn = (event: Event): void => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [hasEdits]);
}
