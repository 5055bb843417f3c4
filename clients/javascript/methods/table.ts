import type { Query, Table } from '@lancedb/lancedb';
import { QUERY_VECTOR, ROWS, asked, onNew, sortedRows, toRows } from '../side.ts';
import type { Probes } from '../side.ts';

const ROW_ACCESS: Probes = {
  name: async ({ db, items }) => (await db.openTable(items.name)).name,
  isOpen: async ({ items }) => items.isOpen(),
  close: async (side) => {
    const table = await side.table(1);
    table.close();
    return table.isOpen();
  },
  display: async ({ items }) => items.display().includes(items.name),
  schema: async ({ items }) => items.schema(),
  countRows: async ({ items }) => [await items.countRows(), await items.countRows('id < 10')],
  takeOffsets: asked(({ items }) => items.takeOffsets([1, 5])),
  takeRowIds: asked(({ items }) => items.takeRowIds([1, 5])),
  query: asked(({ items }) => items.query().limit(3)),
  search: asked(({ items }) => (items.search('word1', 'fts', 'text') as Query).limit(3)),
  vectorSearch: asked(({ items }) => items.vectorSearch(QUERY_VECTOR).limit(3)),
  toArrow: async ({ items }) => items.toArrow(),
  stats: async ({ items }) => ({ ...(await items.stats()), totalBytes: 0 }),
  initialStorageOptions: async ({ items }) => items.initialStorageOptions(),
  latestStorageOptions: async ({ items }) => items.latestStorageOptions(),
  tokenize: async ({ items }) => items.tokenize('Some words', { column: 'text' }),
  blobColumns: async ({ items }) => items.blobColumns(),
  fetchBlobs: async ({ items }) => items.fetchBlobs('text', [1n]),
  fetchBlobFiles: async ({ items }) => items.fetchBlobFiles('text', [1n]),
};

const WRITES: Probes = {
  add: onNew(async (table) => {
    const appended = await table.add(toRows(2, ROWS));
    const rows = await sortedRows(table);
    return [appended, rows.length, await table.add(toRows(4), { mode: 'overwrite' })];
  }),
  update: onNew(async (table) => [
    await table.update({ where: 'id = 1', values: { text: "it's new" } }),
    await table.update({ where: 'id > 290', valuesSql: { id: 'id + 1000', text: "concat(text, '!')" } }),
    await table.update({ where: 'id = 2', values: { vector: QUERY_VECTOR } }),
  ]),
  delete: onNew(async (table) => table.delete('id < 10')),
  mergeInsert: onNew(async (table) =>
    table
      .mergeInsert('id')
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .execute(toRows(4, ROWS - 2)),
  ),
  optimize: onNew(async (table) => table.optimize()),
  setUnenforcedPrimaryKey: onNew(async (table) => table.setUnenforcedPrimaryKey('id')),
  setLsmWriteSpec: onNew(async (table) => table.setLsmWriteSpec({ specType: 'unsharded' })),
  unsetLsmWriteSpec: onNew(async (table) => table.unsetLsmWriteSpec()),
  closeLsmWriters: async ({ items }) => items.closeLsmWriters(),
  getLsmWriteSpec: async ({ items }) => items.getLsmWriteSpec(),
  flushLsm: async ({ items }) => items.flushLsm(),
  compactLsm: async ({ items }) => items.compactLsm(),
  checkpointLsm: async ({ items }) => items.checkpointLsm(),
  getLsmStats: async ({ items }) => items.getLsmStats(),
};

const COLUMNS: Probes = {
  addColumns: onNew(async (table) => [
    await table.addColumns([{ name: 'twice', valueSql: 'id * 2' }]),
    await table.schema(),
  ]),
  alterColumns: onNew(async (table) => [
    await table.alterColumns([{ path: 'text', rename: 'words' }]),
    await table.schema(),
  ]),
  dropColumns: onNew(async (table) => [await table.dropColumns(['text']), await table.schema()]),
  updateFieldMetadata: onNew(async (table) => {
    await table.updateFieldMetadata([{ path: 'id', metadata: { unit: 'none' } }]);
    return (await table.schema()).fields[0]?.metadata;
  }),
  refreshColumn: async ({ items }) => items.refreshColumn('id'),
  refreshColumnAsync: onNew(async (table) => {
    await table.addColumns({ computed: [{ name: 'twice', valueSql: 'id * 2' }] });
    await (await table.refreshColumnAsync('twice')).wait();
    return table.countRows('twice = id * 2');
  }),
  refreshMaterializedView: async ({ items }) => items.refreshMaterializedView(),
};

const INDEXES: Probes = {
  createIndex: onNew(async (table) => {
    await table.createIndex('id');
    return namedIndexes(table);
  }),
  createIndexAsync: onNew(async (table, { lancedb }) => {
    await (await table.createIndexAsync('id', { config: lancedb.Index.btree() })).wait();
    return namedIndexes(table);
  }),
  dropIndex: onNew(async (table) => {
    await table.createIndex('id');
    await table.dropIndex('id_idx');
    return table.listIndices();
  }),
  listIndices: async ({ items }) => namedIndexes(items),
  indexStats: async ({ items }) => {
    const { indexType, numIndexedRows, numUnindexedRows } = (await items.indexStats('text_idx')) ?? {};
    return [indexType, numIndexedRows, numUnindexedRows, await items.indexStats('no_such_index')];
  },
  waitForIndex: async ({ items }) => items.waitForIndex(['text_idx'], 30),
  prewarmIndex: async ({ items }) => items.prewarmIndex('text_idx'),
  prewarmData: async ({ items }) => items.prewarmData(['id']),
};

async function namedIndexes(table: Table): Promise<unknown> {
  return (await table.listIndices()).map(({ name, columns, indexType }) => ({ name, columns, indexType }));
}

const HISTORY: Probes = {
  version: onNew(async (table) => {
    await table.delete('id < 10');
    return table.version();
  }),
  checkout: onNew(async (table) => {
    await table.delete('id < 10');
    await table.checkout(1);
    return [await table.countRows(), await table.version()];
  }),
  checkoutLatest: onNew(async (table) => {
    await table.delete('id < 10');
    await table.checkout(1);
    await table.checkoutLatest();
    return table.countRows();
  }),
  listVersions: onNew(async (table) => {
    await table.delete('id < 10');
    return (await table.listVersions()).map(({ version }) => version);
  }),
  restore: onNew(async (table) => {
    await table.delete('id < 10');
    await table.checkout(1);
    await table.restore();
    return [await table.countRows(), await table.version()];
  }),
  tags: async ({ items }) => (await items.tags()).list(),
  branches: async ({ items }) => (await items.branches()).list(),
  currentBranch: async ({ items }) => items.currentBranch(),
};

/** Public, but left out of the declarations of the class that callers get. */
interface ManifestPaths {
  usesV2ManifestPaths(): Promise<unknown>;
  migrateManifestPathsV2(): Promise<unknown>;
}

function withManifestPaths(table: Table): ManifestPaths {
  return table as unknown as ManifestPaths;
}

const MANIFESTS: Probes = {
  usesV2ManifestPaths: async ({ items }) => withManifestPaths(items).usesV2ManifestPaths(),
  migrateManifestPathsV2: async ({ items }) => withManifestPaths(items).migrateManifestPathsV2(),
};

export const TABLE: Probes = { ...ROW_ACCESS, ...WRITES, ...COLUMNS, ...INDEXES, ...HISTORY, ...MANIFESTS };
