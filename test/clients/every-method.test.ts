import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { Index, connect, rerankers } from '@lancedb/lancedb';
import type { Connection, MergeInsertBuilder, Query, Table, VectorQuery } from '@lancedb/lancedb';
import { Field, Int32, Schema } from 'apache-arrow';
import { readEngineRelease } from '../../src/engine/native/engine-release.ts';
import { ADMIN_KEY } from '../support/server.ts';
import type { TestService } from '../support/server.ts';
import { startService } from '../support/service.ts';

/**
 * Every public method of the LanceDB client is in the list of the docs, and behaves against the service as the list says.
 * Each is tried for real: through a request where it makes one.
 */
const DOCS = readFileSync(new URL('../../../docs/clients.md', import.meta.url), 'utf8');

type State = 'works' | 'refused by the client' | 'not offered';

/** Private in the client's own source; they are there at run time alone. */
const INTERNAL: ReadonlySet<string> = new Set([
  'constructor',
  '_createTableImpl',
  'getStorageOptions',
  'getEmbeddingFunctions',
  'doCall',
  'doVectorCall',
  'getInner',
  'nativeExecute',
]);

let server: TestService;
let db: Connection;
/** Has `id`, `text` with a full-text index, and `vector`. Only read. */
let items: Table;
before(async () => {
  server = await startService();
  db = await open();
  items = await makeTable();
  await items.createIndex('text', { config: Index.fts({ withPosition: true }) });
});
after(async () => {
  db.close();
  await server.close();
});

async function open(): Promise<Connection> {
  return connect('db://default', { apiKey: ADMIN_KEY, hostOverride: server.url });
}

let names = 0;
function freshName(): string {
  names += 1;
  return `table${names}`;
}

const ROWS = 300;
const DIMENSIONS = 8;

async function makeTable(rows = ROWS): Promise<Table> {
  return db.createTable(freshName(), toRows(rows));
}

function toRows(rows: number, from = 0): Record<string, unknown>[] {
  return Array.from({ length: rows }, (_unused, index) => {
    const id = from + index;
    return { id, text: `word${id % 7} other`, vector: Array.from({ length: DIMENSIONS }, (_none, at) => id + at) };
  });
}

const QUERY_VECTOR = Array.from({ length: DIMENSIONS }, (_unused, at) => at);

async function locationOf(table: Table): Promise<string> {
  const answer = await fetch(`${server.url}/v1/table/${table.name}/describe`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY },
  });
  const { location } = (await answer.json()) as { location: string };
  return location;
}

async function count(query: Pick<Query, 'toArray'>): Promise<number> {
  return (await query.toArray()).length;
}

const query = (): Query => items.query();
const nearest = (): VectorQuery => items.query().nearestTo(QUERY_VECTOR).limit(5);

type Probe = () => Promise<unknown>;

/** A query with the option must run and give rows. */
function asked(build: () => Pick<Query, 'toArray'>, wanted?: number): Probe {
  return async () => {
    const found = await count(build());
    if (wanted === undefined) assert.ok(found > 0);
    else assert.equal(found, wanted);
  };
}

async function onNew(work: (table: Table) => Promise<unknown>): Promise<void> {
  await work(await makeTable());
}

function merging(build: (merge: MergeInsertBuilder) => MergeInsertBuilder): Probe {
  return async () =>
    onNew(async (table) => {
      const result = await build(table.mergeInsert('id').whenNotMatchedInsertAll()).execute(toRows(4, ROWS - 2));
      assert.ok(result.numInsertedRows >= 2);
    });
}

function indexed(column: string, config: () => Index): Probe {
  return async () =>
    onNew(async (table) => {
      await table.createIndex(column, { config: config() });
      assert.equal((await table.listIndices()).length, 1);
    });
}

const CONNECTION: Readonly<Record<string, Probe>> = {
  isOpen: async () => assert.equal(db.isOpen(), true),
  close: async () => {
    const other = await open();
    other.close();
    assert.equal(other.isOpen(), false);
  },
  display: async () => assert.match(db.display(), /RemoteDatabase|default|http/),
  tableNames: async () => assert.ok((await db.tableNames()).includes(items.name)),
  listTables: async () => assert.ok((await db.listTables()).tables.includes(items.name)),
  openTable: async () => assert.equal(await (await (await open()).openTable(items.name)).countRows(), ROWS),
  cloneTable: async () => {
    const clone = await db.cloneTable(freshName(), await locationOf(items));
    assert.equal(await clone.countRows(), ROWS);
  },
  createTable: async () => assert.equal(await (await makeTable(3)).countRows(), 3),
  createEmptyTable: async () => {
    const table = await db.createEmptyTable(freshName(), new Schema([new Field('id', new Int32(), true)]));
    assert.equal(await table.countRows(), 0);
  },
  dropTableAsync: async () => {
    const { name } = await makeTable();
    const job = await db.dropTableAsync(name);
    await job.wait();
    assert.ok(!(await db.tableNames()).includes(name));
  },
  listJobs: async () => assert.ok((await db.listJobs()).some(({ table }) => table === items.name)),
  openJob: async () => {
    const [first] = await db.listJobs();
    assert.equal((await db.openJob(first?.jobId ?? '')).id, first?.jobId);
  },
  cancelJob: async () => assert.equal(await db.cancelJob('00000000-0000-4000-8000-000000000000'), false),
  createMaterializedView: async () => db.createMaterializedView('view', items.name),
  openMaterializedView: async () => db.openMaterializedView('view'),
  listMaterializedViews: async () => db.listMaterializedViews(),
  dropTable: async () => {
    const { name } = await makeTable(1);
    await db.dropTable(name);
    assert.ok(!(await db.tableNames()).includes(name));
  },
  dropAllTables: async () => db.dropAllTables(),
  createNamespace: async () => db.createNamespace([freshName()]),
  describeNamespace: async () => {
    const name = freshName();
    await db.createNamespace([name], { properties: { owner: 'sales' } });
    assert.deepEqual((await db.describeNamespace([name])).properties, { owner: 'sales' });
  },
  listNamespaces: async () => {
    const name = freshName();
    await db.createNamespace([name]);
    assert.ok((await db.listNamespaces()).namespaces.includes(name));
  },
  dropNamespace: async () => {
    const name = freshName();
    await db.createNamespace([name]);
    await db.dropNamespace([name]);
    assert.ok(!(await db.listNamespaces()).namespaces.includes(name));
  },
  renameTable: async () => {
    const [{ name }, renamed] = [await makeTable(2), freshName()];
    await db.renameTable(name, renamed);
    assert.equal(await (await (await open()).openTable(renamed)).countRows(), 2);
  },
};

const TABLE: Readonly<Record<string, Probe>> = {
  name: async () => assert.equal((await db.openTable(items.name)).name, items.name),
  isOpen: async () => assert.equal(items.isOpen(), true),
  close: async () => onNew(async (table) => table.close()),
  display: async () => assert.ok(items.display().includes(items.name)),
  schema: async () => assert.equal((await items.schema()).fields.length, 3),
  add: async () =>
    onNew(async (table) => {
      await table.add(toRows(2, ROWS));
      assert.equal(await table.countRows(), ROWS + 2);
    }),
  update: async () =>
    onNew(async (table) =>
      assert.equal((await table.update({ where: 'id = 1', values: { text: 'new' } })).rowsUpdated, 1),
    ),
  countRows: async () => assert.equal(await items.countRows('id < 10'), 10),
  delete: async () =>
    onNew(async (table) => {
      await table.delete('id < 10');
      assert.equal(await table.countRows(), ROWS - 10);
    }),
  createIndex: async () => onNew(async (table) => table.createIndex('id')),
  dropIndex: async () =>
    onNew(async (table) => {
      await table.createIndex('id');
      await table.dropIndex('id_idx');
      assert.deepEqual(await table.listIndices(), []);
    }),
  prewarmIndex: async () => items.prewarmIndex('text_idx'),
  prewarmData: async () => items.prewarmData(['id']),
  waitForIndex: async () => items.waitForIndex(['text_idx'], 30),
  takeOffsets: asked(() => items.takeOffsets([1, 5]), 2),
  takeRowIds: asked(() => items.takeRowIds([1n, 5n]), 2),
  query: asked(() => items.query().limit(3), 3),
  search: asked(() => (items.search('word1', 'fts', 'text') as Query).limit(3), 3),
  vectorSearch: asked(() => items.vectorSearch(QUERY_VECTOR).limit(3), 3),
  addColumns: async () =>
    onNew(async (table) => {
      await table.addColumns([{ name: 'twice', valueSql: 'id * 2' }]);
      assert.equal(await table.countRows('twice = 8'), 1);
    }),
  alterColumns: async () =>
    onNew(async (table) => {
      await table.alterColumns([{ path: 'text', rename: 'words' }]);
      assert.ok((await table.schema()).fields.some(({ name }) => name === 'words'));
    }),
  updateFieldMetadata: async () =>
    onNew(async (table) => table.updateFieldMetadata([{ path: 'id', metadata: { unit: 'none' } }])),
  dropColumns: async () =>
    onNew(async (table) => {
      await table.dropColumns(['text']);
      assert.equal((await table.schema()).fields.length, 2);
    }),
  setUnenforcedPrimaryKey: async () => onNew(async (table) => table.setUnenforcedPrimaryKey('id')),
  setLsmWriteSpec: async () => onNew(async (table) => table.setLsmWriteSpec({ specType: 'unsharded' })),
  unsetLsmWriteSpec: async () => onNew(async (table) => table.unsetLsmWriteSpec()),
  closeLsmWriters: async () => items.closeLsmWriters(),
  getLsmWriteSpec: async () => items.getLsmWriteSpec(),
  flushLsm: async () => items.flushLsm(),
  compactLsm: async () => items.compactLsm(),
  checkpointLsm: async () => items.checkpointLsm(),
  getLsmStats: async () => items.getLsmStats(),
  createIndexAsync: async () =>
    onNew(async (table) => {
      const job = await table.createIndexAsync('id', { config: Index.btree() });
      await job.wait();
      assert.equal((await table.listIndices()).length, 1);
    }),
  tokenize: async () => {
    const tokens = await items.tokenize('Some words', { column: 'text' });
    assert.ok(tokens.some(({ text }) => text === 'word'));
  },
  blobColumns: async () => assert.deepEqual(await items.blobColumns(), []),
  fetchBlobs: async () => items.fetchBlobs('text', [1n]),
  fetchBlobFiles: async () => items.fetchBlobFiles('text', [1n]),
  refreshColumn: async () => items.refreshColumn('id'),
  refreshColumnAsync: async () => items.refreshColumnAsync('id'),
  refreshMaterializedView: async () => items.refreshMaterializedView(),
  version: async () => assert.ok((await items.version()) >= 1),
  checkout: async () =>
    onNew(async (table) => {
      await table.delete('id < 10');
      await table.checkout(1);
      assert.equal(await table.countRows(), ROWS);
    }),
  checkoutLatest: async () =>
    onNew(async (table) => {
      await table.delete('id < 10');
      await table.checkout(1);
      await table.checkoutLatest();
      assert.equal(await table.countRows(), ROWS - 10);
    }),
  listVersions: async () => assert.ok((await items.listVersions()).length >= 1),
  restore: async () =>
    onNew(async (table) => {
      await table.delete('id < 10');
      await table.checkout(1);
      await table.restore();
      assert.equal(await table.countRows(), ROWS);
    }),
  tags: async () => assert.deepEqual(await (await items.tags()).list(), {}),
  branches: async () => assert.deepEqual(await (await items.branches()).list(), {}),
  currentBranch: async () => assert.equal(items.currentBranch(), null),
  optimize: async () => onNew(async (table) => table.optimize()),
  listIndices: async () => assert.equal((await items.listIndices()).length, 1),
  toArrow: async () => assert.equal((await items.toArrow()).numRows, ROWS),
  indexStats: async () => assert.equal((await items.indexStats('text_idx'))?.numIndexedRows, ROWS),
  stats: async () => assert.equal((await items.stats()).numRows, ROWS),
  initialStorageOptions: async () => assert.equal(await items.initialStorageOptions(), null),
  latestStorageOptions: async () => assert.equal(await items.latestStorageOptions(), null),
  mergeInsert: merging((merge) => merge),
  usesV2ManifestPaths: async () => usesManifests(items).usesV2ManifestPaths(),
  migrateManifestPathsV2: async () => usesManifests(items).migrateManifestPathsV2(),
};

interface ManifestPaths {
  usesV2ManifestPaths(): Promise<unknown>;
  migrateManifestPathsV2(): Promise<unknown>;
}

/** Public, but left out of the declarations of the class that callers get. */
function usesManifests(table: Table): ManifestPaths {
  return table as unknown as ManifestPaths;
}

const QUERY: Readonly<Record<string, Probe>> = {
  useLsm: asked(() => query().useLsm(false).limit(2), 2),
  where: asked(() => query().where('id < 4'), 4),
  filter: asked(() => query().filter('id < 4'), 4),
  fullTextSearch: asked(() => query().fullTextSearch('word1', { columns: 'text' }).limit(2), 2),
  limit: asked(() => query().limit(4), 4),
  offset: asked(
    () =>
      query()
        .limit(ROWS)
        .offset(ROWS - 3),
    3,
  ),
  orderBy: async () => {
    const rows = await query().orderBy({ columnName: 'id', ascending: false }).limit(1).toArray();
    assert.equal((rows as { id: number }[])[0]?.id, ROWS - 1);
  },
  fastSearch: asked(() => query().fullTextSearch('word1', { columns: 'text' }).fastSearch().limit(2), 2),
  nearestTo: asked(() => query().nearestTo(QUERY_VECTOR).limit(2), 2),
  nearestToText: async () => query().nearestToText('word1').limit(2).toArray(),
  select: async () => {
    const found = await query().select({ twice: 'id * 2' }).limit(1).toArrow();
    assert.deepEqual(
      found.schema.fields.map(({ name }) => name),
      ['twice'],
    );
  },
  withRowId: async () => assert.ok((await query().withRowId().limit(1).toArrow()).getChild('_rowid')),
  execute: async () => {
    let rows = 0;
    for await (const batch of query()) rows += batch.numRows;
    assert.equal(rows, ROWS);
  },
  toArrow: async () => assert.equal((await query().toArrow()).numRows, ROWS),
  toArray: asked(query, ROWS),
  explainPlan: async () => assert.match(await nearest().explainPlan(true), /\w/),
  analyzePlan: async () => assert.match(await nearest().analyzePlan(), /output_rows/),
  outputSchema: async () => assert.equal((await query().select(['id']).outputSchema()).fields.length, 1),
};

const VECTOR_QUERY: Readonly<Record<string, Probe>> = {
  nprobes: asked(() => nearest().nprobes(3), 5),
  minimumNprobes: asked(() => nearest().minimumNprobes(3), 5),
  maximumNprobes: asked(() => nearest().maximumNprobes(30), 5),
  distanceRange: asked(() => nearest().distanceRange(0, 1), 1),
  ef: asked(() => nearest().ef(50), 5),
  column: asked(() => nearest().column('vector'), 5),
  distanceType: asked(() => nearest().distanceType('cosine'), 5),
  refineFactor: asked(() => nearest().refineFactor(2), 5),
  postfilter: asked(() => nearest().where('id < 2').postfilter(), 2),
  bypassVectorIndex: asked(() => nearest().bypassVectorIndex(), 5),
  addQueryVector: asked(() => nearest().addQueryVector(QUERY_VECTOR.map((each) => each + 9)), 10),
  rerank: async () => {
    const reranker = await rerankers.RRFReranker.create();
    const found = await nearest().fullTextSearch('word1', { columns: 'text' }).rerank(reranker).toArray();
    assert.ok(found.length > 0);
  },
};

const MERGE: Readonly<Record<string, Probe>> = {
  whenMatchedUpdateAll: merging((merge) => merge.whenMatchedUpdateAll({ where: 'target.id > 0' })),
  whenNotMatchedInsertAll: merging((merge) => merge.whenNotMatchedInsertAll()),
  whenNotMatchedBySourceDelete: merging((merge) => merge.whenNotMatchedBySourceDelete({ where: 'id < 5' })),
  useIndex: merging((merge) => merge.useIndex(false)),
  useLsm: merging((merge) => merge.useLsm(false)),
  validateSingleShard: merging((merge) => merge.validateSingleShard(false)),
  execute: merging((merge) => merge.whenMatchedUpdateAll()),
};

const TAGS: Readonly<Record<string, Probe>> = {
  list: async () => onNew(async (table) => (await table.tags()).list()),
  create: async () => onNew(async (table) => (await table.tags()).create('one', 1)),
  getVersion: async () =>
    onNew(async (table) => {
      await (await table.tags()).create('one', 1);
      assert.equal(await (await table.tags()).getVersion('one'), 1);
    }),
  update: async () =>
    onNew(async (table) => {
      await (await table.tags()).create('one', 1);
      await (await table.tags()).update('one', 1);
    }),
  delete: async () =>
    onNew(async (table) => {
      await (await table.tags()).create('one', 1);
      await (await table.tags()).delete('one');
      assert.deepEqual(await (await table.tags()).list(), {});
    }),
};

const BRANCHES: Readonly<Record<string, Probe>> = {
  diff: async () =>
    onNew(async (table) => {
      const branches = await table.branches();
      await branches.create('side');
      await branches.diff('side');
    }),
  cherryPick: async () =>
    onNew(async (table) => {
      const branches = await table.branches();
      await branches.create('side');
      await branches.cherryPick('side');
    }),
  list: async () => onNew(async (table) => (await table.branches()).list()),
  create: async () =>
    onNew(async (table) => assert.equal((await (await table.branches()).create('side')).currentBranch(), 'side')),
  checkout: async () =>
    onNew(async (table) => {
      const branches = await table.branches();
      await (await branches.create('side')).delete('id < 10');
      assert.equal(await (await branches.checkout('side')).countRows(), ROWS - 10);
      assert.equal(await table.countRows(), ROWS);
    }),
  delete: async () =>
    onNew(async (table) => {
      await (await table.branches()).create('side');
      await (await table.branches()).delete('side');
      assert.deepEqual(await (await table.branches()).list(), {});
    }),
};

const INDEX: Readonly<Record<string, Probe>> = {
  ivfPq: indexed('vector', () => Index.ivfPq({ numPartitions: 1, numSubVectors: 2 })),
  ivfRq: indexed('vector', () => Index.ivfRq({ numPartitions: 1 })),
  ivfFlat: indexed('vector', () => Index.ivfFlat({ numPartitions: 1 })),
  btree: indexed('id', () => Index.btree()),
  bitmap: indexed('text', () => Index.bitmap()),
  labelList: async () => {
    const table = await db.createTable(freshName(), [{ id: 1, labels: ['a', 'b'] }]);
    await table.createIndex('labels', { config: Index.labelList() });
  },
  fm: indexed('text', () => Index.fm()),
  fts: indexed('text', () => Index.fts()),
  hnswPq: indexed('vector', () => Index.hnswPq({ numPartitions: 1, numSubVectors: 2 })),
  hnswSq: indexed('vector', () => Index.hnswSq({ numPartitions: 1 })),
};

/** Of an object of the class, with what it inherits from the classes named in `from`. */
function methodsOf(subject: object, ...from: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (let each: object | null = Object.getPrototypeOf(subject); each !== null; each = Object.getPrototypeOf(each)) {
    if (from.includes(each.constructor.name)) found.push(...Object.getOwnPropertyNames(each));
  }
  return found.filter((name) => !INTERNAL.has(name)).toSorted();
}

interface Documented {
  readonly heading: string;
  readonly probes: Readonly<Record<string, Probe>>;
  readonly methods: () => Promise<readonly string[]>;
}

const CLASSES: readonly Documented[] = [
  {
    heading: 'Connection',
    probes: CONNECTION,
    methods: async () => methodsOf(db, 'LocalConnection', 'Connection'),
  },
  { heading: 'Table', probes: TABLE, methods: async () => methodsOf(items, 'LocalTable', 'Table') },
  {
    heading: 'Query and TakeQuery',
    probes: QUERY,
    methods: async () => methodsOf(query(), 'Query', 'StandardQueryBase', 'QueryBase', 'TakeQuery'),
  },
  { heading: 'VectorQuery', probes: VECTOR_QUERY, methods: async () => methodsOf(nearest(), 'VectorQuery') },
  {
    heading: 'MergeInsertBuilder',
    probes: MERGE,
    methods: async () => methodsOf(items.mergeInsert('id'), 'MergeInsertBuilder'),
  },
  { heading: 'Tags', probes: TAGS, methods: async () => methodsOf(await items.tags(), 'Tags') },
  { heading: 'Branches', probes: BRANCHES, methods: async () => methodsOf(await items.branches(), 'Branches') },
  {
    heading: 'Index',
    probes: INDEX,
    methods: async () =>
      Object.getOwnPropertyNames(Index)
        .filter((name) => !['length', 'name', 'prototype'].includes(name))
        .toSorted(),
  },
];

/** The rows of the table below a heading: method and state. */
function statesOf(heading: string): ReadonlyMap<string, State> {
  const part = DOCS.split(/^##+ /m).find((each) => each.startsWith(`${heading}\n`)) ?? assert.fail(heading);
  const rows = [...part.matchAll(/^\| `(\w+)` \| (works|refused by the client|not offered) \|/gm)];
  return new Map(rows.map(([, method = '', state]) => [method, state as State]));
}

async function stateBy(probe: Probe): Promise<State> {
  try {
    await probe();
    return 'works';
  } catch (error) {
    const message = String(error);
    if (/not offered by this service/.test(message)) return 'not offered';
    if (/not supported|not implemented|not yet supported|cannot be run on a remote table/i.test(message))
      return 'refused by the client';
    throw error;
  }
}

/** The package of the engine is the client, too. */
const OLDER_CLIENT = readEngineRelease().isFallback ? 'the list is that of the client of the main engine' : false;

for (const { heading, probes, methods } of CLASSES) {
  suite(heading, () => {
    test('has all of its methods in the docs, and no other', { skip: OLDER_CLIENT }, async () => {
      assert.deepEqual([...statesOf(heading).keys()].toSorted(), await methods());
      assert.deepEqual(Object.keys(probes).toSorted(), await methods());
    });

    for (const [method, state] of statesOf(heading)) {
      test(`${method}: ${state}`, async (t) => {
        if (OLDER_CLIENT !== false && !(await methods()).includes(method)) return t.skip(OLDER_CLIENT);
        return assert.equal(await stateBy(probes[method] ?? assert.fail(method)), state);
      });
    }
  });
}
