import type { CommitEntry } from '../catalog/catalog.ts';
import type { RequestFacts } from './operation.ts';

/** The record of a change of names, which makes no version. */
export function toNameEntry({ caller, requestId }: RequestFacts, operation: string): CommitEntry {
  return { operation, caller: caller.id, requestId, version: 0 };
}
