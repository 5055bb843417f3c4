import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Index, connect } from '@lancedb/lancedb';
import type { Connection, IndexOptions, Table } from '@lancedb/lancedb';
import { Field, FixedSizeList, Float32, Int32, List, Schema, Struct, Uint8, Utf8 } from 'apache-arrow';
import { ContractServer } from '../contract/contract-server.ts';
import { count } from '../contract/contract-tables.ts';
import { ADMIN_KEY } from '../support/server.ts';

/** The same calls through the service and beside it, on tables of the same rows. */
let server: ContractServer;
let remote: Connection;
let beside: Connection;
before(async () => {
  server = await ContractServer.start();
  remote = await connect('db://default', { apiKey: ADMIN_KEY, hostOverride: server.url });
  beside = await connect(`${server.folder}/beside`);
});
after(async () => {
  remote.close();
  beside.close();
  await server.close();
});

const optional = (name: string, type: ConstructorParameters<typeof Field>[1]) => new Field(name, type, true);
const vectorType = (length: number, item = new Float32()) => new FixedSizeList(length, optional('item', item));

const SCHEMA = new Schema([
  optional('id', new Int32()),
  optional('text', new Utf8()),
  optional('tags', new List(optional('item', new Utf8()))),
  optional('vector', vectorType(16)),
  new Field('bits', new FixedSizeList(8, optional('item', new Uint8())), true),
  optional('info', new Struct([optional('size', new Int32())])),
]);

function toRows(rows: number): Record<string, unknown>[] {
  return count(rows).map((id) => ({
    id,
    text: `word${id} is ${id % 2 === 0 ? 'even' : 'odd'}`,
    tags: [`t${id % 3}`],
    vector: count(16).map((index) => ((id * 7919 + index * 104_729) % 1000) / 1000),
    bits: count(8).map((index) => (id + index) % 256),
    info: { size: id },
  }));
}

async function makePair(rows = 300): Promise<readonly [Table, Table]> {
  const name = server.name('indexed');
  const options = { schema: SCHEMA };
  return [await remote.createTable(name, toRows(rows), options), await beside.createTable(name, toRows(rows), options)];
}

/** What does not differ from one build to the next. */
async function describe(table: Table): Promise<readonly unknown[]> {
  const indexes = await table.listIndices();
  return Promise.all(
    indexes
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .map(async ({ name, columns, indexType }) => ({
        name,
        columns,
        indexType,
        stats: await table.indexStats(name),
      })),
  );
}

/** The client takes each configuration once. */
const KINDS: readonly (readonly [title: string, column: string, options: () => Partial<IndexOptions>])[] = [
  ['the default of a vector', 'vector', () => ({})],
  ['the default of a scalar', 'id', () => ({})],
  ['IVF_FLAT', 'vector', () => ({ config: Index.ivfFlat({ distanceType: 'cosine', numPartitions: 2 }) })],
  ['IVF_FLAT of bytes', 'bits', () => ({ config: Index.ivfFlat({ distanceType: 'hamming' }) })],
  [
    'IVF_PQ',
    'vector',
    () => ({
      config: Index.ivfPq({
        distanceType: 'dot',
        numPartitions: 2,
        numSubVectors: 4,
        numBits: 4,
        maxIterations: 10,
        sampleRate: 100,
      }),
    }),
  ],
  ['IVF_RQ', 'vector', () => ({ config: Index.ivfRq({ numBits: 1, numPartitions: 2 }) })],
  ['IVF_HNSW_SQ', 'vector', () => ({ config: Index.hnswSq({ m: 10, efConstruction: 60, distanceType: 'l2' }) })],
  ['BTREE', 'id', () => ({ config: Index.btree() })],
  ['BITMAP', 'text', () => ({ config: Index.bitmap() })],
  ['LABEL_LIST', 'tags', () => ({ config: Index.labelList() })],
  ['FM', 'text', () => ({ config: Index.fm() })],
  ['FTS', 'text', () => ({ config: Index.fts() })],
  [
    'FTS with every option',
    'text',
    () => ({
      config: Index.fts({
        withPosition: true,
        baseTokenizer: 'ngram',
        language: 'German',
        maxTokenLength: 20,
        lowercase: true,
        stem: false,
        removeStopWords: false,
        asciiFolding: false,
        ngramMinLength: 2,
        ngramMaxLength: 3,
        prefixOnly: true,
      }),
    }),
  ],
  ['a nested field', 'info.size', () => ({ config: Index.btree() })],
  ['a name of its own', 'id', () => ({ config: Index.bitmap(), name: 'my index' })],
  ['a wait for it', 'id', () => ({ config: Index.btree(), waitTimeoutSeconds: 10 })],
];

suite('the LanceDB client builds the index that the embedded engine builds', () => {
  for (const [title, column, options] of KINDS) {
    test(title, async () => {
      const [table, embedded] = await makePair();
      await table.createIndex(column, options());
      await embedded.createIndex(column, options());
      const described = await describe(table);
      assert.equal(described.length, 1);
      assert.deepEqual(described, await describe(embedded));
    });
  }
});

suite('the LanceDB client', () => {
  test('waits for an index, warms it up, and drops it', async () => {
    const [table] = await makePair();
    await table.createIndex('vector', { config: Index.ivfFlat() });
    await table.waitForIndex(['vector_idx'], 10);
    await table.prewarmIndex('vector_idx');
    await table.prewarmData();
    await table.prewarmData(['id', 'vector']);
    await table.dropIndex('vector_idx');
    assert.deepEqual(await table.listIndices(), []);
    assert.equal(await table.indexStats('vector_idx'), undefined);
  });

  test('hears of an index that is not there', async () => {
    const [table] = await makePair(3);
    await assert.rejects(table.dropIndex('nope'), /nope/);
    await assert.rejects(table.prewarmIndex('nope'), /nope/);
    assert.equal(await table.indexStats('nope'), undefined);
  });

  test('is refused once, with a reason, what cannot be built', async () => {
    const [table] = await makePair(10);
    const refused = table.createIndex('vector', { config: Index.ivfPq() });
    await assert.rejects(refused, (error: Error) => {
      assert.match(error.message, /256 vectors/);
      assert.doesNotMatch(error.message, /retry limit/);
      return true;
    });
    await assert.rejects(table.createIndex('text', { config: Index.ivfFlat() }), /utf8/);
  });

  test('sees rows that came after the build', async () => {
    const [table, embedded] = await makePair(20);
    for (const each of [table, embedded]) {
      await each.createIndex('id');
      await each.update({ where: 'id < 3', values: { text: 'new' } });
    }
    assert.deepEqual(await describe(table), await describe(embedded));
    await assert.rejects(table.waitForIndex(['id_idx'], 1.5));
  });

  test('finds the same rows with an index as the embedded engine', async () => {
    const [table, embedded] = await makePair();
    const query = toRows(300)[42]?.['vector'] as number[];
    const found = [];
    for (const each of [table, embedded]) {
      await each.createIndex('vector', { config: Index.ivfFlat({ numPartitions: 1 }) });
      await each.createIndex('text', { config: Index.fts() });
      const near = await each.vectorSearch(query).limit(5).select(['id']).toArray();
      const worded = await each.query().fullTextSearch('word42').select(['id']).toArray();
      found.push([near.map(({ id }) => id), worded.map(({ id }) => id)]);
    }
    assert.deepEqual(found[0], found[1]);
  });

  test('indexes a table on a branch and at a version', async () => {
    const [table] = await makePair(20);
    await table.createIndex('id');
    await table.createIndex('text', { config: Index.bitmap() });
    const version = await table.version();
    await table.checkout(version - 1);
    assert.deepEqual(
      (await table.listIndices()).map(({ name }) => name),
      ['id_idx'],
    );
    await table.checkoutLatest();
    const branches = await table.branches();
    await branches.create('side');
    const side = await branches.checkout('side');
    await side.dropIndex('id_idx');
    assert.equal((await side.listIndices()).length, 1);
    assert.equal((await table.listIndices()).length, 2);
  });
});
