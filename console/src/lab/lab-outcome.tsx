import type { JSX } from 'preact';
import type { TablePath } from '../../../src/model/identifier.ts';
import type { Remedy } from '../../../src/plans/advice.ts';
import { formatRows, formatShare } from '../../../src/plans/format-figure.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatMilliseconds } from '../parts/format.ts';
import { Badge, Empty, Skeleton } from '../parts/states.tsx';
import type { Load } from '../parts/use-load.ts';
import type { LabForm } from './form/lab-form.ts';
import { FormError } from './form/query-body.ts';
import { ComparePlans } from './plan/compare-plans.tsx';
import { Findings } from './plan/findings.tsx';
import { LabResults } from './lab-results.tsx';
import { MapPane } from './map-pane.tsx';
import { PlanViews } from './plan/plan-views.tsx';
import type { Lab, Outcome, Run } from './run-lab.ts';

/** An outcome with its form. */
export interface Ran {
  readonly form: LabForm;
  readonly outcome: Outcome;
}

interface LabOutcomeProps {
  readonly lab: Lab;
  readonly ran: Load<Ran>;
  /** The form in the address. */
  readonly asked: LabForm;
  /** The form on the page, including changes that were not run. */
  readonly draft: LabForm;
  readonly isChanged: boolean;
  readonly onSettings: (remedy: Extract<Remedy, { kind: 'set' }>) => void;
  readonly onRemedyApplied: () => void;
}

export function LabOutcome(props: LabOutcomeProps): JSX.Element {
  const { ran, asked, draft, isChanged } = props;
  const { value, error, isLoading } = ran;
  if (draft.search !== asked.search && asked.tab !== 'map') {
    return (
      <Empty icon="play" title="Run the query to see its result">
        <p>The kind of search has changed.</p>
      </Empty>
    );
  }
  if (error !== undefined && !isLoading) return <Failed error={error} />;
  if (value === undefined || !isOfSameKind(value.form, asked)) return <Skeleton />;
  return (
    <>
      {isChanged && !isLoading ? (
        <p class="stale" role="status">
          The query has changed. Run it to update the result.
        </p>
      ) : null}
      <div class={isLoading || isChanged ? 'outcome dim' : 'outcome'} aria-busy={isLoading}>
        <Shown {...props} {...value} />
      </div>
    </>
  );
}

/** A result of another kind is never shown while the next one loads. */
function isOfSameKind(form: LabForm, asked: LabForm): boolean {
  return form.tab === asked.tab && form.search === asked.search;
}

/** What is missing in the form is marked in the form too. */
function Failed({ error }: { readonly error: unknown }): JSX.Element {
  if (!(error instanceof FormError)) return <ErrorBox error={error} />;
  return (
    <Empty icon="edit" title={error.message}>
      <p>{error.hint}</p>
    </Empty>
  );
}

type ShownProps = LabOutcomeProps & Ran;

function Shown({ lab, form, outcome, onSettings, onRemedyApplied }: ShownProps): JSX.Element {
  const { schema, columns } = lab.facts;
  switch (outcome.kind) {
    case 'results':
      return (
        <>
          <div class="summary">
            <p role="status">
              <strong>{formatRows(outcome.rows.length)}</strong> in {formatMilliseconds(outcome.milliseconds)}
              <span class="muted"> including the network</span>
            </p>
          </div>
          <LabResults rows={outcome.rows} schema={schema} columns={columns} />
        </>
      );
    case 'plan':
      return (
        <PlanOfRun run={outcome.run} table={lab.table} onSettings={onSettings} onRemedyApplied={onRemedyApplied} />
      );
    case 'compare':
      return (
        <ComparePlans first={outcome.first} second={outcome.second}>
          <Findings
            findings={outcome.first.findings}
            recall={outcome.first.recall}
            table={lab.table}
            onSettings={onSettings}
            onRemedyApplied={onRemedyApplied}
          />
        </ComparePlans>
      );
    case 'map':
      return <MapPane lab={lab} form={form} />;
  }
}

interface PlanOfRunProps extends Pick<LabOutcomeProps, 'onSettings' | 'onRemedyApplied'> {
  readonly run: Run;
  readonly table: TablePath;
}

function PlanOfRun({ run, table, onSettings, onRemedyApplied }: PlanOfRunProps): JSX.Element {
  const { plan, recall, findings, text } = run;
  return (
    <div class="plan-and-findings">
      <PlanViews plan={plan} text={text} marked={findings.map(({ step }) => step)}>
        {recall === undefined ? null : (
          <Badge kind={recall >= 0.9 ? 'good' : 'warn'} title="Share of the rows of an exact search that were found">
            recall {formatShare(recall)}
          </Badge>
        )}
      </PlanViews>
      <Findings
        findings={findings}
        recall={recall}
        table={table}
        onSettings={onSettings}
        onRemedyApplied={onRemedyApplied}
      />
    </div>
  );
}
