import type { IndexConfig, MergeInsertBuilder, PermutationBuilder, Table } from '@lancedb/lancedb';
import { ROWS, onNew, toRows } from '../side.ts';
import type { LanceDb, Probe, Probes } from '../side.ts';

function merging(build: (merge: MergeInsertBuilder) => MergeInsertBuilder): Probe {
  return onNew(async (table) => build(table.mergeInsert('id').whenNotMatchedInsertAll()).execute(toRows(4, ROWS - 2)));
}

/** Of releases before 0.37; later ones have `useLsm`. */
interface FormerMerge {
  useLsmWrite(isUsed: boolean): MergeInsertBuilder;
}

export const MERGE: Probes = {
  whenMatchedUpdateAll: merging((merge) => merge.whenMatchedUpdateAll({ where: 'target.id > 298' })),
  whenNotMatchedInsertAll: merging((merge) => merge.whenNotMatchedInsertAll()),
  whenNotMatchedBySourceDelete: merging((merge) => merge.whenNotMatchedBySourceDelete({ where: 'id < 5' })),
  useIndex: merging((merge) => merge.useIndex(false)),
  useLsm: merging((merge) => merge.useLsm(false)),
  useLsmWrite: merging((merge) => (merge as unknown as FormerMerge).useLsmWrite(false)),
  validateSingleShard: merging((merge) => merge.validateSingleShard(false)),
  execute: merging((merge) => merge.whenMatchedUpdateAll()),
};

function indexed(column: string, config: (index: LanceDb['Index']) => unknown): Probe {
  return onNew(async (table, { lancedb }) => {
    await table.createIndex(column, { config: config(lancedb.Index) as never });
    return (await table.listIndices()).map(toIndex);
  });
}

function toIndex({ name, columns, indexType }: IndexConfig): unknown {
  return { name, columns, indexType };
}

export const INDEX: Probes = {
  ivfPq: indexed('vector', (index) => index.ivfPq({ numPartitions: 1, numSubVectors: 2 })),
  ivfRq: indexed('vector', (index) => index.ivfRq({ numPartitions: 1 })),
  ivfFlat: indexed('vector', (index) => index.ivfFlat({ numPartitions: 1 })),
  btree: indexed('id', (index) => index.btree()),
  bitmap: indexed('text', (index) => index.bitmap()),
  labelList: async (side) => {
    const table = await side.db.createTable(side.name(), [{ id: 1, labels: ['a', 'b'] }]);
    await table.createIndex('labels', { config: side.lancedb.Index.labelList() });
    return [(await table.listIndices()).map(toIndex), await table.countRows("array_has_any(labels, ['b'])")];
  },
  fm: indexed('text', (index) => index.fm()),
  fts: indexed('text', (index) => index.fts()),
  hnswPq: indexed('vector', (index) => index.hnswPq({ numPartitions: 1, numSubVectors: 2 })),
  hnswSq: indexed('vector', (index) => index.hnswSq({ numPartitions: 1 })),
};

function permuted(build: (builder: PermutationBuilder) => PermutationBuilder): Probe {
  return async (side) => {
    const table: Table = await build(side.lancedb.permutationBuilder(side.items)).execute();
    return [(await table.schema()).fields.map(({ name }) => name).toSorted(), await table.countRows()];
  };
}

export const PERMUTATION: Probes = {
  persist: async (side) => {
    const builder = side.lancedb.permutationBuilder(side.items).persist(side.db, side.name());
    return (await builder.execute()).countRows();
  },
  splitRandom: permuted((builder) => builder.splitRandom({ counts: [200, 100], seed: 1 })),
  splitHash: permuted((builder) => builder.splitHash({ columns: ['id'], splitWeights: [1, 1] })),
  splitSequential: permuted((builder) => builder.splitSequential({ counts: [200, 100] })),
  splitCalculated: permuted((builder) => builder.splitCalculated({ calculation: 'id % 2' })),
  shuffle: permuted((builder) => builder.shuffle({ seed: 1 })),
  filter: permuted((builder) => builder.filter('id < 10')),
  execute: permuted((builder) => builder),
};
