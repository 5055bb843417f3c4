import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { PlanStep } from '../../../src/model/query.ts';
import { formatRows, formatTime } from '../../../src/plans/format-figure.ts';
import { resultRows, totalTime } from '../../../src/plans/plan-steps.ts';
import { PlanDrawing } from './plan-drawing.tsx';
import { PlanOutline } from './plan-outline.tsx';
import { Segments } from './segments.tsx';

interface PlanViewsProps {
  readonly plan: PlanStep;
  /** The same as the engine wrote it. */
  readonly text: string;
  /** Steps with findings, of which the first is shown in full. */
  readonly marked?: readonly PlanStep[];
  /** What else is to be said beside the time. */
  readonly children?: ComponentChildren;
}

const LOOKS = [
  ['drawing', 'Drawing'],
  ['outline', 'Outline'],
  ['text', 'Text'],
] as const;

/** An analysis: what it cost in all, and its steps as a drawing, a table or a text. */
export function PlanViews({ plan, text, marked = [], children }: PlanViewsProps): JSX.Element {
  const [look, setLook] = useState<'drawing' | 'outline' | 'text'>('drawing');
  return (
    <div>
      <h2 class="hidden">Plan</h2>
      <div class="summary">
        <p role="status">
          <strong>{formatTime(totalTime(plan))}</strong> for {formatRows(resultRows(plan))} {children}
        </p>
        <span class="spring" />
        <Segments label="How to show the plan" value={look} options={LOOKS} onChange={setLook} />
      </div>
      {look === 'drawing' ? <PlanDrawing label="Plan" plan={plan} marked={marked} first={marked[0]} /> : null}
      {look === 'outline' ? <PlanOutline plan={plan} /> : null}
      {look === 'text' ? <pre class="plan-text">{text}</pre> : null}
    </div>
  );
}
