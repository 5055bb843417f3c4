import { invalidInput } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { CompleteUploadReply, EndUploadQuery, InsertQuery, InsertReply, UploadReply } from '../../wire/data.ts';
import { BranchQuery } from '../../wire/shapes.ts';
import type { InsertMode, UploadKey } from '../../writes/writes.ts';
import { defineTableOperation, json, objectReply } from '../operation.ts';
import type { Reply, TableIngestRequest, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { readTarget } from '../shared/table-state.ts';
import { describeWrite, replyToWrite } from '../shared/write-reply.ts';
import { fillIfDeclared } from '../tables/new-table.ts';

export const insertIntoTable = defineTableOperation({
  id: 'insert_into_table',
  path: '/v1/table/:id/insert',
  summary: 'Insert the rows of an Arrow IPC stream, or overwrite the table with them',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'arrow' },
  query: InsertQuery,
  replies: [json(InsertReply, 'The number of inserted rows and the resulting version.')],
  async run(request, services) {
    const mode = readMode(request.query['mode']);
    if (request.query['upload_id'] !== undefined) return insertPart(request, mode, services);
    const { branch } = request.query;
    const filled = await fillIfDeclared(request, services, toInsertedRows);
    if (filled.kind === 'filled') return replyToWrite(filled.result);
    const write = {
      ...describeWrite({ ...request, table: filled.table }, branch),
      recordedAs: operationName(mode),
      mode,
      toFields: toInsertedRows,
    };
    return replyToWrite(await services.writes.insert(write, await request.openStream()));
  },
});

/** Begins an insert in several requests: they insert parts with its `upload_id`, then one completes or aborts it. */
export const createMultipartWrite = defineTableOperation({
  id: 'create_multipart_write',
  path: '/v1/table/:id/multipart_write/create',
  summary: 'Start a multipart insert',
  permission: 'write',
  query: BranchQuery,
  replies: [json(UploadReply, 'The id of the upload.')],
  async run({ table, query, caller, branchId }, services) {
    const target = readTarget(table, query);
    // Refuses a table without data.
    await services.engine.describeTable({ ...target, version: undefined });
    const upload_id = await services.writes.uploads.begin({ owner: caller.id, target, branchId });
    return objectReply<typeof UploadReply>({ upload_id });
  },
});

export const completeMultipartWrite = defineTableOperation({
  id: 'complete_multipart_write',
  path: '/v1/table/:id/multipart_write/complete',
  summary: 'Complete a multipart insert: all parts become visible at once',
  permission: 'write',
  usesPipeline: true,
  query: EndUploadQuery,
  replies: [json(CompleteUploadReply, 'The number of inserted rows and the resulting version.')],
  async run(request, services) {
    const upload = readUpload(request);
    const result = await services.writes.uploads.complete(upload, {
      ...describeWrite(request, upload.target.branch),
      recordedAs: operationName(services.writes.uploads.modeOf(upload)),
      toFields: toInsertedRows,
    });
    return replyToWrite(result);
  },
});

export const abortMultipartWrite = defineTableOperation({
  id: 'abort_multipart_write',
  path: '/v1/table/:id/multipart_write/abort',
  summary: 'Abort a multipart insert and delete its parts',
  permission: 'write',
  query: EndUploadQuery,
  replies: [json(UploadReply, 'The upload was aborted.')],
  async run(request, services) {
    const upload = readUpload(request);
    await services.writes.uploads.abort(upload);
    return objectReply<typeof UploadReply>({ upload_id: upload.id });
  },
});

async function insertPart(request: TableIngestRequest, mode: InsertMode, services: Services): Promise<Reply> {
  const options = { mode, name: request.query['upload_part_id'] };
  const rows = await services.writes.uploads.addPart(readUpload(request), async () => request.openStream(), options);
  return objectReply<typeof InsertReply>(toInsertedRows({ rows }));
}

function toInsertedRows({ rows }: { readonly rows: number }) {
  return { num_inserted_rows: rows };
}

/** Case and underscores do not matter: clients send `overwrite`, `Overwrite` and `OVERWRITE`. */
function readMode(text = 'append'): InsertMode {
  const word = text.toLowerCase().replaceAll('_', '');
  if (word === 'append' || word === 'overwrite') return word;
  throw invalidInput(`The mode ${quoteForMessage(text)} is unknown.`, 'Use append or overwrite.');
}

function operationName(mode: InsertMode): string {
  return mode === 'append' ? 'insert_into_table' : 'overwrite_table';
}

function readUpload({ table, caller, query, branchId }: TableRequest): UploadKey {
  const id = query['upload_id'];
  if (id === undefined) throw invalidInput('The query parameter upload_id is missing.');
  return { id, owner: caller.id, target: readTarget(table, query), branchId };
}
