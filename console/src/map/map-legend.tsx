import type { JSX } from 'preact';
import { formatCount } from '../parts/format.ts';
import type { Legend } from './colouring.ts';

interface MapLegendProps {
  readonly title: string;
  readonly legend: Legend;
}

export function MapLegend({ title, legend }: MapLegendProps): JSX.Element {
  return (
    <div class="map-legend" role="group" aria-label={`Colours of ${title}`}>
      <strong>{title}</strong>
      {legend.kind === 'categories' ? (
        <ul>
          {legend.items.map(({ label, colour, count }) => (
            <li key={label}>
              <span class="swatch" style={{ background: colour }} />
              {label} <span class="muted">{formatCount(count)}</span>
            </li>
          ))}
        </ul>
      ) : (
        <div class="range">
          <span>{legend.low}</span>
          <span class="ramp" style={{ background: `linear-gradient(to right, ${legend.colours.join(', ')})` }} />
          <span>{legend.high}</span>
        </div>
      )}
    </div>
  );
}
