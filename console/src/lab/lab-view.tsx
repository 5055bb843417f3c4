import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { TablePath } from '../../../src/model/identifier.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Skeleton } from '../parts/states.tsx';
import { TableForm } from '../parts/forms/table-form.tsx';
import { useDocumentTitle, useLoad } from '../parts/use-load.ts';
import { go, toHash } from '../router.ts';
import type { ViewProps } from '../router.ts';
import { TABS, readForm, toParameters, withSettings } from './form/lab-form.ts';
import type { LabForm } from './form/lab-form.ts';
import { LabOutcome } from './lab-outcome.tsx';
import { QueryForm } from './form/query-form.tsx';
import { RivalForm } from './form/rival-form.tsx';
import { runLab } from './run-lab.ts';
import type { Outcome } from './run-lab.ts';
import { loadFacts } from './table-facts.ts';
import type { TableFacts } from './table-facts.ts';
import { TablePicker } from './form/table-picker.tsx';

export function LabView({ route }: ViewProps): JSX.Element {
  const [first, ...rest] = route.segments;
  useDocumentTitle(first === undefined ? 'Lab' : `Lab: ${route.segments.join(' / ')}`);
  if (first === undefined) {
    return (
      <TablePicker title="Query and plan lab" onPick={(table) => go(toHash('lab', table))}>
        Write a query, see its rows, and see what every step of its plan cost. Choose a table to begin.
      </TablePicker>
    );
  }
  return <LabOfTable key={route.segments.join('/')} table={[first, ...rest]} query={route.query} />;
}

interface LabOfTableProps {
  readonly table: TablePath;
  readonly query: URLSearchParams;
}

function LabOfTable({ table, query }: LabOfTableProps): JSX.Element {
  const client = useClient();
  const facts = useLoad(async () => loadFacts(client, table), [client]);
  if (facts.value === undefined) {
    return (
      <div class="view">
        {facts.error === undefined ? <Skeleton /> : <ErrorBox error={facts.error} onRetry={facts.reload} />}
      </div>
    );
  }
  return <Bench table={table} query={query} facts={facts.value} onTableChanged={facts.reload} />;
}

interface BenchProps extends LabOfTableProps {
  readonly facts: TableFacts;
  readonly onTableChanged: () => void;
}

const ACTIONS = { results: 'Run', plan: 'Analyze', compare: 'Compare' } as const;
const TAB_WORDS = { results: 'Results', plan: 'Plan', compare: 'Compare' } as const;

function Bench({ table, query, facts, onTableChanged }: BenchProps): JSX.Element {
  const client = useClient();
  const asked = readForm(query);
  const [draft, setDraft] = useState<LabForm>(asked);
  const [round, setRound] = useState(0);
  const address = query.toString();
  // The URL holds the query that ran: links, reload and back run it again.
  useEffect(() => setDraft(readForm(query)), [address]);
  const outcome = useLoad<Outcome>(
    async () => runLab({ client, table, facts }, asked),
    [client, facts, address, round],
  );
  const run = (form: LabForm): void => {
    const hash = toHash('lab', table, toParameters(form));
    if (hash === location.hash || (address === '' && Object.keys(toParameters(form)).length === 0)) {
      setRound(round + 1);
    } else go(hash);
  };
  const submit = (): void => run(draft);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
  };
  return (
    <div class="lab" onKeyDown={onKeyDown}>
      <TableForm label="Query" table={table} view="lab" onSubmit={submit}>
        <QueryForm
          form={draft}
          facts={facts}
          onChange={(change) => setDraft({ ...draft, ...change })}
          onRun={submit}
          error={outcome.error}
        />
        {draft.tab === 'compare' ? (
          <RivalForm form={draft} facts={facts} onChange={(change) => setDraft({ ...draft, ...change })} />
        ) : null}
        <footer>
          <Button submits kind="primary" icon="play" isBusy={outcome.isLoading}>
            {ACTIONS[draft.tab]}
          </Button>
          <span class="hint">Ctrl and Enter</span>
        </footer>
      </TableForm>
      <div class="lab-outcome">
        <nav class="lab-tabs" aria-label="What to see">
          {TABS.map((tab) => (
            <button key={tab} type="button" aria-pressed={asked.tab === tab} onClick={() => run({ ...draft, tab })}>
              {TAB_WORDS[tab]}
            </button>
          ))}
        </nav>
        <LabOutcome
          outcome={outcome.value}
          error={outcome.error}
          isLoading={outcome.isLoading}
          table={table}
          onSettings={(remedy) => run(withSettings(asked, remedy.settings))}
          onRemedyApplied={onTableChanged}
        />
      </div>
    </div>
  );
}
