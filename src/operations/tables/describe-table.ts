import { nameOf, namespaceOf } from '../../model/identifier.ts';
import { placeLocation } from '../../model/table.ts';
import { toSchemaJson } from '../../wire/schema-json.ts';
import { DelimiterQuery, DescribeTableBody, DescribeTableReply } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';

export const describeTable = defineTableOperation({
  id: 'describe_table',
  methods: ['POST'],
  path: '/v1/table/:id/describe',
  summary: 'Describe a table: version, schema, location, properties',
  permission: 'read',
  body: { kind: 'json', shape: DescribeTableBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: DescribeTableReply, description: 'The table.' }],
  statuses: [],
  run: describe,
});

async function describe(request: TableRequest<DescribeTableBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const { version, schema } = await services.engine.describeTable(toTableState(table, body));
  const reply: DescribeTableReply = {
    table: nameOf(table.path),
    namespace: [...namespaceOf(table.path)],
    version,
    location: placeLocation(table.place),
    table_uri: placeLocation(table.place),
    schema: toSchemaJson(schema, request.dialect),
    storage_options: {},
    properties: { ...table.properties },
  };
  return { kind: 'object', body: reply };
}
