import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { PlanStep } from '../../../../src/model/query.ts';
import { formatRows, formatTime, formatBytes, formatCount, formatShare } from '../../../../src/plans/format-figure.ts';
import {
  resultRows,
  totalTime,
  figureOf,
  placeSteps,
  wordsOfStep,
  ownTimes,
  timeShares,
} from '../../../../src/plans/plan-steps.ts';
import { PlanDrawing } from './plan-drawing.tsx';
import { Segments } from '../../parts/forms/field.tsx';
import { Heads, right } from '../../parts/grid/pager.tsx';

interface PlanViewsProps {
  readonly plan: PlanStep;
  /** The engine's own text. */
  readonly text: string;
  /** Steps with findings; the first is selected. */
  readonly marked?: readonly PlanStep[];
  /** Shown after the time. */
  readonly children?: ComponentChildren;
}

const LOOKS = [
  ['drawing', 'Drawing'],
  ['outline', 'Outline'],
  ['text', 'Text'],
] as const;

/** An analyzed plan as a drawing, a table or text. */
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

function PlanOutline({ plan }: { readonly plan: PlanStep }): JSX.Element {
  const times = ownTimes(plan);
  const shares = timeShares(plan);
  return (
    <table class="outline">
      <caption class="hidden">Steps of the plan; each step is above those that it takes its rows from</caption>
      <Heads heads={['Step', right('Time'), right('Share'), right('Rows out'), right('Read'), right('Reads')]} />
      <tbody>
        {placeSteps(plan).map(({ depth, step }, index) => (
          <tr key={index}>
            <th scope="row">
              <span style={{ paddingLeft: `${Math.min(depth, 24) * 14}px` }}>{wordsOfStep(step)}</span>{' '}
              <code class="muted">{step.operator}</code>
            </th>
            <td class="right">{formatTime(times.get(step) ?? 0)}</td>
            <td class="right">{formatShare(shares.get(step) ?? 0)}</td>
            <td class="right">{formatCount(figureOf(step, 'output_rows'))}</td>
            <td class="right">{formatBytes(figureOf(step, 'bytes_read'))}</td>
            <td class="right">{formatCount(figureOf(step, 'iops'))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
