import type { Figure } from './campaign.ts';
import type { Scanned } from './leak-scanner.ts';

/** The order for a campaign's process, as JSON in its arguments. */
export interface Order {
  readonly name: string;
  readonly seed: number;
  readonly isShort: boolean;
  /** The share of the full size, for a trial run. */
  readonly part: number;
  readonly minutesMax: number;
  /** Removed by the process that gave the order. */
  readonly folder: string;
}

/** What a campaign's process reports while it runs. */
export type Message =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'detail'; readonly text: string }
  | { readonly kind: 'progress'; readonly text: string }
  | { readonly kind: 'scanned'; readonly scanned: Scanned }
  | { readonly kind: 'end'; readonly promise: string; readonly figures: readonly Figure[] };
