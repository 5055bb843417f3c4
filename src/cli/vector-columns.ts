import type { ApiClient } from '../client/api-client.ts';
import type { State } from '../client/indexes.ts';
import { describeTable } from '../client/tables.ts';
import type { TablePath } from '../model/identifier.ts';
import { findDimension, listColumns } from '../plans/table-facts.ts';
import type { SchemaJson } from '../wire/schema-json.ts';

/** The columns of a table that can be searched by a vector, by their paths. */
export async function listVectorColumns(client: ApiClient, table: TablePath, state: State): Promise<readonly string[]> {
  const { schema } = await describeTable(client, table, state);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The server describes a schema in this form.
  const columns = listColumns(schema as SchemaJson | undefined);
  return columns.filter(({ type }) => findDimension(type) !== undefined).map(({ path }) => path);
}
