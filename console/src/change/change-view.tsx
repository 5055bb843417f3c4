import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ApiClient } from '../../../src/client/api-client.ts';
import { listBranches } from '../../../src/client/history.ts';
import { describeTable } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { listColumns } from '../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';
import { useClient } from '../api.ts';
import { toSchema } from '../lab/table-facts.ts';
import { TablePicker } from '../lab/form/table-picker.tsx';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Empty, Skeleton } from '../parts/states.tsx';
import { TableForm } from '../parts/forms/table-form.tsx';
import { useDocumentTitle, useLoad } from '../parts/use-load.ts';
import { go, toHash } from '../router.ts';
import type { ViewProps } from '../router.ts';
import { ChangeFields } from './change-fields.tsx';
import { findGap, readChange, toChangeQuery } from './change-form.ts';
import { previewChange } from './preview-change.ts';
import { PreviewPane } from './preview-pane.tsx';

export function ChangeView({ route }: ViewProps): JSX.Element {
  const [first, ...rest] = route.segments;
  useDocumentTitle(first === undefined ? 'Change rows' : `Change rows: ${route.segments.join(' / ')}`);
  if (first === undefined) {
    return (
      <TablePicker title="Change rows safely" onPick={(table) => go(toHash('change', table))}>
        Update or delete rows: see first what would change, then run exactly that. Choose a table to begin.
      </TablePicker>
    );
  }
  return <ChangeOfTable key={route.segments.join('/')} table={[first, ...rest]} query={route.query} />;
}

interface ChangeOfTableProps {
  readonly table: TablePath;
  readonly query: URLSearchParams;
}

function ChangeOfTable({ table, query }: ChangeOfTableProps): JSX.Element {
  const client = useClient();
  const branch = query.get('branch') ?? undefined;
  const facts = useLoad(async () => readFacts(client, table, branch), [client, branch]);
  if (facts.value === undefined) {
    return (
      <div class="view">
        {facts.error === undefined ? <Skeleton /> : <ErrorBox error={facts.error} onRetry={facts.reload} />}
      </div>
    );
  }
  return <Bench table={table} query={query} {...facts.value} />;
}

interface ChangeFacts {
  readonly columns: readonly ColumnFact[];
  readonly branches: readonly string[];
}

/** Branches may have different columns. */
async function readFacts(client: ApiClient, table: TablePath, branch: string | undefined): Promise<ChangeFacts> {
  const [described, branches] = await Promise.all([
    describeTable(client, table, branch === undefined ? {} : { branch }),
    listBranches(client, table),
  ]);
  return { columns: listColumns(toSchema(described.schema)), branches: Object.keys(branches) };
}

type BenchProps = ChangeOfTableProps & ChangeFacts;

function Bench({ table, query, columns, branches }: BenchProps): JSX.Element {
  const client = useClient();
  const address = query.toString();
  const asked = readChange(query);
  const [draft, setDraft] = useState(asked);
  const [round, setRound] = useState(0);
  useEffect(() => setDraft(readChange(query)), [address]);
  const gap = findGap(draft);
  const preview = useLoad(
    async () => (findGap(asked) === undefined ? previewChange(client, table, asked, columns) : undefined),
    [client, address, round],
  );
  const submit = (): void => {
    const next = toChangeQuery(draft);
    if (gap !== undefined) return;
    if (next === toChangeQuery(asked)) setRound(round + 1);
    else go(`${toHash('change', table)}?${next}`);
  };
  const isShown = preview.value !== undefined && toChangeQuery(draft) === toChangeQuery(preview.value.form);
  return (
    <div class="lab">
      <TableForm label="Change" table={table} view="change" onSubmit={submit}>
        <ChangeFields
          form={draft}
          columns={columns}
          branches={branches}
          onChange={setDraft}
          onSubmit={submit}
          error={preview.error}
        />
        <footer>
          <Button submits kind="primary" icon="search" isBusy={preview.isLoading} isDisabled={gap !== undefined}>
            Preview
          </Button>
          <span class="hint">{gap ?? 'Nothing is changed yet'}</span>
        </footer>
      </TableForm>
      <div class="lab-outcome">
        <ErrorBox error={preview.error} />
        {preview.value === undefined && preview.error === undefined ? (
          <Empty icon="edit" title="See it before you do it">
            <p>
              The preview counts the rows and shows the first of them, before and after. Only then the change can be
              run.
            </p>
          </Empty>
        ) : null}
        {preview.value === undefined ? null : (
          <PreviewPane
            key={`${address} ${preview.value.version} ${round}`}
            table={table}
            preview={preview.value}
            isCurrent={isShown && !preview.isLoading}
            onPreview={() => setRound(round + 1)}
          />
        )}
      </div>
    </div>
  );
}
