import { ServiceError } from '../../errors/service-error.ts';
import { guardProperties } from '../../guard/metadata.ts';
import { guardSql } from '../../guard/sql/guard-sql.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import type { SqlLimits } from '../../model/limits.ts';
import { UpdateTableBody, UpdateTableReply } from '../../wire/data.ts';
import { defineTableOperation, json } from '../operation.ts';
import { describeWrite, requireSuccess, toFrame } from '../shared/write-reply.ts';

export const updateTable = defineTableOperation({
  id: 'update_table',
  path: '/v1/table/:id/update',
  summary: 'Update rows with SQL expressions',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: UpdateTableBody },
  replies: [json(UpdateTableReply, 'How many rows, at which version.')],
  statuses: [412],
  async run(request, services) {
    const { table, body } = request;
    const { limits } = services;
    const assignments = readAssignments(body, limits.sql);
    const predicate = readPredicate(body, limits.sql);
    if (body.properties !== undefined) guardProperties(body.properties, 'properties', limits.metadata);

    const target = { location: table.location, branch: body.branch };
    const success = requireSuccess(
      await services.writes.run({
        ...describeWrite(request, body.branch),
        plan: services.engine.commits.update(target, { assignments, predicate }),
        properties: body.properties,
        rule: { from: 'added-rows', names: ['updated_rows', 'rows_updated'] },
        toFields: ({ rowsUpdated }) => ({ updated_rows: rowsUpdated, rows_updated: rowsUpdated }),
      }),
    );
    // A replayed result does not keep them.
    const { fields, version, transactionId, properties = table.properties } = success;
    const reply = { ...fields, version, properties, transaction_id: transactionId };
    return { kind: 'object', body: reply, ...toFrame(success) };
  },
});

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
    expression: guardSql(expression, { name: 'expression', field: `updates[${index}] expression` }, limits),
  }));
}

function readPredicate(body: UpdateTableBody, limits: SqlLimits) {
  if (body.predicate === undefined) return undefined;
  return guardSql(body.predicate, { name: 'predicate', field: 'predicate' }, limits);
}
