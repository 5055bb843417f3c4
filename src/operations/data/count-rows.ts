import { Type } from 'typebox';
import { guardSql } from '../../guard/sql.ts';
import { CountRowsBody } from '../../wire/data.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { readPatience } from './patience.ts';
import { toFilterShape } from './query-shape.ts';
import { VERSION_HEADER } from './version-header.ts';
import { watchQuery } from './watch-query.ts';

export const countRows = defineTableOperation({
  id: 'count_table_rows',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/count_rows',
  summary: 'Count rows',
  permission: 'read',
  body: { kind: 'json', shape: CountRowsBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: Type.Integer({ minimum: 0 }), description: 'The number of rows.' }],
  statuses: [],
  run: count,
});

async function count(request: TableRequest<CountRowsBody>, services: Services): Promise<Reply> {
  const { body, table } = request;
  const predicate =
    body.predicate === undefined
      ? undefined
      : guardSql(body.predicate, { name: 'predicate', field: 'predicate' }, services.limits.sql);
  const watched = { operation: countRows.id, request, shape: () => toFilterShape(predicate) };
  const { rows, version } = await watchQuery(watched, services, async () =>
    services.engine.rows.count(toTableState(table, body), predicate, readPatience(request)),
  );
  return { kind: 'value', value: rows, headers: { [VERSION_HEADER]: String(version) } };
}
