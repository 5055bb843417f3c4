import type { MergeOutcome } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { Limits } from '../../model/limits.ts';
import { MergeInsertQuery, MergeInsertReply } from '../../wire/writes.ts';
import { defineTableIngest } from '../operation.ts';
import type { Reply, TableIngestRequest } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';
import type { FreshTable } from '../tables/create-table.ts';
import { findFilled } from './fill-declared.ts';
import { readMergeSettings } from './merge-settings.ts';
import { branchEntry, intendedTarget } from './write-target.ts';

export const mergeInsertIntoTable = defineTableIngest({
  id: 'merge_insert_into_table',
  methods: ['POST'],
  path: '/v1/table/:id/merge_insert',
  summary: 'Update the rows that match, insert the others, delete those that are not there',
  permission: 'write',
  isWrittenOnce: true,
  body: { kind: 'arrow' },
  query: MergeInsertQuery,
  replies: [
    { mediaType: 'application/json', shape: MergeInsertReply, description: 'How many rows, at which version.' },
  ],
  statuses: [408, 412, 413],
  run: mergeInsert,
});

async function mergeInsert(request: TableIngestRequest, services: Services): Promise<Reply> {
  const { caller, requestId, query } = request;
  const settings = readMergeSettings(request, services.limits.sql, performance.now());
  const table = await findFilled(request, services);
  if ('rows' in table) return toFirstReply(table);
  const target = intendedTarget(request, table, query);
  const outcome = await merge(services.limits, async () => {
    const stream = await request.openStream(toOnePiece(services.limits));
    return services.engine.writes.mergeRows(target, stream, settings);
  });

  const { transaction_id } = await recordCommit(services, table, {
    operation: 'merge_insert_into_table',
    caller: caller.id,
    requestId,
    version: outcome.version,
    ...branchEntry(target.branch),
    journal: request.intent?.commit(toCounts(outcome)),
  });
  return { kind: 'object', body: toReply(outcome, transaction_id) };
}

/** The engine takes the rows of a merge as one file in memory: the whole stream is one chunk. */
function toOnePiece({ arrow, engine }: Limits) {
  const streamBytesMax = Math.min(arrow.streamBytesMax, engine.mergeBytesMax);
  return { streamBytesMax, chunkBytes: 2 * streamBytesMax };
}

/** Whoever found the body too large, the caller hears what to do about it. */
async function merge({ engine }: Limits, work: () => Promise<MergeOutcome>): Promise<MergeOutcome> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'PayloadTooLarge') throw error;
    throw new ServiceError('PayloadTooLarge', `The rows of a merge take at most ${engine.mergeBytesMax} bytes.`, {
      hint: 'Split them by key into several merges, or ask the operator to raise engine.mergeBytesMax.',
      cause: error,
    });
  }
}

/** There were no rows to merge with, so that all of them are new. */
function toFirstReply({ reply, rows }: FreshTable): Reply {
  const counts = { rowsInserted: rows, rowsUpdated: 0, rowsDeleted: 0, rowsWritten: rows, attempts: 1 };
  return { kind: 'object', body: toReply({ version: reply.version, counts }, reply.transaction_id) };
}

function toReply({ version, counts }: MergeOutcome, transactionId: string | undefined): MergeInsertReply {
  const recorded = transactionId === undefined ? {} : { transaction_id: transactionId };
  return { version, ...toCounts({ version, counts }), ...recorded };
}

function toCounts({ counts }: MergeOutcome) {
  if (counts === undefined) return {};
  return {
    num_inserted_rows: counts.rowsInserted,
    num_updated_rows: counts.rowsUpdated,
    num_deleted_rows: counts.rowsDeleted,
    num_attempts: counts.attempts,
    num_rows: counts.rowsWritten,
  };
}
