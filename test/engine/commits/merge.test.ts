import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field, Int32, Int64, Schema, Struct, Table, Utf8, vectorFromArray } from 'apache-arrow';
import type { Engine, MergeRequest } from '../../../src/engine/engine.ts';
import type { TableState } from '../../../src/model/table.ts';
import { refusal } from '../../support/refusal.ts';
import { commitPlan, openApart, openTable, readRows, sql, toChunk, toStream } from '../test-engine.ts';
import type { Row } from '../test-engine.ts';
import type { Owner } from '../../support/temporary-folder.ts';
import { optional, toTable } from '../sample-tables.ts';
import { loadNative } from '../../../src/engine/native/native.ts';

const { Index } = loadNative();

const POINT = new Struct([optional('x', new Int32())]);
const UPSERT: MergeRequest = {
  on: [['id']],
  updateMatched: true,
  updateFilter: undefined,
  insertNew: true,
  deleteOthers: false,
  deleteFilter: undefined,
  useIndex: true,
  deadline: undefined,
};

/** Three rows, the second with a null struct. */
function toBase(): Table {
  return toTable({
    id: [new Int32(), [1, 2, 3]],
    name: [new Utf8(), ['a', 'b', 'c']],
    point: [POINT, [{ x: 1 }, null, { x: 3 }]],
  });
}

function toRows(ids: readonly (number | null)[], names: readonly string[]): Table {
  return toTable({
    id: [new Int32(), ids],
    name: [new Utf8(), names],
    point: [POINT, ids.map((id) => (id === 4 ? { x: 4 } : null))],
  });
}

async function mergeInto(engine: Engine, table: TableState, source: Table, request: Partial<MergeRequest> = {}) {
  const stream = await toStream(source);
  const plan = engine.commits.merge({ schema: stream.schema, chunk: await toChunk(stream) }, { ...UPSERT, ...request });
  return commitPlan(engine, table, plan);
}

interface Merged {
  readonly rows: readonly Row[];
  readonly counts: readonly number[];
}

/** What the table holds after the merge, in the order of `id`, and how many rows were inserted, updated and deleted. */
async function merge(t: Owner, source: Table, request: Partial<MergeRequest> = {}, isIndexed = false): Promise<Merged> {
  const { engine, table } = await openTable(t, toBase());
  if (isIndexed) await (await openApart(t, table)).createIndex(Index.btree(), 'id');
  const { rowsInserted, rowsUpdated, rowsDeleted } = await mergeInto(engine, table, source, request);
  const rows = await readRows(t, table);
  return {
    rows: rows.toSorted((one, other) => Number(one['id'] ?? 99) - Number(other['id'] ?? 99)),
    counts: [rowsInserted, rowsUpdated, rowsDeleted],
  };
}

for (const isIndexed of [false, true]) {
  const how = isIndexed ? 'with an index on the key' : 'without an index';

  test(`updates rows that match and inserts the others, ${how}`, async (t) => {
    const { rows, counts } = await merge(t, toRows([2, 4], ['B', 'D']), {}, isIndexed);
    assert.deepEqual(rows, [
      { id: 1, name: 'a', point: { x: 1 } },
      { id: 2, name: 'B', point: null },
      { id: 3, name: 'c', point: { x: 3 } },
      { id: 4, name: 'D', point: { x: 4 } },
    ]);
    assert.deepEqual(counts, [1, 1, 0]);
  });

  test(`inserts every row whose key is null, ${how}`, async (t) => {
    const { rows, counts } = await merge(t, toRows([null, 2, null], ['N', 'B', 'M']), {}, isIndexed);
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['a', 'B', 'c', 'N', 'M'],
    );
    assert.deepEqual(counts, [2, 1, 0]);
  });

  test(`columns in another order are counted right, ${how}`, async (t) => {
    const source = toTable({ name: [new Utf8(), ['B', 'D']], point: [POINT, [null, null]], id: [new Int32(), [2, 4]] });
    const { rows, counts } = await merge(t, source, {}, isIndexed);
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['a', 'B', 'c', 'D'],
    );
    assert.deepEqual(counts, [1, 1, 0]);
  });

  test(`columns that are left out keep their values, ${how}`, async (t) => {
    const source = toTable({ id: [new Int32(), [1, 4]], name: [new Utf8(), ['A', 'D']] });
    const { rows } = await merge(t, source, { updateFilter: sql("target.name = 'a'") }, isIndexed);
    assert.deepEqual(rows[0], { id: 1, name: 'A', point: { x: 1 } });
    assert.deepEqual(rows[3], { id: 4, name: 'D', point: null });
  });

  test(`refuses two rows for one row of the table, ${how}`, async (t) => {
    await assert.rejects(merge(t, toRows([2, 2], ['B', 'C']), {}, isIndexed), refusal('InvalidInput', /each key once/));
  });
}

test('inserts new rows only, and keeps matching rows', async (t) => {
  const { rows, counts } = await merge(t, toRows([2, 4], ['B', 'D']), { updateMatched: false });
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['a', 'b', 'c', 'D'],
  );
  assert.deepEqual(counts, [1, 0, 0]);
});

test('updates matching rows only, and drops new rows', async (t) => {
  const { rows } = await merge(t, toRows([2, 4], ['B', 'D']), { insertNew: false });
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['a', 'B', 'c'],
  );
});

test('a filter of the update sees the row of the table and the row that was sent', async (t) => {
  const updateFilter = sql("target.name = 'b' AND source.name = 'B'");
  const { counts } = await merge(t, toRows([2, 3], ['B', 'C']), { updateFilter });
  assert.deepEqual(counts, [0, 1, 0]);
});

test('deletes the rows of the table that were not sent', async (t) => {
  const { rows, counts } = await merge(t, toRows([2], ['B']), { deleteOthers: true });
  assert.deepEqual(rows, [{ id: 2, name: 'B', point: null }]);
  assert.deepEqual(counts, [0, 1, 2]);
});

test('of the rows that were not sent, a filter chooses those to delete', async (t) => {
  const { rows } = await merge(t, toRows([2], ['B']), { deleteOthers: true, deleteFilter: sql('id > 2') });
  assert.deepEqual(
    rows.map(({ id }) => id),
    [1, 2],
  );
});

test('matches on several columns', async (t) => {
  const { counts } = await merge(t, toRows([2, 3], ['b', 'other']), { on: [['id'], ['name']] });
  assert.deepEqual(counts, [1, 1, 0]);
});

const REFUSALS: Readonly<
  Record<
    string,
    readonly [kind: Parameters<typeof refusal>[0], words: RegExp, source: Table, request: Partial<MergeRequest>]
  >
> = {
  'a key that the table lacks': ['TableColumnNotFound', /"key"/, toRows([1], ['A']), { on: [['key']] }],
  'a nested key': ['InvalidInput', /nested field "point\.x"/, toRows([1], ['A']), { on: [['point', 'x']] }],
  'rows without their key': ['TableSchemaValidationError', /"id"/, toTable({ name: [new Utf8(), ['A']] }), {}],
  'a column that the table lacks': [
    'TableSchemaValidationError',
    /"extra"/,
    toTable({ id: [new Int32(), [1]], extra: [new Int32(), [1]] }),
    { insertNew: false },
  ],
  'a column of another type': [
    'TableSchemaValidationError',
    /"id".*int64.*int32/,
    toTable({ id: [new Int64(), [1n]], name: [new Utf8(), ['A']], point: [POINT, [null]] }),
    {},
  ],
  'a filter of columns that say not whose they are': [
    'InvalidInput',
    /"name".*target\./,
    toRows([1], ['A']),
    { updateFilter: sql("name = 'a'") },
  ],
  'a filter of the update with an unknown column': [
    'TableColumnNotFound',
    /target\.nothing/,
    toRows([1], ['A']),
    { updateFilter: sql('target.nothing = 1') },
  ],
  'a filter of the delete with an unknown column': [
    'TableColumnNotFound',
    /nothing/,
    toRows([1], ['A']),
    { deleteOthers: true, deleteFilter: sql('nothing = 1') },
  ],
  'a merge whose time is over': [
    'RequestTimeout',
    /did not start/,
    toRows([1], ['A']),
    { deadline: performance.now() },
  ],
};

for (const [name, [kind, words, source, request]] of Object.entries(REFUSALS)) {
  test(`refuses ${name}, and changes nothing`, async (t) => {
    const { engine, table } = await openTable(t, toBase());
    await assert.rejects(mergeInto(engine, table, source, request), refusal(kind, words));
    assert.equal((await engine.describeTable(table)).version, 1);
  });
}

test('rows that are to be inserted need every column that may not be null; rows to update do not', async (t) => {
  const schema = new Schema([new Field('id', new Int32(), true), new Field('name', new Utf8(), false)]);
  const columns = { id: vectorFromArray([1], new Int32()), name: vectorFromArray(['a'], new Utf8()) };
  const { engine, table } = await openTable(t, new Table(schema, columns));
  const source = toTable({ id: [new Int32(), [1]] });
  await assert.rejects(mergeInto(engine, table, source), refusal('TableSchemaValidationError', /"name" is missing/));
  await mergeInto(engine, table, source, { insertNew: false });
  assert.deepEqual(await readRows(t, table), [{ id: 1, name: 'a' }]);
});

test('merges into a branch do not change the main one', async (t) => {
  const { engine, table } = await openTable(t, toBase());
  await (await (await openApart(t, table)).branches()).create('trial');
  await mergeInto(engine, { ...table, branch: 'trial' }, toRows([4], ['D']));
  assert.equal((await readRows(t, { ...table, branch: 'trial' })).length, 4);
  assert.equal((await readRows(t, table)).length, 3);
});
