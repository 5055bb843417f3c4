import type { PendingEdits } from './edit/pending-edits.ts';

/** Edits that are not applied, by database, table, branch and version: they outlive a look at another tab. */
export const DRAFTS = new Map<string, PendingEdits>();
