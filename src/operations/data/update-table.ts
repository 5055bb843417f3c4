import type { UpdatedRows } from '../../engine/engine.ts';
import { guardTableProperties } from '../../guard/metadata.ts';
import { guardSql } from '../../guard/sql/guard-sql.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import type { SqlLimits } from '../../model/limits.ts';
import { UpdateTableBody, UpdateTableReply } from '../../wire/data.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { requireEntries } from '../shared/parameters.ts';
import { SOME_BYTES, describeWrite, replyToWrite } from '../shared/write-reply.ts';
import { readSql } from './read-query.ts';

export const updateTable = defineTableOperation({
  id: 'update_table',
  path: '/v1/table/:id/update',
  summary: 'Update rows with SQL expressions',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: UpdateTableBody },
  replies: [json(UpdateTableReply, 'The number of updated rows and the resulting version.')],
  async run(request, services) {
    const { table, body } = request;
    const { properties } = body;
    if (properties === undefined) return runUpdate(request, services);
    return services.writes.serialize(table.id, async () => {
      const current = await services.catalog.tables.findById(table.id);
      guardTableProperties(properties, services.limits.metadata, current?.properties);
      return runUpdate(request, services);
    });
  },
});

async function runUpdate(request: TableRequest<UpdateTableBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const { limits } = services;
  const assignments = readAssignments(body, limits.sql);
  const predicate = readSql('predicate', body.predicate, limits.sql);
  const target = { location: table.location, branch: body.branch };
  const { commits } = services.engine;
  const update = { assignments, predicate };
  const write = {
    ...describeWrite(request, body.branch),
    properties: body.properties,
    growth: SOME_BYTES,
    toFields: ({ rowsUpdated }: UpdatedRows) => ({ updated_rows: rowsUpdated, rows_updated: rowsUpdated }),
  };
  const crossed = commits.crossedUpdate(target, update);
  let result =
    crossed === undefined
      ? await services.writes.run({
          ...write,
          plan: commits.update(target, update),
          rule: { from: 'added-rows', names: ['updated_rows', 'rows_updated'] },
        })
      : await services.writes.runSeveral({ ...write, plan: crossed });
  if (result.kind === 'refused' && commits.needsTwoCommits(result.error))
    result = await services.writes.runSeveral({
      ...write,
      // Already admitted.
      growth: undefined,
      plan: commits.recomputingUpdate(target, update),
    });
  // Release 0.41 of the LanceDB client for Rust reads both names as one field, and refuses a reply that contains both.
  const hidden = request.dialect === 'lancedb' ? { updated_rows: undefined } : {};
  return replyToWrite(result, ({ properties = table.properties }) => ({ ...hidden, properties }));
}

function readAssignments(body: UpdateTableBody, limits: SqlLimits) {
  const hint = 'Give at least one pair of field path and expression, such as ["price", "price * 2"].';
  requireEntries('updates', body.updates.length, { maximum: limits.updatesMax, noun: 'pairs', hint });
  return body.updates.map(([path, expression], index) => ({
    path: parseFieldPath(path),
    expression: guardSql(expression, { name: 'expression', field: `updates[${index}] expression` }, limits),
  }));
}
