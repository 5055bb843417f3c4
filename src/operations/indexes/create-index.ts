import { ServiceError } from '../../errors/service-error.ts';
import type { EnterPhase } from '../../jobs/jobs.ts';
import { formatFieldPath, parseFieldPath } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { readTextParameters } from '../../model/index-spec.ts';
import type { IndexRequest } from '../../model/index-spec.ts';
import { branchKey, isObjectRoot } from '../../model/table.ts';
import type { IndexTuning } from '../../model/tuning/search-tuning.ts';
import { CreateIndexBody, CreateIndexReply } from '../../wire/indexes.ts';
import { defineTableOperation, json, objectReply } from '../operation.ts';
import type { Operation, Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { orReport, recordCommit, toCommitEntry } from '../shared/record-commit.ts';
import { replyToJob } from '../shared/job-reply.ts';
import { toTableState } from '../shared/table-state.ts';
import { chooseIndex } from './choose-index.ts';
import type { ChosenIndex } from './choose-index.ts';
import { toIndexName, readIndexRequest } from './read-index.ts';
import type { IndexKinds } from './read-index.ts';
import { toSearchContent } from './search-content.ts';

export const createIndex = defineCreate('all', {
  id: 'create_table_index',
  path: '/v1/table/:id/create_index',
  summary: 'Create a vector, scalar or full-text index',
});

export const createScalarIndex = defineCreate('scalar', {
  id: 'create_table_scalar_index',
  path: '/v1/table/:id/create_scalar_index',
  summary: 'Create a scalar or full-text index',
});

function defineCreate(kinds: IndexKinds, names: Pick<Operation, 'id' | 'path' | 'summary'>): Operation {
  return defineTableOperation({
    ...names,
    permission: 'write',
    body: { kind: 'json', shape: CreateIndexBody },
    replies: [json(CreateIndexReply, 'The index; or, with status 202, the job that builds it.')],
    statuses: [409],
    run: async (request, services) => buildIndex(request, services, kinds),
  });
}

type CreateIndexRequest = TableRequest<CreateIndexBody>;

async function buildIndex(request: CreateIndexRequest, services: Services, kinds: IndexKinds): Promise<Reply> {
  const { branch } = request.body;
  const chosen = request.body.index_type === undefined ? await chooseIndex(request, services) : undefined;
  const kept = chosen && (await keepParameters(request, services, chosen));
  const body = { ...kept, ...request.body, index_type: request.body.index_type ?? chosen?.type ?? '' };
  const index = readIndexRequest({ ...request, body }, kinds, services.limits.index);
  const target = { location: request.table.location, branch };
  await services.engine.indexes.check(target, index);

  const job = services.jobs.start(toSubject(request, index, chosen), async (enter) => {
    const startedAt = performance.now();
    const { writes } = services;
    const written = { table: request.table, branch };
    const { version } = await writes.background.buildIndex(target, index, enter, {
      requireUndone: () => writes.inDoubtWrites.requireUndone(written),
      outlastOthers: async () => writes.outlastOthers(written),
    });
    const buildMilliseconds = performance.now() - startedAt;
    const entry = { ...toCommitEntry(request, version), operation: 'create_table_index', branch };
    const transactionId = await recordCommit(request, services, entry);
    if (transactionId === undefined && branch === undefined) await showVersion(request, services, version);
    const tuning = await tuneIndex(request, services, { index, buildMilliseconds, enter });
    return { version, transaction_id: transactionId, ...(tuning && { search: toSearchContent(tuning) }) };
  });
  return replyToJob(job, request, services, (progress, result) =>
    objectReply<typeof CreateIndexReply>({
      index_name: index.name,
      index_type: index.spec.type,
      index_type_reason: chosen?.reason,
      ...progress,
      ...result,
    }),
  );
}

/**
 * Without a type in the request, an index is rebuilt with the same parameters, so that it finds what it found before.
 * An index of another type may serve other queries: only a request that names the type replaces it.
 */
async function keepParameters(
  request: CreateIndexRequest,
  { engine }: Services,
  { type }: ChosenIndex,
): Promise<Partial<CreateIndexBody>> {
  const { table, body } = request;
  const state = toTableState(table, { branch: body.branch });
  const indexes = await engine.indexes.list(state).catch((error: unknown) => {
    // The engine cannot list the indexes of some branches.
    if (error instanceof ServiceError && error.kind === 'Unsupported') return [];
    throw error;
  });
  const name = toIndexName(body);
  const column = formatFieldPath(parseFieldPath(body.column));
  const same = indexes.find((each) => each.name === name && each.columns.length === 1 && each.columns[0] === column);
  if (same === undefined) return {};
  if (same.type !== type) {
    throw new ServiceError(
      'TableIndexAlreadyExists',
      `The index ${quoteForMessage(name)} of this column has the type ${same.type}; the server chose ${type}.`,
      { hint: 'Give the type to replace it, or another name.' },
    );
  }
  if (type === 'FTS') return readTextParameters(same.details ?? '');
  if (body.distance_type !== undefined || body.metric_type !== undefined) return {};
  const statistics = await engine.indexes.findStatistics(state, name);
  return statistics?.distanceType === undefined ? {} : { distance_type: statistics.distanceType };
}

interface BuiltIndex {
  readonly index: IndexRequest;
  readonly buildMilliseconds: number;
  readonly enter: EnterPhase;
}

/** The index already exists, so errors in tuning must not fail its build. */
async function tuneIndex(
  { table, body }: CreateIndexRequest,
  { tuner }: Services,
  { index, buildMilliseconds, enter }: BuiltIndex,
): Promise<IndexTuning | undefined> {
  if (index.spec.kind !== 'vector') return undefined;
  try {
    await enter('measuring');
  } catch {
    // Cancelled, but too late to stop the build.
    return undefined;
  }
  return tuner.tune(table, {
    index: index.name,
    branch: body.branch,
    target: index.recallTarget,
    buildMilliseconds,
  });
}

/** After a takeover this node cannot record the commit, but the index exists anyway. */
async function showVersion({ table }: CreateIndexRequest, services: Services, version: number): Promise<void> {
  if (!isObjectRoot(table.location.root)) return;
  await orReport('version of an index', services, async () => services.catalog.heads.advance(table.id, version));
}

function toSubject(
  { table, body, caller, database, requestId }: CreateIndexRequest,
  index: IndexRequest,
  chosen: ChosenIndex | undefined,
) {
  return {
    kind: 'create_index',
    databaseId: database.id,
    table: table.path,
    tableId: table.id,
    caller: caller.id,
    exclusiveKey: branchKey(table.location, body.branch),
    // The LanceDB client retries a timed-out request with the same request id.
    sameAs: JSON.stringify([requestId, table.id, body.branch ?? null, index]),
    spec: {
      column: formatFieldPath(index.column),
      index_name: index.name,
      index_type: index.spec.type,
      ...(chosen === undefined ? {} : { index_type_reason: chosen.reason }),
      branch: body.branch,
    },
  };
}
