import type { ApiClient } from '../../../src/client/api-client.ts';
import { describeEmbeddings } from '../../../src/client/columns.ts';
import { listBranches, listVersions } from '../../../src/client/history.ts';
import { listIndexes, describeTable, tableStats } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { findDimension, listColumns } from '../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';
import { isSortable } from '../parts/grid/field-type.ts';
import type { IndexContent } from '../../../src/wire/indexes.ts';
import type { SchemaJson } from '../../../src/wire/schema/schema-json.ts';
import type { TableStatsReply } from '../../../src/wire/tables.ts';

export interface TableFacts {
  readonly schema: SchemaJson;
  readonly columns: readonly ColumnFact[];
  readonly vectorColumns: readonly ColumnFact[];
  readonly textColumns: readonly string[];
  /** Columns with one plain value per row. */
  readonly colourColumns: readonly string[];
  readonly indexes: readonly IndexContent[];
  readonly stats: TableStatsReply;
  readonly version: number;
  readonly versions: readonly number[];
  readonly branches: readonly string[];
  /** The models that the server can embed with; empty without an embedding provider. */
  readonly embeddingModels: readonly string[];
}

const VERSIONS_SHOWN_MAX = 50;

export async function loadFacts(client: ApiClient, table: TablePath): Promise<TableFacts> {
  const [described, indexes, stats, versions, branches, embeddings] = await Promise.all([
    describeTable(client, table),
    listIndexes(client, table),
    tableStats(client, table),
    listVersions(client, table, { limit: VERSIONS_SHOWN_MAX }),
    listBranches(client, table),
    describeEmbeddings(client),
  ]);
  const schema = toSchema(described.schema);
  const columns = listColumns(schema);
  return {
    schema,
    columns,
    vectorColumns: columns.filter(({ type }) => findDimension(type) !== undefined),
    textColumns: columns.filter(({ type }) => /utf8/.test(type.type)).map(({ path }) => path),
    colourColumns: columns
      .filter(({ type }) => isSortable(type) && !type.type.startsWith('decimal'))
      .map(({ path }) => path),
    indexes,
    stats,
    version: described.version ?? 0,
    versions: versions.map(({ version }) => version),
    branches: Object.keys(branches),
    embeddingModels: embeddings.models,
  };
}

/** The wire type of the reply does not include the schema. */
export function toSchema(value: object | undefined): SchemaJson {
  if (value === undefined || !('fields' in value) || !Array.isArray(value.fields)) return { fields: [] };
  const { fields } = value;
  return 'metadata' in value ? { fields, metadata: Object(value.metadata) } : { fields };
}
