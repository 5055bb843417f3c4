import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TablePath } from '../../../src/model/identifier.ts';
import type { Remedy } from '../../../src/plans/advice.ts';
import { formatRows, formatShare, formatTime } from '../../../src/plans/format-figure.ts';
import { resultRows } from '../../../src/plans/plan-steps.ts';
import { totalTime } from '../../../src/plans/step-times.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatMilliseconds } from '../parts/format.ts';
import { Badge, Skeleton } from '../parts/states.tsx';
import { ComparePlans } from './compare-plans.tsx';
import { Findings } from './findings.tsx';
import { LabResults } from './lab-results.tsx';
import { PlanDrawing } from './plan-drawing.tsx';
import { PlanOutline } from './plan-outline.tsx';
import type { Outcome, Run } from './run-lab.ts';
import { Segments } from './segments.tsx';

interface LabOutcomeProps {
  readonly outcome: Outcome | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly table: TablePath;
  readonly onSettings: (remedy: Extract<Remedy, { kind: 'set' }>) => void;
  readonly onMended: () => void;
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

function Shown({ outcome, table, onSettings, onMended }: ShownProps): JSX.Element {
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
      return <PlanOfRun run={outcome.run} table={table} onSettings={onSettings} onMended={onMended} />;
    case 'compare':
      return <ComparePlans first={outcome.first} second={outcome.second} />;
  }
}

type PlanOfRunProps = Pick<LabOutcomeProps, 'table' | 'onSettings' | 'onMended'> & { readonly run: Run };

const LOOKS = [
  ['drawing', 'Drawing'],
  ['outline', 'Outline'],
  ['text', 'Text'],
] as const;

function PlanOfRun({ run, table, onSettings, onMended }: PlanOfRunProps): JSX.Element {
  const [look, setLook] = useState<'drawing' | 'outline' | 'text'>('drawing');
  const { plan, recall, findings, text } = run;
  return (
    <div class="plan-and-findings">
      <div>
        <div class="summary">
          <p role="status">
            <strong>{formatTime(totalTime(plan))}</strong> for {formatRows(resultRows(plan))}{' '}
            {recall === undefined ? null : (
              <Badge kind={recall >= 0.9 ? 'good' : 'warn'} title="Part of the rows of an exact search that were found">
                recall {formatShare(recall)}
              </Badge>
            )}
          </p>
          <span class="spring" />
          <Segments label="How to show the plan" value={look} options={LOOKS} onChange={setLook} />
        </div>
        {look === 'drawing' ? (
          <PlanDrawing label="Plan" plan={plan} marked={findings.map(({ step }) => step)} first={findings[0]?.step} />
        ) : null}
        {look === 'outline' ? <PlanOutline plan={plan} /> : null}
        {look === 'text' ? <pre class="plan-text">{text}</pre> : null}
      </div>
      <Findings findings={findings} table={table} onSettings={onSettings} onMended={onMended} />
    </div>
  );
}
