import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { diffTable } from '../../../../../src/client/rows.ts';
import type { TableDiff } from '../../../../../src/client/rows.ts';
import { useClient } from '../../../api.ts';
import { linkTo, tableHash } from '../../../links.ts';
import { Button, LinkButton } from '../../../parts/button.tsx';
import { copyText } from '../../../parts/copy-text.ts';
import { ErrorBox } from '../../../parts/error-box.tsx';
import { Segments } from '../../../parts/forms/field.tsx';
import { formatCount, formatCountOf } from '../../../parts/format.ts';
import { Badge, Empty, Skeleton } from '../../../parts/states.tsx';
import { useLoad } from '../../../parts/use-load.ts';
import { branchOf } from '../../described-table.ts';
import type { DescribedTable } from '../../described-table.ts';
import { comparisonHash, sideWords } from './diff-state.ts';
import type { Comparison } from './diff-state.ts';
import { DiffRows } from './diff-rows.tsx';

interface DiffViewProps {
  readonly table: DescribedTable;
  readonly comparison: Comparison;
}

const ROWS_SHOWN = 200;

/** The rows that differ between two versions, tags or branches. */
export function DiffView({ table, comparison }: DiffViewProps): JSX.Element {
  const client = useClient();
  const { from, to } = comparison;
  const { path, at } = table;
  const address = comparisonHash(path, at, comparison);
  const { value, error, isLoading, reload } = useLoad(
    async () => diffTable(client, path, { from, to, limit: ROWS_SHOWN }),
    [client, address],
  );
  const { database = '' } = client;
  return (
    <section class="diff" aria-label="Differences">
      <div class="bar">
        <h2>
          From {sideWords(from)} to {sideWords(to)}
        </h2>
        <span class="spring" />
        <LinkButton icon="refresh" href={comparisonHash(path, at, { from: to, to: from })}>
          Swap
        </LinkButton>
        <Button
          icon="copy"
          onClick={() => copyText(linkTo(`${address}&database=${encodeURIComponent(database)}`), 'Link copied.')}
        >
          Copy link
        </Button>
        <LinkButton icon="left" href={tableHash(path, 'versions', branchOf(table))}>
          All versions
        </LinkButton>
      </div>
      {isLoading ? <Skeleton lines={8} /> : <ErrorBox error={error} onRetry={reload} />}
      {isLoading || value === undefined ? null : <Differences table={table} diff={value} />}
    </section>
  );
}

const SHOWN = [
  ['all', 'All'],
  ['added', 'Added'],
  ['removed', 'Removed'],
  ['changed', 'Changed'],
] as const;

interface DifferencesProps {
  readonly table: DescribedTable;
  readonly diff: TableDiff;
}

function Differences({ table, diff }: DifferencesProps): JSX.Element {
  const [shown, setShown] = useState<(typeof SHOWN)[number][0]>('all');
  const { added, removed, changed } = diff.counts;
  const rows = diff.rows.filter(({ change }) => shown === 'all' || change === shown);
  return (
    <>
      <div class="bar">
        <Badge kind="good">+{formatCount(added)} added</Badge>
        <Badge kind="bad">−{formatCount(removed)} removed</Badge>
        <Badge kind="warn">{formatCount(changed)} changed</Badge>
        <p class="muted">{keyWords(diff)}</p>
        <span class="spring" />
        {added + removed + changed === 0 ? null : (
          <Segments label="Rows to show" value={shown} options={SHOWN} onChange={setShown} />
        )}
      </div>
      <ColumnDifferences columns={diff.columns} />
      {added + removed + changed === 0 ? (
        <Empty icon="check" title="No row differs">
          <p>Both have the same rows.</p>
        </Empty>
      ) : (
        <DiffRows table={table} rows={rows} />
      )}
      {diff.truncated ? (
        <p class="hint">
          The first {formatCountOf(diff.rows.length, 'difference')} of {formatCount(added + removed + changed)} are
          shown; all are counted.
        </p>
      ) : null}
    </>
  );
}

function keyWords({ key }: TableDiff): string {
  if (key.kind === 'row_ids') return 'Rows are matched by their row ids.';
  const words = `Rows are matched by ${key.columns.join(', ')}.`;
  return key.repeated ? `${words} Some values occur more than once: those rows are paired in their order.` : words;
}

function ColumnDifferences({ columns }: Pick<TableDiff, 'columns'>): JSX.Element | null {
  const words = [
    ...columns.added.map(({ name, type }) => `${name} (${type}) was added`),
    ...columns.removed.map(({ name, type }) => `${name} (${type}) was removed`),
    ...columns.changed.map(({ name, from, to }) => `${name} was ${from}, is ${to}`),
  ];
  if (words.length === 0) return null;
  return (
    <p>
      <strong>Columns:</strong> {words.join('; ')}.
    </p>
  );
}
