import type { JSX } from 'preact';

/** On a 16-pixel grid, with 1.5-pixel strokes. */
const SHAPES = {
  add: 'M8 3v10M3 8h10',
  branch:
    'M5 4.5v7M5 4.5a1.5 1.5 0 1 0 0-.01M5 13a1.5 1.5 0 1 0 0-.01M11.5 6a1.5 1.5 0 1 0 0-.01M11.5 7.5C11.5 10 5 8.5 5 11.4',
  chart: 'M2.5 13.5h11M3.5 11 6.5 7l2.5 2.5 4-5.5',
  check: 'M3 8.5 6.5 12 13 4.5',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M6 6h7v7H6zM3.5 10H3V3h7v.5',
  database: 'M3 4.5c0-3 10-3 10 0s-10 3-10 0v7c0 3 10 3 10 0v-7M3 8c0 3 10 3 10 0',
  down: 'M4 6l4 4 4-4',
  download: 'M8 2.5v7.5M4.5 7 8 10.5 11.5 7M3 13.5h10',
  edit: 'M3 13l.6-3L10.5 3.1l2.4 2.4L6 12.4z',
  filter: 'M2.5 3.5h11L9.5 8.5V13l-3-1.5v-3z',
  flask: 'M6.5 2.5v4L3 12.5a.7.7 0 0 0 .6 1h8.8a.7.7 0 0 0 .6-1L9.5 6.5v-4M5.5 2.5h5M4.6 10h6.8',
  folder: 'M2 4.5V12.5h12V5.5H8L6.5 3.5H2z',
  help: 'M6 6.3C6 3.4 10.2 3.6 10.2 6.2 10.2 8 8.1 8 8.1 9.7M8.1 12v.1',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.5V11M8 5v.1',
  key: 'M10.5 8.5a3 3 0 1 0-3-3c0 .4.1.7.2 1L2.5 11.8v1.7h2v-1.4h1.6v-1.5l2.2-2.2c.6.3 1.4.1 2.2.1zM11.3 4.8v.1',
  left: 'M10 4 6 8l4 4',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  moon: 'M13 9.5A5.5 5.5 0 1 1 6.5 3 4.5 4.5 0 0 0 13 9.5z',
  minus: 'M3 8h10',
  more: 'M3.5 8v.1M8 8v.1M12.5 8v.1',
  node: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5v.1M5 11v.1',
  out: 'M9.5 3H3v10h6.5M7 8h6.5M11 5.5 13.5 8 11 10.5',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.5v9L12.5 8z',
  refresh: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5V5h-2.5',
  right: 'M6 4l4 4-4 4',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14',
  sun: 'M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7',
  system: 'M2.5 3h11v7.5h-11zM5.5 13.5h5M8 10.5v3',
  table: 'M2.5 3h11v10h-11zM2.5 6.5h11M6.5 6.5V13',
  tag: 'M2.5 2.5H8L13.5 8 8 13.5 2.5 8zM5.3 5.3v.1',
  trash: 'M3 4.5h10M6 4.5v-2h4v2M4.5 4.5 5 13.5h6l.5-9',
  up: 'M4 10l4-4 4 4',
  upload: 'M8 10.5V3M4.5 6 8 2.5 11.5 6M3 13.5h10',
  user: 'M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8zM2.5 13.5c.6-2.5 2.8-3.7 5.5-3.7s4.9 1.2 5.5 3.7',
  warning: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.9v.1',
} as const;

export type IconName = keyof typeof SHAPES;

interface IconProps {
  readonly name: IconName;
  readonly class?: string;
}

/** Hidden from screen readers: always next to text or in a labeled control. */
export function Icon({ name, class: extra = '' }: IconProps): JSX.Element {
  return (
    <svg class={`icon ${extra}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={SHAPES[name]} />
    </svg>
  );
}
