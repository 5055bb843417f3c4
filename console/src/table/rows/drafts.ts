import type { PendingEdits } from './edit/pending-edits.ts';

export interface Draft {
  readonly edits: PendingEdits;
  /** The version on which the first of them was made. */
  readonly version: number;
}

/** Pending edits, by database, table and branch: they survive commits and visits to other views. */
export const DRAFTS = new Map<string, Draft>();
