import { releaseChunks, pullChunks } from '../../arrow/stream/chunk-source.ts';
import type { MergeCounts } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { Limits } from '../../model/limits.ts';
import { MergeInsertQuery, MergeInsertReply } from '../../wire/data.ts';
import type { Fields } from '../../writes/writes.ts';
import { defineTableIngest, json } from '../operation.ts';
import type { Reply, TableIngestRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { describeWrite, replyToWrite } from '../shared/write-reply.ts';
import { findFilled } from './fill-declared.ts';
import { readMergeSettings } from './merge-settings.ts';
import { readBranch } from '../shared/table-state.ts';

export const mergeInsertIntoTable = defineTableIngest({
  id: 'merge_insert_into_table',
  path: '/v1/table/:id/merge_insert',
  summary: 'Update the rows that match, insert the others, delete those that are not there',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'arrow' },
  query: MergeInsertQuery,
  replies: [json(MergeInsertReply, 'How many rows, at which version.')],
  statuses: [408, 412, 413],
  run: mergeInsert,
});

async function mergeInsert(request: TableIngestRequest, services: Services): Promise<Reply> {
  const settings = readMergeSettings(request, services.limits.sql, performance.now());
  const branch = readBranch(request.query);
  const filled = await findFilled(request, services, toFirstCounts);
  if (filled.kind === 'filled') return replyToWrite(filled.result);
  const stream = await readWhole(services.limits, async () => request.openStream(toOnePiece(services.limits)));
  const source = await readWhole(services.limits, async () => pullChunks(stream, 2));
  try {
    const [chunk, second] = source.pulled;
    if (chunk === undefined) throw new Error('The stream gave no chunk, not even one for its schema.');
    if (second !== undefined) throw tooLarge(services.limits, undefined);
    const result = await services.writes.run({
      ...describeWrite({ ...request, table: filled.table }, branch),
      plan: services.engine.commits.merge({ schema: stream.schema, chunk }, settings),
      // How many rows were deleted for want of a match is not in the commit.
      rule: { from: settings.deleteOthers ? 'nothing' : 'upsert' },
      toFields: toCounts,
    });
    return replyToWrite(result);
  } finally {
    if (source.pulled.length > 1) await source.rest.return?.();
    releaseChunks(source);
  }
}

/** The engine takes the rows of a merge as one file in memory: the whole stream is one chunk. */
function toOnePiece({ arrow, engine }: Limits) {
  const streamBytesMax = Math.min(arrow.streamBytesMax, engine.mergeBytesMax);
  return { streamBytesMax, chunkBytes: 2 * streamBytesMax };
}

/** Whoever found the body too large, the caller hears what to do about it. */
async function readWhole<Value>(limits: Limits, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'PayloadTooLarge') throw error;
    throw tooLarge(limits, error);
  }
}

function tooLarge({ engine }: Limits, cause: unknown): ServiceError {
  return new ServiceError('PayloadTooLarge', `The rows of a merge take at most ${engine.mergeBytesMax} bytes.`, {
    hint: 'Split them by key into several merges, with each dictionary sent once; or ask the operator to raise engine.mergeBytesMax.',
    cause,
  });
}

/** There were no rows to merge with, so that all of them are new. */
function toFirstCounts({ rows }: { readonly rows: number }): Fields {
  return toCounts({ rowsInserted: rows, rowsUpdated: 0, rowsDeleted: 0, rowsWritten: rows, attempts: 1 });
}

function toCounts(counts: MergeCounts): Fields {
  return {
    num_inserted_rows: counts.rowsInserted,
    num_updated_rows: counts.rowsUpdated,
    num_deleted_rows: counts.rowsDeleted,
    num_attempts: counts.attempts,
    num_rows: counts.rowsWritten,
  };
}
