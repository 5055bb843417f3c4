import type { JSX } from 'preact';
import type { Chart, Line } from './charts.ts';

const WIDTH = 340;
const HEIGHT = 96;

interface LineChartProps {
  readonly chart: Chart;
  /** The number of values across the width. */
  readonly capacity: number;
}

/** The newest value is at the right. The text below has the same figures. */
export function LineChart({ chart, capacity }: LineChartProps): JSX.Element {
  const { title, lines, format } = chart;
  const known = lines.flatMap(({ values }) => values).filter((value) => value !== undefined);
  const top = Math.max(...known, 0) || 1;
  return (
    <figure class="chart card">
      <figcaption>
        <h2>{title}</h2>
        <span class="muted">up to {format(known.length === 0 ? 0 : Math.max(...known))}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {[0.25, 0.5, 0.75].map((part) => (
          <line key={part} class="rule" x1={0} x2={WIDTH} y1={HEIGHT * part} y2={HEIGHT * part} />
        ))}
        {lines.map((line, index) => (
          <path
            key={line.label}
            class={`line ${line.look}${index === 0 ? ' first' : ''}`}
            d={toPath(line, capacity, top)}
          />
        ))}
      </svg>
      <dl>
        {lines.map(({ label, look, values }) => {
          const last = values.findLast((value) => value !== undefined);
          return (
            <div key={label}>
              <dt class={look}>{label}</dt>
              <dd>{last === undefined ? '–' : format(last)}</dd>
            </div>
          );
        })}
      </dl>
    </figure>
  );
}

function toPath({ values }: Line, capacity: number, top: number): string {
  const step = WIDTH / Math.max(1, capacity - 1);
  const first = WIDTH - step * (values.length - 1);
  let isOpen = false;
  const parts = values.map((value, index) => {
    if (value === undefined) {
      isOpen = false;
      return '';
    }
    const word = isOpen ? 'L' : 'M';
    isOpen = true;
    const y = HEIGHT - 3 - (value / top) * (HEIGHT - 8);
    return `${word}${(first + index * step).toFixed(1)} ${y.toFixed(1)}`;
  });
  return parts.join('');
}
