import { formatFieldPath } from '../../model/field-path.ts';
import type { IndexRequest } from '../../model/index-spec.ts';
import { locationKey } from '../../model/table.ts';
import { CreateIndexBody, CreateIndexReply } from '../../wire/indexes.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Operation, Reply, TableRequest } from '../operation.ts';
import { readPreferredWait, waitFor } from '../shared/wait-for-job.ts';
import { recordCommit } from '../shared/record-commit.ts';
import type { Services } from '../services.ts';
import { readIndexRequest } from './read-index.ts';

type CreateIndexRequest = TableRequest<CreateIndexBody>;

export const createIndex = defineCreate({
  id: 'create_table_index',
  path: '/v1/table/:id/create_index',
  summary: 'Build an index on a field: vector, scalar or full text',
  kinds: 'all',
});

export const createScalarIndex = defineCreate({
  id: 'create_table_scalar_index',
  path: '/v1/table/:id/create_scalar_index',
  summary: 'Build a scalar or full-text index on a field',
  kinds: 'scalar',
});

interface CreateDefinition {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  readonly kinds: 'all' | 'scalar';
}

function defineCreate({ id, path, summary, kinds }: CreateDefinition): Operation {
  return defineTableOperation({
    id,
    path,
    summary,
    permission: 'write',
    body: { kind: 'json', shape: CreateIndexBody },
    replies: [json(CreateIndexReply, 'The index; or, with status 202, the job that builds it.')],
    statuses: [406, 409],
    run: async (request, services) => buildIndex(request, services, kinds),
  });
}

async function buildIndex(
  request: CreateIndexRequest,
  services: Services,
  kinds: CreateDefinition['kinds'],
): Promise<Reply> {
  const isStrict = request.dialect === 'lance';
  const index = readIndexRequest(request.body, { limits: services.limits.index, isStrict, kinds });
  const { engine } = services;
  await engine.indexes.check(toTarget(request), index);

  const job = services.jobs.start(toSubject(request, index), async (enter) => {
    const { version } = await services.writes.background.buildIndex(toTarget(request), index, enter);
    return recordIndex(request, services, version);
  });
  const seconds = readPreferredWait(request.header('prefer'), services.limits.jobs.answerSeconds);
  const result = await waitFor(job.outcome, seconds);

  const named = { index_name: index.name, job_id: job.id };
  if (result === undefined) return { kind: 'object', status: 202, body: { ...named, job_state: 'IN_PROGRESS' } };
  const reply: CreateIndexReply = { ...named, job_state: 'DONE', ...result };
  return { kind: 'object', body: reply };
}

function toTarget({ table, body }: CreateIndexRequest) {
  return { location: table.location, branch: body.branch };
}

function toSubject(request: CreateIndexRequest, index: IndexRequest) {
  const { table, body, caller, database, requestId } = request;
  return {
    kind: 'create_index',
    databaseId: database.id,
    table: table.path,
    tableId: table.id,
    caller: caller.id,
    lane: `${locationKey(table.location)}\u0000${body.branch ?? ''}`,
    // The LanceDB client sends a request that took too long again, with the same id.
    sameAs: JSON.stringify([requestId, table.id, body.branch ?? null, index]),
    spec: {
      column: formatFieldPath(index.column),
      index_name: index.name,
      index_type: index.spec.type,
      ...(body.branch === undefined ? {} : { branch: body.branch }),
    },
  };
}

async function recordIndex(request: CreateIndexRequest, services: Services, version: number) {
  const { table, body, caller, requestId } = request;
  const { transaction_id } = await recordCommit(services, table, {
    operation: 'create_table_index',
    caller: caller.id,
    requestId,
    version,
    ...(body.branch === undefined ? {} : { branch: body.branch }),
  });
  return { version, ...(transaction_id === undefined ? {} : { transaction_id }) };
}
