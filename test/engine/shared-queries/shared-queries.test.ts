import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Dictionary, Float64, Int32, Int64, Utf8, tableFromIPC } from 'apache-arrow';
import { isRead } from '../../../src/arrow/results/result-framing.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { IndexSpec } from '../../../src/model/index-spec.ts';
import type { Query } from '../../../src/model/query.ts';
import type { TableState } from '../../../src/model/table.ts';
import { eventually } from '../../support/eventually.ts';
import { PERSON, toTable, vectorType } from '../sample-tables.ts';
import { ENGINE_LIMITS, commitPlan, latest, openTestEngine, sql, toChunk, toQuery, toStream } from '../test-engine.ts';
import type { Owner } from '../../support/temporary-folder.ts';

const NO_TIMEOUT = { seconds: undefined, signal: () => new AbortController().signal };
const SHARING = { limits: { ...ENGINE_LIMITS, sharedQueriesMax: 16 } };
const ROWS = 300;
const READS = 12;

type Columns = Parameters<typeof toTable>[0];

/** `part` has each value three times, `half` and `block` each 150 times; every seventh name and every fifth person is null. */
function toColumns(): Columns {
  const ids = Array.from({ length: ROWS }, (_, index) => index);
  return {
    id: [new Int64(), ids.map(BigInt)],
    part: [new Int32(), ids.map((id) => id % 100)],
    half: [new Int32(), ids.map((id) => id % 2)],
    block: [new Int32(), ids.map((id) => Math.floor(id / 150))],
    weight: [new Float64(), ids.map((id) => id / 2)],
    name: [new Utf8(), ids.map((id) => (id % 7 === 0 ? null : `it's ${id}`))],
    tag: [new Dictionary(new Utf8(), new Int32()), ids.map((id) => `tag ${id % 5}`)],
    person: [PERSON, ids.map((id) => (id % 5 === 0 ? null : { age: id, 'nick.name': null, home: null }))],
    vec: [vectorType(4), ids.map((id) => [id % 17, id % 13, id % 7, id / 10])],
  };
}

async function open(owner: Owner, columns: Columns = toColumns(), parallelQueriesMax = 1) {
  const { engine, location } = await openTestEngine(owner, { ...SHARING, parallelQueriesMax });
  await engine.createTable(location(), await toStream(toTable(columns)), {});
  return { engine, table: latest(location()) };
}

/** Its schema and its rows. */
async function read(engine: Engine, table: TableState, query: Partial<Query>): Promise<string> {
  const { head, files } = await engine.rows.query(table, toQuery(query), NO_TIMEOUT);
  const { schema } = tableFromIPC(head);
  const found: Buffer[] = isRead(files) ? [...files] : [];
  if (!isRead(files)) for await (const file of files) found.push(file);
  const rows = found.flatMap((file) => tableFromIPC(file).toArray());
  const toJson = (_name: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);
  const fields = schema.fields.map((field) => [String(field), field.nullable, [...field.metadata]]);
  return JSON.stringify({ fields, metadata: [...schema.metadata], rows }, toJson);
}

/** How many of the reads ran with others; each must give the same as it does by itself. */
async function countShared(engine: Engine, table: TableState, queries: readonly Partial<Query>[]): Promise<number> {
  const alone: string[] = [];
  for (const query of queries) alone.push(await read(engine, table, query));
  const before = engine.counts().sharedQueries;
  assert.deepEqual(await Promise.all(queries.map(async (query) => read(engine, table, query))), alone);
  return engine.counts().sharedQueries - before;
}

const numbers = Array.from({ length: READS }, (_, index) => index);
const vectorAt = (index: number): readonly number[] => [index, 2 * index, index % 3, index / 3];
const paths = (...names: readonly string[]) => ({
  kind: 'names' as const,
  paths: names.map((name) => [name] as const),
});

const SEARCHES: Readonly<Record<string, Partial<Query>>> = {
  'of all columns': { k: 10 },
  'with a filter': { k: 10, filter: sql('part < 50') },
  'with a filter that is applied afterwards': { k: 10, filter: sql('part < 50'), prefilter: false },
  'that find fewer rows than they ask for': { k: 10, filter: sql('id < 3') },
  'that find nothing': { k: 10, filter: sql('id < 0') },
  'of which only some find rows': { k: 5, upperBound: 30 },
  'of some columns': { k: 3, projection: paths('name', '_distance') },
  'of expressions': { k: 3, projection: { kind: 'aliases', columns: [['double', sql('id * 2')]] } },
  'with row ids': { k: 3, withRowId: true },
  'behind the first rows': { k: 3, offset: 2 },
  'by another distance': { k: 7, distanceType: 'cosine' },
};

const INDEX = {
  kind: 'vector',
  distanceType: 'l2',
  partitions: 4,
  targetPartitionSize: undefined,
  subVectors: undefined,
  bits: undefined,
  sampleRate: undefined,
  maxIterations: undefined,
  m: undefined,
  efConstruction: undefined,
} as const;

async function buildIndex(engine: Engine, table: TableState, column: string, spec: IndexSpec): Promise<void> {
  const opened = await engine.indexes.openBuild(table);
  await opened.build({ column: [column], name: `${column}_idx`, replace: true, spec });
  opened.close();
}

suite('concurrent vector searches', () => {
  for (const [title, query] of Object.entries(SEARCHES)) {
    test(`${title} run as one, each with its own result`, async (t) => {
      const { engine, table } = await open(t);
      const searches = numbers.map((index) => ({ ...query, vectors: [vectorAt(index)] }));
      assert.ok((await countShared(engine, table, searches)) > 1);
    });
  }

  for (const type of ['IVF_FLAT', 'IVF_PQ', 'IVF_HNSW_SQ'] as const) {
    test(`run as one with an index of type ${type}`, async (t) => {
      const { engine, table } = await open(t);
      await buildIndex(engine, table, 'vec', { ...INDEX, type });
      const query = { k: 10, probes: { minimum: 2, maximum: 2 }, refineFactor: 3 };
      const searches = numbers.map((index) => ({ ...query, vectors: [vectorAt(index)] }));
      assert.ok((await countShared(engine, table, searches)) > 1);
    });
  }

  test('run by themselves as long as there is a processor for each', async (t) => {
    const { engine, table } = await open(t, toColumns(), READS);
    const searches = numbers.map((index) => ({ k: 3, vectors: [vectorAt(index)] }));
    assert.equal(await countShared(engine, table, searches), 0);
  });

  test('of different kinds never run as one', async (t) => {
    const { engine, table } = await open(t);
    const searches = numbers.map((index) => ({ k: index + 1, vectors: [vectorAt(index)] }));
    assert.equal(await countShared(engine, table, searches), 0);
  });

  test('run separately if the table has the column that would tell their rows apart', async (t) => {
    const { id, vec } = toColumns();
    assert.ok(id !== undefined && vec !== undefined);
    const { engine, table } = await open(t, { Query_Index: id, vec });
    const searches = numbers.map((index) => ({ k: 3, vectors: [vectorAt(index)] }));
    assert.equal(await countShared(engine, table, searches), 0);
  });

  test('with several vectors run by themselves', async (t) => {
    const { engine, table } = await open(t);
    const searches = numbers.map((index) => ({ k: 3, vectors: [vectorAt(index), vectorAt(index + 1)] }));
    await Promise.all(searches.map(async (query) => read(engine, table, query)));
    assert.equal(engine.counts().sharedQueries, 0);
  });

  test('run as one only on the same column, which the length of a vector may choose', async (t) => {
    const { vec } = toColumns();
    assert.ok(vec !== undefined);
    const pairs: Columns[string] = [vectorType(2), vec[1].map((_, row) => [row, row % 9])];
    const { engine, table } = await open(t, { vec, pairs });
    const searches = numbers.map((index) => ({ k: 3, vectors: [vectorAt(index).slice(0, index % 2 === 0 ? 4 : 2)] }));
    assert.ok((await countShared(engine, table, searches)) > 1);
  });

  test('run by themselves once their rows were too large to be held together', async (t) => {
    const { id, vec } = toColumns();
    assert.ok(id !== undefined && vec !== undefined);
    const text: Columns[string] = [new Utf8(), vec[1].map((_, row) => String(row % 10).repeat(60_000))];
    const { engine, table } = await open(t, { id, vec, text });
    const searches = numbers.map((index) => ({ k: 10, vectors: [vectorAt(index)] }));
    assert.equal(await countShared(engine, table, searches), 0);
    const few = numbers.map((index) => ({ k: 1, vectors: [vectorAt(index)] }));
    assert.ok((await countShared(engine, table, few)) > 1);
  });

  test('are refused as they would be by themselves', async (t) => {
    const { engine, table } = await open(t);
    const query = { k: 3, filter: sql('100 / (part - 5) > 0') };
    const searches = numbers.map((index) => ({ ...query, vectors: [vectorAt(index)] }));
    const refusal = async (search: Partial<Query>): Promise<string> => read(engine, table, search).catch(String);
    const alone = await refusal(searches[0] ?? {});
    assert.match(alone, /Error/);
    assert.deepEqual(
      await Promise.all(searches.map(refusal)),
      searches.map(() => alone),
    );
  });

  test('see every commit that was acknowledged before', async (t) => {
    const { half, vec } = toColumns();
    assert.ok(half !== undefined && vec !== undefined);
    const { engine, table } = await open(t, { half, vec });
    const assignments = [{ path: ['half'] as const, expression: sql('half + 2') }];
    let acknowledged = 0;
    let isWriting = true;
    const reading = numbers.map(async (index) => {
      while (isWriting) {
        const least = acknowledged;
        const found = await read(engine, table, { k: 1, vectors: [vectorAt(index)] });
        assert.ok(JSON.parse(found).rows[0].half >= least, found);
      }
    });
    for (let round = 0; round < 30; round += 1) {
      await commitPlan(engine, table, engine.commits.update(table, { assignments, predicate: undefined }));
      acknowledged += 2;
    }
    isWriting = false;
    await Promise.all(reading);
    assert.ok(engine.counts().sharedQueries > 0);
  });
});

const at = (index: number): number => (index * 37) % ROWS;
const byId = (index: number): Partial<Query> => ({ k: 1, filter: sql(`id = ${at(index)}`) });

const LOOKUPS: Readonly<Record<string, (index: number) => Partial<Query>>> = {
  'by a number': byId,
  'by a text': (index) => ({ k: 1, filter: sql(`name = 'it''s ${at(index)}'`) }),
  'of the same row': () => byId(3),
  'of which only some find a row': (index) => ({ k: 1, filter: sql(`id = ${at(index) * 3}`) }),
  'that find nothing': (index) => ({ k: 1, filter: sql(`id = ${-1 - index}`) }),
  'by a key with several rows': (index) => ({
    k: 10,
    filter: sql(`part = ${index}`),
    projection: paths('part', 'name', 'vec'),
  }),
  'by a key with just as many rows as they ask for': (index) => ({
    k: 3,
    filter: sql(`part = ${index}`),
    projection: paths('part', 'id'),
  }),
  'with more rows than they ask for': (index) => ({ k: 2, filter: sql(`half = ${index % 2}`) }),
  'of some columns, the key among them': (index) => ({
    k: 1,
    filter: sql(`${at(index)} = id`),
    projection: paths('name', 'id', 'person'),
  }),
  'with row ids': (index) => ({ ...byId(index), withRowId: true }),
};

const LONE_LOOKUPS: Readonly<Record<string, (index: number) => Partial<Query>>> = {
  'of many rows': (index) => ({ k: 101, filter: sql(`part = ${index}`) }),
  'of all rows': (index) => ({ filter: sql(`part = ${index}`) }),
  'whose rows would come after too many of another key': (index) => ({ k: 2, filter: sql(`block = ${index % 2}`) }),
  'whose rows have a dictionary in each of several batches': (index) => ({ k: 10, filter: sql(`part = ${index}`) }),
  'whose key is not returned': (index) => ({ ...byId(index), projection: paths('name') }),
  'by a fraction': (index) => ({ k: 1, filter: sql(`weight = ${at(index)}.5`) }),
  'behind the first row': (index) => ({ k: 1, offset: 1, filter: sql(`part = ${index}`) }),
  'with a second condition': (index) => ({ k: 1, filter: sql(`id = ${at(index)} AND part > 3`) }),
};

/** Resolves when lookups by id run as one: then it is known which columns have an index. */
async function openIndexed(owner: Owner, columns: readonly string[]) {
  const { engine, table } = await open(owner);
  for (const column of columns) await buildIndex(engine, table, column, { kind: 'scalar', type: 'BTREE' });
  await eventually(async () => (await countShared(engine, table, numbers.map(byId))) > 1);
  return { engine, table };
}

suite('concurrent lookups by a column with an index', () => {
  const closing: (() => unknown)[] = [];
  const owner = { after: (work: () => unknown) => void closing.push(work) };
  let indexed: Awaited<ReturnType<typeof openIndexed>>;

  before(async () => {
    indexed = await openIndexed(owner, ['id', 'part', 'half', 'block', 'name', 'weight']);
  });

  after(async () => {
    for (const close of closing.toReversed()) await close();
  });

  for (const [title, toLookup] of Object.entries(LOOKUPS)) {
    test(`${title} run as one, each with its own result`, async () => {
      assert.ok((await countShared(indexed.engine, indexed.table, numbers.map(toLookup))) > 1);
    });
  }

  for (const [title, toLookup] of Object.entries(LONE_LOOKUPS)) {
    test(`${title} run by themselves`, async () => {
      assert.equal(await countShared(indexed.engine, indexed.table, numbers.map(toLookup)), 0);
    });
  }

  test('fail by themselves: the others get their results', async () => {
    const { engine, table } = indexed;
    const whole = numbers.map(byId);
    const broken = whole.map((query) => ({ ...query, projection: paths('id', 'missing') }));
    const outcomes = await Promise.allSettled([...broken, ...whole].map(async (query) => read(engine, table, query)));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      [...numbers.map(() => 'rejected'), ...numbers.map(() => 'fulfilled')],
    );
  });
});

test('lookups by a column without an index run by themselves', async (t) => {
  const { engine, table } = await openIndexed(t, ['id']);
  const byHalf = numbers.map((index) => ({ k: 1, filter: sql(`half = ${index % 2}`) }));
  assert.equal(await countShared(engine, table, byHalf), 0);
});

test('lookups run by themselves while the index of their column lacks many rows', async (t) => {
  const { id, half } = toColumns();
  assert.ok(id !== undefined && half !== undefined);
  const { engine, table } = await open(t, { id, half });
  await buildIndex(engine, table, 'half', { kind: 'scalar', type: 'BTREE' });
  const more = Array.from({ length: 10_001 }, (_, index) => ROWS + index);
  const stream = await toStream(
    toTable({ id: [new Int64(), more.map(BigInt)], half: [new Int32(), more.map((row) => row % 2)] }),
  );
  const chunk = await toChunk(stream);
  await commitPlan(engine, table, engine.commits.append({ schema: stream.schema, chunk }));
  await buildIndex(engine, table, 'id', { kind: 'scalar', type: 'BTREE' });
  await eventually(async () => (await countShared(engine, table, numbers.map(byId))) > 1);
  const byHalf = numbers.map((index) => ({ k: 1, filter: sql(`half = ${index % 2}`) }));
  assert.equal(await countShared(engine, table, byHalf), 0);
});

test('lookups by a column whose name has to be quoted run as one', async (t) => {
  const { id, vec } = toColumns();
  assert.ok(id !== undefined && vec !== undefined);
  const { engine, table } = await open(t, { 'Mixed-Case id': id, vec });
  await buildIndex(engine, table, 'Mixed-Case id', { kind: 'scalar', type: 'BITMAP' });
  const lookups = numbers.map((index) => ({ k: 1, filter: sql(`\`Mixed-Case id\` = ${index}`) }));
  await eventually(async () => (await countShared(engine, table, lookups)) > 1);
});

test('lookups run as one when they outnumber half of the processors', async (t) => {
  const { engine, table } = await open(t, toColumns(), READS);
  await buildIndex(engine, table, 'id', { kind: 'scalar', type: 'BTREE' });
  await eventually(async () => (await countShared(engine, table, numbers.map(byId))) > 1);
  assert.equal(await countShared(engine, table, numbers.slice(0, READS / 2).map(byId)), 0);
});

test('lookups whose rows are too large to be held together run by themselves', async (t) => {
  const { id, half } = toColumns();
  assert.ok(id !== undefined && half !== undefined);
  const text: Columns[string] = [new Utf8(), id[1].map((_, row) => String(row % 10).repeat(60_000))];
  const { engine, table } = await open(t, { id, half, text });
  for (const column of ['id', 'half']) await buildIndex(engine, table, column, { kind: 'scalar', type: 'BTREE' });
  await eventually(async () => (await countShared(engine, table, numbers.map(byId))) > 1);
  const large = numbers.map((index) => ({ k: 60, filter: sql(`half = ${index % 2}`) }));
  assert.equal(await countShared(engine, table, large), 0);
});

test('a search that meets no others runs by itself', async (t) => {
  const { engine, table } = await open(t);
  for (const index of numbers) await read(engine, table, { k: 1, vectors: [vectorAt(index)] });
  assert.equal(engine.counts().sharedQueries, 0);
});
