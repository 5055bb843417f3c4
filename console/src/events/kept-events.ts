import type { NamespacePath } from '../../../src/model/identifier.ts';
import type { Transaction } from '../../../src/wire/history/transactions.ts';

/** The newest events, and the cursor after them. */
export interface KeptEvents {
  /** Newest first. */
  readonly events: readonly Transaction[];
  readonly cursor: string | undefined;
}

/** Which events are followed. */
export interface Followed {
  readonly server: string;
  readonly database: string;
  /** A table or namespace, with everything below it; empty for the whole database. */
  readonly below: NamespacePath;
}

export const EVENTS_MAX = 200;

const STORED_AS = 'tiltyard-events';

/** For a page reload: the stream continues after the cursor. */
export function keepEvents(followed: Followed, { events, cursor }: KeptEvents): void {
  if (cursor === undefined) return;
  sessionStorage.setItem(STORED_AS, JSON.stringify({ of: nameOf(followed), events, cursor }));
}

export function loadEvents(followed: Followed): KeptEvents | undefined {
  const stored: unknown = JSON.parse(sessionStorage.getItem(STORED_AS) ?? 'null');
  return isKept(stored) && stored.of === nameOf(followed) ? stored : undefined;
}

function isKept(value: unknown): value is KeptEvents & { readonly of: string } {
  if (typeof value !== 'object' || value === null || !('of' in value) || !('cursor' in value)) return false;
  return typeof value.cursor === 'string' && 'events' in value && Array.isArray(value.events);
}

function nameOf({ server, database, below }: Followed): string {
  return JSON.stringify([server, database, below]);
}

/** Adds events that arrived, oldest first, without duplicates. */
export function addEvents(kept: KeptEvents, { events, cursor }: KeptEvents): KeptEvents {
  const known = new Set(kept.events.map((event) => event.transaction_id));
  const added = events.filter((event) => !known.has(event.transaction_id));
  const all = added.length === 0 ? kept.events : [...added.toReversed(), ...kept.events].slice(0, EVENTS_MAX);
  return { events: all, cursor };
}
