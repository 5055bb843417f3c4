import type { JSX } from 'preact';
import type { PlanStep } from '../../../src/model/query.ts';
import { formatBytes, formatCount, formatShare, formatTime } from '../../../src/plans/format-figure.ts';
import { figureOf, placeSteps, wordsOfStep, ownTimes, timeShares } from '../../../src/plans/plan-steps.ts';
import { Heads, right } from '../parts/heads.tsx';

/** The same plan as a table, for those who read it rather than look at it. */
export function PlanOutline({ plan }: { readonly plan: PlanStep }): JSX.Element {
  const times = ownTimes(plan);
  const shares = timeShares(plan);
  return (
    <table class="outline">
      <caption class="hidden">Steps of the plan; a step stands above those that it takes its rows from</caption>
      <Heads heads={['Step', right('Time'), right('Share'), right('Rows out'), right('Read'), right('Reads')]} />
      <tbody>
        {placeSteps(plan).map(({ index, depth, step }) => (
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
