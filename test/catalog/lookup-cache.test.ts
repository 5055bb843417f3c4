import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { LookupCaches } from '../../src/catalog/lookup-cache.ts';
import { MiB } from '../../src/model/limits.ts';

function source(bytesMax = MiB) {
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
    bytesMax,
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
  const { state, find } = source();
  assert.equal(await find('x'), 'value of x');
  assert.equal(await find('x'), 'value of x');
  assert.deepEqual(state.loads, ['x']);
});

test('reads the generation only when another connection has committed', async () => {
  const { state, find } = source();
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
  const { state, find } = source();
  await find('x');
  state.changeCounter += 1;
  await turn();
  await find('x');
  assert.deepEqual(state.loads, ['x']);
});

test('drops the results of all caches with a new generation', async () => {
  const { state, caches, find } = source();
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

test('drops the least recently used results, of any kind, past the bytes that they may have together', async () => {
  const { caches } = source(MiB);
  const [texts, records] = [caches.create<string>(), caches.create<object>()];
  const loads: string[] = [];
  const text = 'x'.repeat(MiB / 5);
  const load = async <Value>(kind: string, key: string, value: Value): Promise<Value> => {
    loads.push(`${kind} ${key}`);
    return value;
  };
  const findText = async (key: string) => texts.find(key, async () => load('text', key, text));
  const findRecord = async (key: string) =>
    records.find(key, async () => load('record', key, { properties: { [text]: ['', 1, null] } }));
  assert.equal(await findText('a'), text);
  await findRecord('a');
  assert.equal(await findText('a'), text);
  await findRecord('b');
  await findText('a');
  await findRecord('a');
  assert.deepEqual(loads, ['text a', 'record a', 'record b', 'record a']);
});

test('does not keep a result that is larger than all of them may be', async () => {
  const { caches, state, find } = source(MiB);
  await find('x');
  await caches.create<string>().find('large', async () => 'x'.repeat(MiB));
  await find('x');
  assert.deepEqual([state.loads, caches.counts().entries], [['x'], 1]);
});

test('does not keep absence', async () => {
  const { cache } = source();
  assert.equal(await cache.find('x', async () => undefined), undefined);
  assert.equal(await cache.find('x', async () => 'there'), 'there');
});

test('does not keep what was loaded before a change and arrives after it', async () => {
  const { state, cache, find } = source();
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
  const { state, cache } = source();
  await cache.find('x', async () => 'old');
  state.generation = 'b';
  state.changeCounter += 1;
  await turn();
  const lookups = Array.from({ length: 5 }, async () => cache.find('x', async () => 'new'));
  assert.deepEqual(await Promise.all(lookups), ['new', 'new', 'new', 'new', 'new']);
});

test('lookups that follow one another without waiting share one check', async () => {
  const { state, find } = source();
  await find('x');
  await find('y');
  await find('x');
  assert.equal(state.checks, 1);
  await turn();
  await find('x');
  assert.equal(state.checks, 2);
});

test('clears the caches after a transaction of this process, within the same turn too', async () => {
  const { state, caches, find } = source();
  await find('x');
  caches.clear();
  await find('x');
  assert.deepEqual(state.loads, ['x', 'x']);
});

test('does not keep what was loaded before a transaction of this process and arrives after it', async () => {
  const { caches, cache, find } = source();
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
  const { state, caches, cache } = source();
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
  const { cache } = source();
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
