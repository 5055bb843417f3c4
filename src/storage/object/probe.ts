import { randomUUID } from 'node:crypto';
import { storeMisconfigured } from './object-store.ts';
import type { ObjectStore } from './object-store.ts';
import { joinKey } from './address.ts';

const ROUNDS = 3;
const RACERS = 4;

/**
 * Refuses a store whose conditional writes are not atomic: the commits of two writers would replace each other, and the
 * engine could not detect it. Needs no other permissions than the service.
 */
export async function probeConditionalWrites(store: ObjectStore, path: string): Promise<void> {
  const id = randomUUID();
  const keys: string[] = [];
  const toKey = (name: string): string => {
    const key = joinKey(path, `tiltyard-probe-${id}-${name}`);
    keys.push(key);
    return key;
  };
  try {
    await probeTwice(store, toKey('twice'));
    for (let round = 0; round < ROUNDS; round += 1) await probeRace(store, toKey(`race-${round}`));
  } finally {
    // Small files that nothing reads: failing to remove them is harmless.
    await store.remove(keys).catch(() => {});
  }
}

async function probeTwice(store: ObjectStore, key: string): Promise<void> {
  const isFirst = await store.putIfAbsent(key, Buffer.from('first'));
  const isSecond = await store.putIfAbsent(key, Buffer.from('second'));
  const content = (await store.get(key))?.toString();
  if (!isFirst || isSecond || content !== 'first') throw unsafe(store, 'it overwrote an object that existed');
}

async function probeRace(store: ObjectStore, key: string): Promise<void> {
  const racers = Array.from({ length: RACERS }, (_, index) => Buffer.from(`racer ${index}`));
  const wins = await Promise.all(racers.map(async (racer) => store.putIfAbsent(key, racer)));
  const winners = racers.filter((_, index) => wins[index]);
  const content = await store.get(key);
  const isFair = winners.length === 1 && content !== undefined && winners[0]?.equals(content) === true;
  if (!isFair) throw unsafe(store, `${winners.length} of ${RACERS} simultaneous writers of one object succeeded`);
}

function unsafe(store: ObjectStore, reason: string) {
  return storeMisconfigured(
    `The object store ${store.name} cannot store tables: its conditional writes (If-None-Match) are not atomic; ${reason}.`,
    'Use a store with atomic conditional writes, or a newer release of this one.',
  );
}
