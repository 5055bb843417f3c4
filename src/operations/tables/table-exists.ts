import { tableNotFound } from '../../model/refusals.ts';
import { TableExistsBody } from '../../wire/lifecycle.ts';
import { NoContent } from '../../wire/shapes.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { isOnlyDeclared } from './declared-tables.ts';

export const tableExists = defineTableOperation({
  id: 'table_exists',
  methods: ['POST'],
  path: '/v1/table/:id/exists',
  summary: 'Tell by the status whether a table, or a version of it, exists',
  permission: 'read',
  followsRename: 'never',
  body: { kind: 'json', shape: TableExistsBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: NoContent, description: 'It exists. No body.' }],
  statuses: [],
  run: exists,
});

/** As the description would answer, without it. */
async function exists(request: TableRequest<TableExistsBody>, services: Services): Promise<Reply> {
  const { table, body, dialect, delimiter } = request;
  if (await isOnlyDeclared(table, services)) {
    if (dialect === 'lance' && body.version === undefined) return { kind: 'empty' };
    throw tableNotFound(table.path, delimiter);
  }
  await services.engine.describeTable(toTableState(table, body));
  return { kind: 'empty' };
}
