import { ServiceError } from '../errors/service-error.ts';
import type { Place } from '../model/table.ts';
import type { SyncScope } from '../storage/storage.ts';
import type { Storages } from '../storage/storages.ts';

/**
 * Runs a write, which calls `begin` right before the engine commits, in the queue of the table or beside it. Resolves when
 * all that was committed is durable.
 */
export async function trackSync<Value>(
  storages: Storages,
  place: Place,
  write: (begin: () => Promise<void>) => Promise<Value>,
): Promise<Value> {
  const storage = storages.of(place.root);
  const begun: { scope?: SyncScope } = {};
  try {
    const value = await write(async () => {
      await storage.requireRoot();
      begun.scope = await storage.beginSync(place);
    });
    // A write that shared another's commit has not begun: that one's sync, now or before, covers it.
    begun.scope ??= await storage.beginSync(place).catch(mayBeMade);
    await begun.scope.sync();
    return value;
  } finally {
    begun.scope?.end();
  }
}

function mayBeMade(cause: unknown): never {
  throw new ServiceError('ServiceUnavailable', 'The disk failed to keep the write, which may have been made or not.', {
    cause,
    retryAfterSeconds: 60,
  });
}
