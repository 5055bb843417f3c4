import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toItems } from '../sample-tables.ts';
import { latest, openApart, openTestEngine, toStream } from '../test-engine.ts';
import { countNames } from '../watched-native.ts';

test('a diff names no columns to the engine when it reads all of them, and has the rows as if it named each', async (t) => {
  const { native, counts } = countNames();
  const { engine, location } = await openTestEngine(t, {}, native);
  await engine.createTable(location(), await toStream(toItems(20)), {});
  const table = await openApart(t, latest(location()));
  await table.delete('id = 3');
  await table.update('id = 4', [['score', '100']]);
  const { fields } = (await engine.describeTable(latest(location()))).schema;
  await table.addColumns([{ name: 'twice', valueSql: 'score * 2' }]);

  const bounds = { on: ['id'], limit: 10, rowsMax: 1000, shownCharactersMax: 1_000_000 };
  const timeout = { seconds: undefined, signal: () => new AbortController().signal };
  const diff = async (version: number, columns?: readonly string[]) => {
    counts.length = 0;
    const [from, to] = [1, version].map((each) => ({ ...latest(location()), version: each }));
    assert.ok(from !== undefined && to !== undefined);
    const { rows, counts: changes } = await engine.rows.diff({ ...bounds, from, to, columns }, timeout);
    return { changes, rows };
  };
  // Without those of the addresses of rows.
  const namings = () => counts.filter((count) => count > 1);
  const names = fields.map(({ name }) => name);
  const all = await diff(3);
  assert.deepEqual(namings(), []);
  assert.deepEqual(all.changes, { added: 0, removed: 1, changed: 1 });
  assert.deepEqual(Object.keys(JSON.parse(all.rows[0]?.before ?? '')), names);
  const some = await diff(3, ['score', 'id']);
  assert.deepEqual(new Set(namings()), new Set([2]));
  assert.deepEqual(some.changes, all.changes);
  const named = await diff(3, names.toReversed());
  assert.deepEqual(named, all);

  const widened = await diff(4);
  assert.deepEqual(new Set(namings()), new Set([names.length]));
  assert.deepEqual(widened.changes, all.changes);
  assert.deepEqual(
    widened.rows.map(({ before }) => before),
    all.rows.map(({ before }) => before),
  );
  assert.equal(JSON.parse(widened.rows[1]?.after ?? '').twice, 200);
});
