import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Dictionary, Float64, Int32, Int64, Utf8, tableFromIPC } from 'apache-arrow';
import { isRead } from '../../../src/arrow/results/result-framing.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { VectorIndexSpec } from '../../../src/model/index-spec.ts';
import type { Query } from '../../../src/model/query.ts';
import type { TableState } from '../../../src/model/table.ts';
import { PERSON, toItems, toTable, vectorType } from '../sample-tables.ts';
import { ENGINE_LIMITS, commitPlan, latest, openTestEngine, sql, toQuery, toStream } from '../test-engine.ts';
import type { Owner } from '../test-engine.ts';

const NO_TIMEOUT = { seconds: undefined, signal: new AbortController().signal };
const SHARING = { limits: { ...ENGINE_LIMITS, sharedReadsMax: 16 }, parallelReadsMax: 1 };
const ROWS = 300;
const READS = 12;

type Columns = Parameters<typeof toTable>[0];

/** `part` has each value three times, `half` each 150 times; every seventh name is null. */
function toColumns(): Columns {
  const ids = Array.from({ length: ROWS }, (_, index) => index);
  return {
    id: [new Int64(), ids.map(BigInt)],
    part: [new Int32(), ids.map((id) => id % 100)],
    half: [new Int32(), ids.map((id) => id % 2)],
    weight: [new Float64(), ids.map((id) => id / 2)],
    name: [new Utf8(), ids.map((id) => (id % 7 === 0 ? null : `it's ${id}`))],
    tag: [new Dictionary(new Utf8(), new Int32()), ids.map((id) => `tag ${id % 5}`)],
    person: [PERSON, ids.map((id) => (id % 5 === 0 ? null : { age: id, 'nick.name': null, home: null }))],
    vec: [vectorType(4), ids.map((id) => [id % 17, id % 13, id % 7, id / 10])],
  };
}

async function open(owner: Owner, columns: Columns = toColumns()) {
  const { engine, location } = await openTestEngine(owner, SHARING);
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
  return JSON.stringify({ fields: schema.fields.map(String), metadata: [...schema.metadata], rows }, toJson);
}

/** How many of the reads ran with others; each must give the same as it does by itself. */
async function countShared(engine: Engine, table: TableState, queries: readonly Partial<Query>[]): Promise<number> {
  const alone: string[] = [];
  for (const query of queries) alone.push(await read(engine, table, query));
  const before = engine.counts().sharedReads;
  assert.deepEqual(await Promise.all(queries.map(async (query) => read(engine, table, query))), alone);
  return engine.counts().sharedReads - before;
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

const IVF: VectorIndexSpec = {
  kind: 'vector',
  type: 'IVF_FLAT',
  distanceType: 'l2',
  partitions: 4,
  targetPartitionSize: undefined,
  subVectors: undefined,
  bits: undefined,
  sampleRate: undefined,
  maxIterations: undefined,
  m: undefined,
  efConstruction: undefined,
};

suite('concurrent vector searches', () => {
  for (const [title, query] of Object.entries(SEARCHES)) {
    test(`${title} run as one, each with its own result`, async (t) => {
      const { engine, table } = await open(t);
      const searches = numbers.map((index) => ({ ...query, vectors: [vectorAt(index)] }));
      assert.ok((await countShared(engine, table, searches)) > 1);
    });
  }

  test('run as one with an index', async (t) => {
    const { engine, table } = await open(t);
    const opened = await engine.indexes.openBuild(table);
    await opened.build({ column: ['vec'], name: 'vec_idx', replace: true, spec: IVF });
    opened.close();
    const searches = numbers.map((index) => ({
      k: 10,
      probes: { minimum: 2, maximum: 2 },
      vectors: [vectorAt(index)],
    }));
    assert.ok((await countShared(engine, table, searches)) > 1);
  });

  test('of different kinds never run as one', async (t) => {
    const { engine, table } = await open(t);
    const searches = numbers.map((index) => ({ k: index + 1, vectors: [vectorAt(index)] }));
    assert.equal(await countShared(engine, table, searches), 0);
  });

  test('run by themselves where the table has the column that would tell their rows apart', async (t) => {
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
    assert.equal(engine.counts().sharedReads, 0);
  });
});

const at = (index: number): number => (index * 37) % ROWS;

const LOOKUPS: Readonly<Record<string, (index: number) => Partial<Query>>> = {
  'by a number': (index) => ({ k: 1, filter: sql(`id = ${at(index)}`) }),
  'by a text': (index) => ({ k: 1, filter: sql(`name = 'it''s ${at(index)}'`) }),
  'of the same row': () => ({ k: 1, filter: sql('id = 7') }),
  'of which only some find a row': (index) => ({ k: 1, filter: sql(`id = ${at(index) * 3}`) }),
  'that find nothing': (index) => ({ k: 1, filter: sql(`id = ${-1 - index}`) }),
  'by a key with several rows': (index) => ({ k: 10, filter: sql(`part = ${index}`) }),
  'of some columns, the key among them': (index) => ({
    k: 1,
    filter: sql(`${at(index)} = id`),
    projection: paths('name', 'id', 'person'),
  }),
  'with row ids': (index) => ({ k: 1, filter: sql(`id = ${at(index)}`), withRowId: true }),
};

const LONE_LOOKUPS: Readonly<Record<string, (index: number) => Partial<Query>>> = {
  'of many rows': (index) => ({ k: 101, filter: sql(`part = ${index}`) }),
  'with more rows than they ask for': (index) => ({ k: 2, filter: sql(`half = ${index % 2}`) }),
  'whose key is not returned': (index) => ({ k: 1, filter: sql(`id = ${at(index)}`), projection: paths('name') }),
  'by a fraction': (index) => ({ k: 1, filter: sql(`weight = ${at(index)}.5`) }),
  'behind the first row': (index) => ({ k: 1, offset: 1, filter: sql(`part = ${index}`) }),
  'with a second condition': (index) => ({ k: 1, filter: sql(`id = ${at(index)} AND part > 3`) }),
};

suite('concurrent lookups', () => {
  for (const [title, toLookup] of Object.entries(LOOKUPS)) {
    test(`${title} run as one, each with its own result`, async (t) => {
      const { engine, table } = await open(t);
      assert.ok((await countShared(engine, table, numbers.map(toLookup))) > 1);
    });
  }

  for (const [title, toLookup] of Object.entries(LONE_LOOKUPS)) {
    test(`${title} run by themselves`, async (t) => {
      const { engine, table } = await open(t);
      assert.equal(await countShared(engine, table, numbers.map(toLookup)), 0);
    });
  }

  test('see every commit that was acknowledged before', async (t) => {
    const { engine, location } = await openTestEngine(t, SHARING);
    await engine.createTable(location(), await toStream(toItems(READS)), {});
    const table = latest(location());
    const assignments = [{ path: ['score'] as const, expression: sql('score + 1') }];
    let acknowledged = 1;
    let isWriting = true;
    const reading = numbers.map(async (id) => {
      while (isWriting) {
        const least = acknowledged;
        const found = await read(engine, table, { k: 1, filter: sql(`id = ${id}`) });
        assert.ok(JSON.parse(found).rows[0].score >= least, found);
      }
    });
    for (let round = 0; round < 30; round += 1) {
      await commitPlan(engine, table, engine.commits.update(table, { assignments, predicate: undefined }));
      acknowledged += 1;
    }
    isWriting = false;
    await Promise.all(reading);
    assert.ok(engine.counts().sharedReads > 0);
  });

  test('fail by themselves: the others get their results', async (t) => {
    const { engine, table } = await open(t);
    const broken = numbers.map((index) => ({ k: 1, filter: sql(`id = ${index}`), projection: paths('id', 'missing') }));
    const whole = numbers.map((index) => ({ k: 1, filter: sql(`id = ${index}`) }));
    const outcomes = await Promise.allSettled([...broken, ...whole].map(async (query) => read(engine, table, query)));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      [...numbers.map(() => 'rejected'), ...numbers.map(() => 'fulfilled')],
    );
  });
});

test('a read that meets no others runs by itself', async (t) => {
  const { engine, table } = await open(t);
  for (const index of numbers) await read(engine, table, { k: 1, filter: sql(`id = ${index}`) });
  assert.equal(engine.counts().sharedReads, 0);
});
