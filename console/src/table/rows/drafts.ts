import type { PendingEdits } from './edit/pending-edits.ts';

export interface Draft {
  readonly edits: PendingEdits;
  /** The version on which the first of them was made. */
  readonly version: number;
}

/** Edits that are not applied, by database, table and branch: they outlive commits and a look at another view. */
export const DRAFTS = new Map<string, Draft>();
