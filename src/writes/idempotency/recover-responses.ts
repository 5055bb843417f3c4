import type { Journal } from '../../catalog/catalog.ts';
import { toReplayed } from './idempotency.ts';
import type { Idempotency } from './idempotency.ts';
import type { PastMarks } from './response-marks.ts';

export interface RecoveryParts {
  readonly journal: Journal;
  readonly idempotency: Idempotency;
  /** What the process before this one has marked; `undefined` when that is not known for certain. */
  readonly past: PastMarks | undefined;
}

/**
 * Of the writes without a key that the process before this one committed, those whose response it never began may be asked
 * for again, once more for the length of the window. Entries of any other generation are older, or their marks are lost:
 * they are new requests when they come again.
 */
export async function recoverResponses({ journal, idempotency, past }: RecoveryParts): Promise<void> {
  const entries = await journal.keyless();
  const kept = entries.filter(
    ({ id, generation }) => generation === past?.generation && past?.marked.has(id) === false,
  );
  const keptIds = new Set(kept.map(({ id }) => id));
  await journal.remove(entries.map(({ id }) => id).filter((id) => !keptIds.has(id)));
  const generation = idempotency.startMarks();
  // Those that are still in doubt have not been answered either.
  const pending = (await journal.pending()).filter(
    (entry) => past !== undefined && entry.key === undefined && entry.generation === past.generation,
  );
  await journal.renew([...keptIds, ...pending.map(({ id }) => id)], generation);
  for (const entry of kept) idempotency.addUnanswered(entry.digest, toReplayed(entry));
}
