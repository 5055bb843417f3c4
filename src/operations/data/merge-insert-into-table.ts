import { pullChunks, releaseChunks } from '../../arrow/stream/chunk-source.ts';
import type { MergeCounts } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { Limits } from '../../model/limits.ts';
import type { Schema } from '../../model/schema.ts';
import { formatByteLimit } from '../../model/value-text.ts';
import { MergeInsertQuery, MergeInsertReply } from '../../wire/data.ts';
import type { Fields } from '../../writes/writes.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { TableIngestRequest } from '../operation.ts';
import { replyToWrite, runWrite } from '../shared/write-reply.ts';
import { fillIfDeclared } from '../tables/new-table.ts';
import { readMergeSettings } from './merge-settings.ts';

export const mergeInsertIntoTable = defineTableOperation({
  id: 'merge_insert_into_table',
  path: '/v1/table/:id/merge_insert',
  summary: 'Upsert: update rows that match, insert or delete others',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'arrow' },
  query: MergeInsertQuery,
  replies: [json(MergeInsertReply, 'The number of changed rows and the resulting version.')],
  async run(request, services) {
    const { limits } = services;
    const settings = readMergeSettings(request, limits.sql, performance.now());
    const { branch } = request.query;
    const checkKeys = (schema: Schema): void => services.engine.commits.checkMergeKeys(settings.on, schema);
    // A merge that inserts nothing creates no table: a declared one without data counts as missing.
    const filled = settings.insertNew
      ? await fillIfDeclared(request, services, toCountsOfNewRows, checkKeys)
      : ({ kind: 'existing', table: request.table } as const);
    if (filled.kind === 'filled') return replyToWrite(filled.result);
    const { schema, source } = await openWhole(request, limits);
    try {
      const [chunk, second] = source.pulled;
      if (chunk === undefined) throw new Error('The stream gave no chunk, not even one for its schema.');
      if (second !== undefined) throw tooLarge(limits, undefined);
      return await runWrite({ ...request, table: filled.table }, services, {
        branch,
        plan: services.engine.commits.merge({ schema, chunk }, settings),
        // Matching rows are not new, but only the engine finds out which match.
        growth: { rows: settings.insertNew ? chunk.rows : 0, bytes: chunk.file.length },
        // The commit does not contain how many rows were deleted because no row matched them.
        rule: { from: settings.deleteOthers ? 'nothing' : 'upsert' },
        toFields: toCounts,
      });
    } finally {
      if (source.pulled.length > 1) await source.rest.return?.();
      releaseChunks(source);
    }
  },
});

/** The engine needs the rows of a merge as one file in memory, so the whole stream must be one chunk. */
async function openWhole(request: TableIngestRequest, limits: Limits) {
  const streamBytesMax = Math.min(limits.arrow.streamBytesMax, limits.engine.mergeBytesMax);
  try {
    const stream = await request.openStream({ streamBytesMax, chunkBytes: 2 * streamBytesMax });
    return { schema: stream.schema, source: await pullChunks(stream, 2) };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'PayloadTooLarge') throw error;
    throw tooLarge(limits, error);
  }
}

function tooLarge({ engine }: Limits, cause: unknown): ServiceError {
  return new ServiceError(
    'PayloadTooLarge',
    `The rows of a merge can have at most ${formatByteLimit(engine.mergeBytesMax)}.`,
    {
      hint: 'Split them by key into several merges, send each dictionary once, or ask an operator to raise engine.mergeBytesMax.',
      cause,
    },
  );
}

/** For rows that fill a declared table, which are all new. */
function toCountsOfNewRows({ rows }: { readonly rows: number }): Fields {
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
