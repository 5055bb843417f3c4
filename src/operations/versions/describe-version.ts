import { DelimiterQuery } from '../../wire/tables.ts';
import { DescribeVersionBody, DescribeVersionReply } from '../../wire/versions.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { toMeasuredShape } from './version-shape.ts';

export const describeVersion = defineTableOperation({
  id: 'describe_table_version',
  methods: ['POST'],
  path: '/v1/table/:id/version/describe',
  summary: 'Describe one version of a table, the latest when none is given',
  permission: 'read',
  body: { kind: 'json', shape: DescribeVersionBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: DescribeVersionReply, description: 'The version.' }],
  statuses: [],
  run: describe,
});

async function describe(request: TableRequest<DescribeVersionBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const found = await services.engine.versions.require(toTableState(table, body));
  const reply: DescribeVersionReply = { version: await toMeasuredShape(table.location, found, services) };
  return { kind: 'object', body: reply };
}
