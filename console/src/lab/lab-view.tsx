import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { TablePath } from '../../../src/model/identifier.ts';
import { useClient } from '../api.ts';
import { CopyAs } from '../code/copy-as.tsx';
import { linkTo } from '../links.ts';
import { Button } from '../parts/button.tsx';
import { copyText } from '../parts/copy-text.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { Skeleton } from '../parts/states.tsx';
import { TableForm } from '../parts/forms/table-form.tsx';
import { useDocumentTitle, useDraft, useLoad } from '../parts/use-load.ts';
import { go, toHash } from '../router.ts';
import type { ViewProps } from '../router.ts';
import { TABS, readForm, toParameters, withSettings } from './form/lab-form.ts';
import type { LabForm, LabTab } from './form/lab-form.ts';
import { LabOutcome } from './lab-outcome.tsx';
import type { Ran } from './lab-outcome.tsx';
import { MapFields } from './form/map-fields.tsx';
import { QueryForm } from './form/query-form.tsx';
import { toQueryBody, withRoundedPaste } from './form/query-body.ts';
import { RivalForm } from './form/rival-form.tsx';
import { QueryMenu } from './queries/query-menu.tsx';
import { rememberRecent } from './queries/query-store.ts';
import { SavedQueries } from './queries/saved-queries.tsx';
import { runLab } from './run-lab.ts';
import type { Lab } from './run-lab.ts';
import { loadFacts } from './table-facts.ts';
import type { TableFacts } from './table-facts.ts';
import { TablePicker } from './form/table-picker.tsx';

export function LabView({ route, session }: ViewProps): JSX.Element {
  const [first, ...rest] = route.segments;
  useDocumentTitle(first === undefined ? 'Lab' : `Lab: ${route.segments.join(' / ')}`);
  if (first === undefined) {
    return (
      <>
        <TablePicker title="Query lab" onPick={(table) => go(toHash('lab', table))}>
          Run a query, and see its rows and the cost of each step. Choose a table to start.
        </TablePicker>
        <SavedQueries database={session.database} />
      </>
    );
  }
  return (
    <LabOfTable
      key={route.segments.join('/')}
      table={[first, ...rest]}
      query={route.query}
      database={session.database}
    />
  );
}

interface LabOfTableProps {
  readonly table: TablePath;
  readonly query: URLSearchParams;
  readonly database: string;
}

function LabOfTable({ table, query, database }: LabOfTableProps): JSX.Element {
  const client = useClient();
  const facts = useLoad(async () => loadFacts(client, table), [client]);
  if (facts.value === undefined) {
    return (
      <div class="view">
        {facts.error === undefined ? <Skeleton /> : <ErrorBox error={facts.error} onRetry={facts.reload} />}
      </div>
    );
  }
  return <Bench table={table} query={query} database={database} facts={facts.value} onTableChanged={facts.reload} />;
}

interface BenchProps extends LabOfTableProps {
  readonly facts: TableFacts;
  readonly onTableChanged: () => void;
}

const ACTIONS = { results: 'Run', plan: 'Analyze', compare: 'Compare', map: 'Draw' } as const;
const TAB_WORDS = { results: 'Results', plan: 'Plan', compare: 'Compare', map: 'Map' } as const;

function Bench({ table, query, database, facts, onTableChanged }: BenchProps): JSX.Element {
  const client = useClient();
  const address = query.toString();
  const asked = useMemo(() => readForm(query), [address]);
  const [round, setRound] = useState(0);
  const lab: Lab = useMemo(() => ({ client, table, facts }), [client, facts]);
  // The URL holds the query that ran: links, reload and back run it again.
  const [draft, setDraft] = useDraft(asked);
  const ran = useLoad<Ran>(async () => ({ form: asked, outcome: await runLab(lab, asked) }), [lab, address, round]);
  useRecent({ database, table }, ran.value);
  const run = (changed: LabForm): void => {
    const form = withRoundedPaste(changed, facts);
    const hash = toHash('lab', table, toParameters(form));
    if (hash === location.hash || isSame(form, asked)) setRound(round + 1);
    else go(hash);
  };
  const submit = (): void => run(draft);
  const change = (changed: Partial<LabForm>): void => setDraft({ ...draft, ...changed });
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
  };
  const fields = { table, form: draft, facts, onChange: change, onRun: submit, onTableChanged, error: ran.error };
  return (
    <div class="lab" onKeyDown={onKeyDown}>
      <TableForm label="Query" table={table} view="lab" onSubmit={submit} isFolded={address !== ''}>
        {draft.tab === 'map' ? <MapFields {...fields} /> : <QueryForm {...fields} />}
        {draft.tab === 'compare' ? <RivalForm {...fields} /> : null}
        <footer>
          <Button submits kind="primary" icon="play" isBusy={ran.isLoading}>
            {ACTIONS[draft.tab]}
          </Button>
          <span class="hint">Ctrl+Enter</span>
        </footer>
      </TableForm>
      <div class="lab-outcome">
        <LabBar lab={lab} database={database} asked={asked} draft={draft} onTab={(tab) => run({ ...draft, tab })} />
        <LabOutcome
          lab={lab}
          ran={ran}
          asked={asked}
          draft={draft}
          isChanged={!isSame(draft, asked)}
          onSettings={(remedy) => run(withSettings(asked, remedy.settings))}
          onRemedyApplied={onTableChanged}
        />
      </div>
    </div>
  );
}

interface LabBarProps {
  readonly lab: Lab;
  readonly database: string;
  readonly asked: LabForm;
  readonly draft: LabForm;
  readonly onTab: (tab: LabTab) => void;
}

function LabBar({ lab, database, asked, draft, onTab }: LabBarProps): JSX.Element {
  const { client, table, facts } = lab;
  const tabs = facts.vectorColumns.length === 0 ? TABS.filter((tab) => tab !== 'map') : TABS;
  const parameters = toParameters(withRoundedPaste(draft, facts));
  return (
    <div class="lab-bar">
      <nav class="lab-tabs" aria-label="Result view">
        {tabs.map((tab) => (
          <button key={tab} type="button" aria-pressed={asked.tab === tab} onClick={() => onTab(tab)}>
            {TAB_WORDS[tab]}
          </button>
        ))}
      </nav>
      <span class="spring" />
      {draft.tab === 'map' ? null : (
        <CopyAs
          table={table}
          operation={async () => ({ name: 'query', body: await toQueryBody(client, table, draft, facts) })}
        />
      )}
      <Button
        kind="quiet"
        onClick={() => copyText(linkTo(toHash('lab', table, { ...parameters, database })), 'Link copied.')}
      >
        Copy link
      </Button>
      <QueryMenu database={database} table={table} parameters={parameters} />
    </div>
  );
}

/** Stores queries that ran, except the one that the lab opens with. */
function useRecent(where: { readonly database: string; readonly table: TablePath }, ran: Ran | undefined): void {
  // Not after the paint: the user may leave the page before.
  useLayoutEffect(() => {
    const parameters = ran === undefined ? {} : toParameters(ran.form);
    if (Object.keys(parameters).length > 0) rememberRecent({ ...where, parameters, at: Date.now() });
  }, [ran]);
}

function isSame(one: LabForm, other: LabForm): boolean {
  return new URLSearchParams(toParameters(one)).toString() === new URLSearchParams(toParameters(other)).toString();
}
