import type { JSX } from 'preact';

interface SparklineProps {
  readonly values: readonly number[];
  readonly width?: number;
  readonly height?: number;
}

/** More points than pixels are joined to the least and the greatest of each step. */
const POINTS_MAX = 96;

export function Sparkline({ values, width = 96, height = 20 }: SparklineProps): JSX.Element {
  const points = thin(values, Math.min(POINTS_MAX, width));
  const low = Math.min(...points);
  const range = Math.max(...points) - low || 1;
  const step = points.length < 2 ? 0 : width / (points.length - 1);
  const path = points
    .map(
      (value, index) =>
        `${(index * step).toFixed(1)},${(height - 1.5 - ((value - low) / range) * (height - 3)).toFixed(1)}`,
    )
    .join(' ');
  return (
    <svg class="sparkline" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <polyline points={path} />
    </svg>
  );
}

function thin(values: readonly number[], most: number): readonly number[] {
  const finite = values.map((value) => (Number.isFinite(value) ? value : 0));
  if (finite.length <= most) return finite;
  const size = Math.ceil((finite.length * 2) / most);
  const groups = Array.from({ length: Math.ceil(finite.length / size) }, (_unused, index) =>
    finite.slice(index * size, (index + 1) * size),
  );
  return groups.flatMap((group) => [Math.min(...group), Math.max(...group)]);
}
