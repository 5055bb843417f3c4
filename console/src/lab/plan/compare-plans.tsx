import type { ComponentChildren, JSX } from 'preact';
import { formatBytes, formatCount, formatShare, formatTime } from '../../../../src/plans/format-figure.ts';
import { comparePlans } from '../../../../src/plans/compare-plans.ts';
import type { Pair, StepPair } from '../../../../src/plans/compare-plans.ts';
import { wordsOfStep } from '../../../../src/plans/plan-steps.ts';
import { Heads, hidden, right } from '../../parts/grid/pager.tsx';
import { PlanDrawing } from './plan-drawing.tsx';
import type { Run } from '../run-lab.ts';

interface CompareProps {
  readonly first: Run;
  readonly second: Run;
  /** Shown between the figures and the drawings. */
  readonly children: ComponentChildren;
}

/** Two plans side by side, with costs and recall. */
export function ComparePlans({ first, second, children }: CompareProps): JSX.Element {
  const compared = comparePlans(first.plan, second.plan);
  return (
    <div class="compare">
      <div class="scrolled" tabIndex={0}>
        <table class="compare-figures" aria-label="What the two plans cost">
          <Heads heads={[hidden('Figure'), `A: ${first.title}`, `B: ${second.title}`, 'B to A']} />
          <tbody>
            <Line name="Time" pair={compared.time} format={formatTime} isLessBetter />
            <Line name="Read" pair={compared.bytesRead} format={formatBytes} isLessBetter />
            <Line name="Reads" pair={compared.reads} format={formatCount} isLessBetter />
            <Line name="Rows read" pair={compared.rowsRead} format={formatCount} isLessBetter />
            <Line name="Rows found" pair={compared.rows} format={formatCount} />
            {first.recall === undefined && second.recall === undefined ? null : (
              <tr>
                <th scope="row">Recall against exact</th>
                <td>{formatRecall(first.recall)}</td>
                <td>{formatRecall(second.recall)}</td>
                <td />
              </tr>
            )}
          </tbody>
        </table>
      </div>
      {children}
      <div class="sides">
        {[first, second].map((run, index) => (
          <section key={index}>
            <h2>
              {index === 0 ? 'A' : 'B'}: {run.title}
            </h2>
            <PlanDrawing label={`Plan ${index === 0 ? 'A' : 'B'}`} plan={run.plan} />
          </section>
        ))}
      </div>
      <StepPairs steps={compared.steps} />
    </div>
  );
}

function StepPairs({ steps }: { readonly steps: readonly StepPair[] }): JSX.Element {
  return (
    <details>
      <summary>Step by step</summary>
      <div class="scrolled" tabIndex={0}>
        <table class="outline" aria-label="Steps of both plans">
          <Heads heads={['Step', right('Time A'), right('Time B'), right('Rows A'), right('Rows B')]} />
          <tbody>
            {steps.map(({ depth, first: one, second: other, time, rows }, index) => {
              const step = one ?? other;
              return (
                <tr key={index}>
                  <th scope="row">
                    <span style={{ paddingLeft: `${Math.min(depth, 24) * 14}px` }}>
                      {step === undefined ? '' : wordsOfStep(step)}
                    </span>{' '}
                    <code class="muted">{step?.operator}</code>
                  </th>
                  <td class="right">{one === undefined ? '–' : formatTime(time.first)}</td>
                  <td class="right">{other === undefined ? '–' : formatTime(time.second)}</td>
                  <td class="right">{one === undefined ? '–' : formatCount(rows.first)}</td>
                  <td class="right">{other === undefined ? '–' : formatCount(rows.second)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}

interface LineProps {
  readonly name: string;
  readonly pair: Pair;
  readonly format: (value: number) => string;
  readonly isLessBetter?: boolean;
}

function Line({ name, pair, format, isLessBetter = false }: LineProps): JSX.Element {
  const { ratio } = pair;
  const look = !isLessBetter || ratio === undefined || (ratio > 0.9 && ratio < 1.1) ? '' : ratio < 1 ? 'good' : 'bad';
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{format(pair.first)}</td>
      <td>{format(pair.second)}</td>
      <td class={`ratio ${look}`}>{ratio === undefined ? '–' : `× ${Number(ratio.toPrecision(3))}`}</td>
    </tr>
  );
}

function formatRecall(recall: number | undefined): string {
  return recall === undefined ? '–' : formatShare(recall);
}
