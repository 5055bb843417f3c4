import { ServiceError } from '../../errors/service-error.ts';
import { guardProperties } from '../../guard/metadata.ts';
import { guardSql } from '../../guard/sql.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import type { SqlLimits } from '../../model/limits.ts';
import { UpdateTableBody, UpdateTableReply } from '../../wire/data.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';

export const updateTable = defineTableOperation({
  id: 'update_table',
  methods: ['POST'],
  path: '/v1/table/:id/update',
  summary: 'Update rows with SQL expressions',
  permission: 'write',
  isWrittenOnce: true,
  body: { kind: 'json', shape: UpdateTableBody },
  query: DelimiterQuery,
  replies: [
    { mediaType: 'application/json', shape: UpdateTableReply, description: 'How many rows, at which version.' },
  ],
  statuses: [412],
  run: updateRows,
});

async function updateRows(request: TableRequest<UpdateTableBody>, services: Services): Promise<Reply> {
  const { table, caller, requestId, body } = request;
  const assignments = readAssignments(body, services.limits.sql);
  const predicate = readPredicate(body, services.limits.sql);
  if (body.properties !== undefined) guardProperties(body.properties, 'properties', services.limits.metadata);

  const intent = request.intent?.of(table, body.branch);
  const target = { place: table.place, branch: body.branch, leaving: request.signal, intent };
  const { rowsUpdated, version } = await services.engine.updateRows(target, { assignments, predicate });

  const recorded = await recordCommit(services, table, {
    operation: 'update_table',
    caller: caller.id,
    requestId,
    version,
    ...(body.branch === undefined ? {} : { branch: body.branch }),
    ...(body.properties === undefined ? {} : { properties: body.properties }),
    journal: request.intent?.commit({ updated_rows: rowsUpdated, rows_updated: rowsUpdated }),
  });
  const reply: UpdateTableReply = { updated_rows: rowsUpdated, rows_updated: rowsUpdated, version, ...recorded };
  return { kind: 'object', body: reply };
}

function readAssignments(body: UpdateTableBody, limits: SqlLimits) {
  if (body.updates.length === 0) {
    throw new ServiceError('InvalidInput', 'updates is empty.', {
      hint: 'Give at least one pair of field path and expression, such as ["price", "price * 2"].',
    });
  }
  if (body.updates.length > limits.updatesMax) {
    throw new ServiceError(
      'InvalidInput',
      `updates has ${body.updates.length} pairs; at most ${limits.updatesMax} are allowed.`,
    );
  }
  return body.updates.map(([path, expression], index) => ({
    path: parseFieldPath(path),
    expression: guardSql(expression, { name: 'expression', place: `updates[${index}] expression` }, limits),
  }));
}

function readPredicate(body: UpdateTableBody, limits: SqlLimits) {
  if (body.predicate === undefined) return undefined;
  return guardSql(body.predicate, { name: 'predicate', place: 'predicate' }, limits);
}
