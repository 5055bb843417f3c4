import type { MetadataLimits, QueryLimits, SqlLimits } from '../../src/model/limits.ts';

export const sqlLimits: SqlLimits = {
  charactersMax: 1_000_000,
  operatorsMax: 256,
  depthMax: 24,
  coalesceDepthMax: 6,
  listItemsMax: 200_000,
  growthMax: 32,
  computedBytesMax: 65_536,
  fullTextDepthMax: 32,
  fullTextClausesMax: 256,
  fullTextCharactersMax: 65_536,
  fullTextCostMax: 20_000,
  updatesMax: 100,
};

export const queryLimits: QueryLimits = {
  kMax: 10_000,
  offsetMax: 1_000_000,
  vectorsMax: 16,
  dimensionsMax: 4096,
  nprobesMax: 4096,
  refineFactorMax: 100,
  efMax: 10_000,
  columnsMax: 2000,
  seconds: 60,
  memoryBytesMax: 2 ** 30,
  memoryPerCallerBytesMax: 2 ** 29,
  memoryPerRequestBytesMax: 2 ** 29,
  memoryWaitSeconds: 1,
  residentBytesMax: 2 ** 40,
  diffRowsMax: 1_000_000,
  diffShownMax: 1000,
  diffBytesMax: 1_000_000,
  cacheBytes: 0,
  cachedResultBytesMax: 65_536,
};

export const metadataLimits: MetadataLimits = {
  entriesMax: 8,
  keyBytesMax: 64,
  valueBytesMax: 256,
  propertiesMax: 4,
  propertiesBytesMax: 300,
  versionBytesMax: 512,
};
