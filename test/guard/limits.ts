import type { MetadataLimits, QueryLimits, SqlLimits } from '../../src/model/limits.ts';

export const sqlLimits: SqlLimits = {
  charactersMax: 1_000_000,
  operatorsMax: 256,
  depthMax: 24,
  coalesceDepthMax: 6,
  listItemsMax: 200_000,
  fullTextDepthMax: 32,
  fullTextClausesMax: 256,
  fullTextCharactersMax: 65_536,
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
};

export const metadataLimits: MetadataLimits = {
  entriesMax: 8,
  keyBytesMax: 64,
  valueBytesMax: 256,
  propertiesMax: 4,
};
