import type { JSX } from 'preact';
import type { TablePath } from '../../../src/model/identifier.ts';
import type { Remedy } from '../../../src/plans/advice.ts';
import { formatRows, formatShare } from '../../../src/plans/format-figure.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatMilliseconds } from '../parts/format.ts';
import { Badge, Skeleton } from '../parts/states.tsx';
import { ComparePlans } from './plan/compare-plans.tsx';
import { Findings } from './plan/findings.tsx';
import { LabResults } from './lab-results.tsx';
import { PlanViews } from './plan/plan-views.tsx';
import type { Outcome, Run } from './run-lab.ts';

interface LabOutcomeProps {
  readonly outcome: Outcome | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly table: TablePath;
  readonly onSettings: (remedy: Extract<Remedy, { kind: 'set' }>) => void;
  readonly onRemedyApplied: () => void;
}

export function LabOutcome(props: LabOutcomeProps): JSX.Element {
  const { outcome, error, isLoading } = props;
  if (error !== undefined) return <ErrorBox error={error} />;
  if (outcome === undefined) return <Skeleton />;
  return (
    <div class={isLoading ? 'outcome dim' : 'outcome'} aria-busy={isLoading}>
      <Shown {...props} outcome={outcome} />
    </div>
  );
}

type ShownProps = LabOutcomeProps & { readonly outcome: Outcome };

function Shown({ outcome, table, onSettings, onRemedyApplied }: ShownProps): JSX.Element {
  switch (outcome.kind) {
    case 'results':
      return (
        <>
          <div class="summary">
            <p role="status">
              <strong>{formatRows(outcome.rows.length)}</strong> in {formatMilliseconds(outcome.milliseconds)}
              <span class="muted">, the way to the server and back included</span>
            </p>
          </div>
          <LabResults rows={outcome.rows} />
        </>
      );
    case 'plan':
      return <PlanOfRun run={outcome.run} table={table} onSettings={onSettings} onRemedyApplied={onRemedyApplied} />;
    case 'compare':
      return <ComparePlans first={outcome.first} second={outcome.second} />;
  }
}

type PlanOfRunProps = Pick<LabOutcomeProps, 'table' | 'onSettings' | 'onRemedyApplied'> & { readonly run: Run };

function PlanOfRun({ run, table, onSettings, onRemedyApplied }: PlanOfRunProps): JSX.Element {
  const { plan, recall, findings, text } = run;
  return (
    <div class="plan-and-findings">
      <PlanViews plan={plan} text={text} marked={findings.map(({ step }) => step)}>
        {recall === undefined ? null : (
          <Badge kind={recall >= 0.9 ? 'good' : 'warn'} title="Part of the rows of an exact search that were found">
            recall {formatShare(recall)}
          </Badge>
        )}
      </PlanViews>
      <Findings findings={findings} table={table} onSettings={onSettings} onRemedyApplied={onRemedyApplied} />
    </div>
  );
}
