import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiClient } from '../../../src/client/api-client.ts';
import { listBranches } from '../../../src/client/history.ts';
import { describeTable } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { listColumns } from '../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';
import type { SchemaJson } from '../../../src/wire/schema/schema-json.ts';
import { useClient } from '../api.ts';
import { CopyAs } from '../code/copy-as.tsx';
import { toSchema } from '../lab/table-facts.ts';
import { TablePicker } from '../lab/form/table-picker.tsx';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Empty, Skeleton } from '../parts/states.tsx';
import { TableForm } from '../parts/forms/table-form.tsx';
import { useDocumentTitle, useDraft, useLoad } from '../parts/use-load.ts';
import { go, toHash } from '../router.ts';
import type { ViewProps } from '../router.ts';
import { ChangeFields } from './change-fields.tsx';
import { branchOf, findGap, readChange, toChangeQuery } from './change-form.ts';
import { previewChange, toOperation } from './preview-change.ts';
import { PreviewPane } from './preview-pane.tsx';
import { UpsertBench } from './upsert/upsert-bench.tsx';

export function ChangeView({ route }: ViewProps): JSX.Element {
  const [first, ...rest] = route.segments;
  useDocumentTitle(first === undefined ? 'Change rows' : `Change rows: ${route.segments.join(' / ')}`);
  if (first === undefined) {
    return (
      <TablePicker title="Change rows safely" onPick={(table) => go(toHash('change', table))}>
        Update, delete or upsert rows: preview the change, then run exactly that. Choose a table to start.
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
  if (query.get('kind') !== 'upsert') {
    return <Bench table={table} query={query} {...facts.value} isOutdated={facts.isLoading} />;
  }
  const show = (kind: string, on: string): void => {
    go(toHash('change', table, { ...(kind === 'update' ? {} : { kind }), ...(on === '' ? {} : { branch: on }) }));
  };
  return (
    <UpsertBench
      table={table}
      fields={facts.value.fields}
      branches={facts.value.branches}
      branch={branch}
      onKind={(kind) => show(kind, branch ?? '')}
      onBranch={(on) => show('upsert', on)}
    />
  );
}

interface ChangeFacts {
  readonly fields: SchemaJson['fields'];
  readonly columns: readonly ColumnFact[];
  readonly branches: readonly string[];
}

/** Branches may have different columns. */
async function readFacts(client: ApiClient, table: TablePath, branch: string | undefined): Promise<ChangeFacts> {
  const [described, branches] = await Promise.all([
    describeTable(client, table, branch === undefined ? {} : { branch }),
    listBranches(client, table),
  ]);
  const schema = toSchema(described.schema);
  return { fields: schema.fields, columns: listColumns(schema), branches: Object.keys(branches) };
}

interface BenchProps extends ChangeOfTableProps, ChangeFacts {
  /** Whether the columns are still those of the previous branch, because the new ones are loading. */
  readonly isOutdated: boolean;
}

function Bench({ table, query, columns, branches, isOutdated }: BenchProps): JSX.Element {
  const client = useClient();
  const address = query.toString();
  const asked = readChange(query);
  const [draft, setDraft] = useDraft(asked, address);
  const [round, setRound] = useState(0);
  const gap = findGap(draft);
  const isAsked = findGap(asked) === undefined && !isOutdated;
  const preview = useLoad(
    async () => (isAsked ? previewChange(client, table, asked, columns) : undefined),
    [client, address, round, isOutdated],
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
          onUpsert={() => go(toHash('change', table, { kind: 'upsert', ...branchOf(draft) }))}
          error={preview.error}
        />
        <footer>
          <Button submits kind="primary" icon="search" isBusy={preview.isLoading} isDisabled={gap !== undefined}>
            Preview
          </Button>
          <span class="hint">{gap ?? 'Nothing is changed yet'}</span>
          <CopyAs table={table} operation={() => toOperation(draft)} isDisabled={gap !== undefined} />
        </footer>
      </TableForm>
      <div class="lab-outcome">
        <ErrorBox error={preview.error} />
        {preview.value === undefined && preview.error === undefined ? (
          <Empty icon="edit" title="Preview before you change anything">
            <p>The preview counts the rows and shows the first ones, before and after. Then you can run the change.</p>
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
