import type { JSX } from 'preact';
import type { Chart, Line } from './charts.ts';

const WIDTH = 340;
const HEIGHT = 96;

/** The time that a chart shows, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

interface LineChartProps {
  readonly chart: Chart;
  /** When the values were measured. */
  readonly times: readonly number[];
  readonly span: Span;
}

/** The newest value is on the right. The text below has the same figures. */
export function LineChart({ chart, times, span }: LineChartProps): JSX.Element {
  const { title, lines, format } = chart;
  const known = lines.flatMap(({ values }) => values).filter((value) => value !== null);
  const top = Math.max(...known, 0) || 1;
  return (
    <figure class="chart card">
      <figcaption>
        <h2>{title}</h2>
        <span class="muted">{known.length === 0 ? 'measuring …' : `max ${format(Math.max(...known))}`}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {[0.25, 0.5, 0.75].map((part) => (
          <line key={part} class="rule" x1={0} x2={WIDTH} y1={HEIGHT * part} y2={HEIGHT * part} />
        ))}
        {lines.map((line, index) => (
          <path
            key={line.label}
            class={`line ${line.look}${index === 0 ? ' first' : ''}`}
            d={toPath(line, times, { span, top })}
          />
        ))}
      </svg>
      <dl>
        {lines.map(({ label, look, values }) => {
          const last = values.findLast((value) => value !== null);
          return (
            <div key={label}>
              <dt class={look}>{label}</dt>
              <dd>{last === undefined || last === null ? '–' : format(last)}</dd>
            </div>
          );
        })}
      </dl>
    </figure>
  );
}

interface Scale {
  readonly span: Span;
  readonly top: number;
}

/** Measurements further apart are not joined: the page was closed, hidden or paused. */
const GAP_MILLISECONDS = 25_000;

function toPath({ values }: Line, times: readonly number[], { span: { from, to }, top }: Scale): string {
  let last: number | undefined;
  const parts = values.map((value, index) => {
    const at = times[index] ?? to;
    if (value === null) {
      last = undefined;
      return '';
    }
    const word = last !== undefined && at - last <= GAP_MILLISECONDS ? 'L' : 'M';
    last = at;
    const x = ((at - from) / (to - from)) * WIDTH;
    const y = HEIGHT - 3 - (value / top) * (HEIGHT - 8);
    return `${word}${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  return parts.join('');
}
