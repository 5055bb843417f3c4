import type { JSX } from 'preact';
import { formatFigure, formatShare, formatTime } from '../../../src/plans/format-figure.ts';
import { wordsOfStep } from '../../../src/plans/plan-steps.ts';
import type { DrawnStep } from './plan-layout.ts';

/** Everything that the engine told of one step. */
export function StepDetails({ drawn }: { readonly drawn: DrawnStep }): JSX.Element {
  const { step, share, nanoseconds } = drawn;
  const figures = Object.entries(step.metrics).filter(([name]) => !/^expr_\d+/.test(name));
  return (
    <section class="step-details" aria-label="The step in full">
      <header>
        <h3>{wordsOfStep(step)}</h3>
        <code>{step.operator}</code>
        <span class="spring" />
        <strong>
          {formatTime(nanoseconds)} · {formatShare(share)}
        </strong>
      </header>
      {step.details === '' ? null : <p class="mono details">{step.details}</p>}
      <dl>
        {figures.map(([name, metric]) => (
          <div key={name}>
            <dt>{name.replaceAll('_', ' ')}</dt>
            <dd title={metric.text}>{formatFigure(metric.value, metric.unit)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
