import type { Figure } from './campaign.ts';
import type { Scanned } from './leak-scanner.ts';

/** What the process of a campaign is asked for, as JSON in its arguments. */
export interface Order {
  readonly name: string;
  readonly seed: number;
  readonly isShort: boolean;
  /** Share of the full size, for a try. */
  readonly part: number;
  readonly minutesMax: number;
  /** Removed by the one who gave the order. */
  readonly folder: string;
}

/** What it reports while it runs. */
export type Message =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'detail'; readonly text: string }
  | { readonly kind: 'progress'; readonly text: string }
  | { readonly kind: 'scanned'; readonly scanned: Scanned }
  | { readonly kind: 'end'; readonly promise: string; readonly figures: readonly Figure[] };
