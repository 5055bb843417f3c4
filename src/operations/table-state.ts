import { MAIN_BRANCH } from '../model/table.ts';
import type { TableRecord, TableState } from '../model/table.ts';

interface StateRequest {
  readonly branch?: string | undefined;
  readonly version?: number | undefined;
}

/** The state that a reader gets: what it asked for; else the latest, or the one held while a write takes several commits. */
export function toTableState(table: TableRecord, request: StateRequest): TableState {
  const branch = request.branch === MAIN_BRANCH ? undefined : request.branch;
  const held = branch === table.heldBranch ? table.heldVersion : undefined;
  return { location: table.location, branch, version: request.version ?? held };
}
