import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { LookupCaches } from '../../src/catalog/lookup-cache.ts';

function source(entriesMax: number) {
  const state = { changeCounter: 0, generation: 'a', checks: 0, generationReads: 0, loads: [] as string[] };
  const caches = new LookupCaches({
    readChangeCounter: async () => {
      state.checks += 1;
      return state.changeCounter;
    },
    readChanges: async () => {
      state.generationReads += 1;
      return { generation: state.generation, heads: [], isComplete: true };
    },
    heads: undefined,
    entriesMax,
  });
  const cache = caches.create<string>();
  const find = async (key: string): Promise<string | undefined> =>
    cache.find(key, async () => {
      state.loads.push(key);
      return `value of ${key}`;
    });
  return { state, caches, cache, find };
}

test('loads a result once', async () => {
  const { state, find } = source(10);
  assert.equal(await find('x'), 'value of x');
  assert.equal(await find('x'), 'value of x');
  assert.deepEqual(state.loads, ['x']);
});

test('reads the generation only when another connection has committed', async () => {
  const { state, find } = source(10);
  await find('x');
  await find('x');
  assert.equal(state.generationReads, 1);
  state.changeCounter += 1;
  await turn();
  await find('x');
  await find('x');
  assert.equal(state.generationReads, 2);
});

test('keeps results over a commit that leaves the generation', async () => {
  const { state, find } = source(10);
  await find('x');
  state.changeCounter += 1;
  await turn();
  await find('x');
  assert.deepEqual(state.loads, ['x']);
});

test('drops the results of all caches with a new generation', async () => {
  const { state, caches, find } = source(10);
  const other = caches.create<number>();
  let value = 1;
  assert.equal(await other.find('y', async () => value), 1);
  await find('x');
  value = 2;
  state.generation = 'b';
  state.changeCounter += 1;
  await turn();
  await find('x');
  assert.deepEqual(state.loads, ['x', 'x']);
  assert.equal(await other.find('y', async () => value), 2);
});

test('drops the least recently used result past the bound', async () => {
  const { state, find } = source(2);
  for (const key of ['x', 'y', 'x', 'z', 'x', 'y']) await find(key);
  assert.deepEqual(state.loads, ['x', 'y', 'z', 'y']);
});

test('does not keep absence', async () => {
  const { cache } = source(10);
  assert.equal(await cache.find('x', async () => undefined), undefined);
  assert.equal(await cache.find('x', async () => 'there'), 'there');
});

test('does not keep what was loaded before a change and arrives after it', async () => {
  const { state, cache, find } = source(10);
  const arrival = new EventEmitter();
  const early = cache.find('x', async () => {
    await once(arrival, 'old');
    return 'old';
  });
  await turn();
  state.generation = 'b';
  state.changeCounter += 1;
  await turn();
  await find('y');
  arrival.emit('old');
  assert.equal(await early, 'old');
  assert.equal(await find('x'), 'value of x');
});

test('lookups that overlap the reading of a new generation do not use old results', async () => {
  const { state, cache } = source(10);
  await cache.find('x', async () => 'old');
  state.generation = 'b';
  state.changeCounter += 1;
  await turn();
  const lookups = Array.from({ length: 5 }, async () => cache.find('x', async () => 'new'));
  assert.deepEqual(await Promise.all(lookups), ['new', 'new', 'new', 'new', 'new']);
});

test('lookups that follow one another without waiting share one check', async () => {
  const { state, find } = source(10);
  await find('x');
  await find('y');
  await find('x');
  assert.equal(state.checks, 1);
  await turn();
  await find('x');
  assert.equal(state.checks, 2);
});

test('clears the caches after a transaction of this process, within the same turn too', async () => {
  const { state, caches, find } = source(10);
  await find('x');
  caches.clear();
  await find('x');
  assert.deepEqual(state.loads, ['x', 'x']);
});

test('does not keep what was loaded before a transaction of this process and arrives after it', async () => {
  const { caches, cache, find } = source(10);
  const arrival = new EventEmitter();
  const early = cache.find('x', async () => {
    await once(arrival, 'old');
    return 'old';
  });
  await turn();
  caches.clear();
  arrival.emit('old');
  assert.equal(await early, 'old');
  assert.equal(await find('x'), 'value of x');
});

test('notices a commit of another process that came before one of this process', async () => {
  const { state, caches, cache } = source(10);
  await cache.find('x', async () => 'old');
  caches.clear();
  await cache.find('x', async () => 'own');
  state.generation = 'b';
  state.changeCounter += 1;
  await turn();
  assert.equal(await cache.find('x', async () => 'new'), 'new');
  await turn();
  assert.equal(await cache.find('x', async () => 'again'), 'new');
});

test('keeps nothing of a lookup that failed', async () => {
  const { cache } = source(10);
  await assert.rejects(
    cache.find('x', async () => {
      throw new Error('away');
    }),
    /away/,
  );
  assert.equal(await cache.find('x', async () => 'there'), 'there');
});

async function turn(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}
