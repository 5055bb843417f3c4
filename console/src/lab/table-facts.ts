import type { ApiClient } from '../../../src/client/api-client.ts';
import { listBranches, listVersions } from '../../../src/client/history.ts';
import { listIndexes, describeTable, tableStats } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { findDimension, listColumns } from '../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';
import type { IndexContent } from '../../../src/wire/indexes.ts';
import type { SchemaJson } from '../../../src/wire/schema/schema-json.ts';
import type { TableStatsReply } from '../../../src/wire/tables.ts';

export interface TableFacts {
  readonly schema: SchemaJson;
  readonly columns: readonly ColumnFact[];
  readonly vectorColumns: readonly ColumnFact[];
  readonly textColumns: readonly string[];
  readonly indexes: readonly IndexContent[];
  readonly stats: TableStatsReply;
  readonly version: number;
  readonly versions: readonly number[];
  readonly branches: readonly string[];
}

const VERSIONS_SHOWN_MAX = 50;

export async function loadFacts(client: ApiClient, table: TablePath): Promise<TableFacts> {
  const [described, indexes, stats, versions, branches] = await Promise.all([
    describeTable(client, table),
    listIndexes(client, table),
    tableStats(client, table),
    listVersions(client, table, { limit: VERSIONS_SHOWN_MAX }),
    listBranches(client, table),
  ]);
  const schema = toSchema(described.schema);
  const columns = listColumns(schema);
  return {
    schema,
    columns,
    vectorColumns: columns.filter(({ type }) => findDimension(type) !== undefined),
    textColumns: columns.filter(({ type }) => /utf8/.test(type.type)).map(({ path }) => path),
    indexes,
    stats,
    version: described.version ?? 0,
    versions: versions.map(({ version }) => version),
    branches: Object.keys(branches),
  };
}

/** The wire type of the reply does not include the schema. */
export function toSchema(value: object | undefined): SchemaJson {
  if (value === undefined || !('fields' in value) || !Array.isArray(value.fields)) return { fields: [] };
  return { fields: value.fields };
}
