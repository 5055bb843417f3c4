import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import {
  AbortUploadReply,
  BeginUploadReply,
  CompleteUploadReply,
  EndUploadQuery,
  InsertQuery,
  InsertReply,
} from '../../wire/data.ts';
import { BranchQuery } from '../../wire/shapes.ts';
import type { InsertMode, UploadKey } from '../../writes/writes.ts';
import { defineTableIngest, defineTableOperation, json, objectReply } from '../operation.ts';
import type { Reply, TableIngestRequest, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { readBranch, readTarget } from '../shared/table-state.ts';
import { describeWrite, replyToWrite } from '../shared/write-reply.ts';
import { fillIfDeclared } from '../tables/new-table.ts';

export const insertIntoTable = defineTableIngest({
  id: 'insert_into_table',
  path: '/v1/table/:id/insert',
  summary: 'Add the rows of an Arrow IPC stream, or replace all rows by them',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'arrow' },
  query: InsertQuery,
  replies: [json(InsertReply, 'How many rows, at which version.')],
  statuses: [412, 413],
  async run(request, services) {
    const mode = readMode(request.query['mode']);
    const uploadId = request.query['upload_id'];
    if (uploadId !== undefined) return insertPart(request, { uploadId, mode }, services);
    const branch = readBranch(request.query);
    const filled = await fillIfDeclared(request, services, toInsertedRows);
    if (filled.kind === 'filled') return replyToWrite(filled.result);
    const write = {
      ...describeWrite({ ...request, table: filled.table }, branch),
      recordedAs: mode === 'append' ? 'insert_into_table' : 'overwrite_table',
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
  summary: 'Begin an insert of several parts',
  permission: 'write',
  body: { kind: 'none' },
  query: BranchQuery,
  replies: [json(BeginUploadReply, 'The name of the upload.')],
  async run({ table, query, caller }, services) {
    const target = readTarget(table, query);
    // Refuses a branch that does not exist.
    await services.engine.describeTable({ ...target, version: undefined });
    const id = await services.writes.uploads.begin({ owner: caller.id, target });
    return { kind: 'object', body: { upload_id: id } };
  },
});

export const completeMultipartWrite = defineTableOperation({
  id: 'complete_multipart_write',
  path: '/v1/table/:id/multipart_write/complete',
  summary: 'Make all parts of an upload visible at once',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'none' },
  query: EndUploadQuery,
  replies: [json(CompleteUploadReply, 'How many rows, at which version.')],
  statuses: [412],
  async run(request, services) {
    const upload = readUpload(request);
    const result = await services.writes.uploads.complete(upload, {
      ...describeWrite(request, upload.target.branch),
      recordedAs: 'insert_into_table',
      toFields: toInsertedRows,
    });
    return replyToWrite(result);
  },
});

export const abortMultipartWrite = defineTableOperation({
  id: 'abort_multipart_write',
  path: '/v1/table/:id/multipart_write/abort',
  summary: 'Drop an upload and its parts',
  permission: 'write',
  body: { kind: 'none' },
  query: EndUploadQuery,
  replies: [json(AbortUploadReply, 'The upload is gone.')],
  async run(request, services) {
    const upload = readUpload(request);
    await services.writes.uploads.abort(upload);
    return { kind: 'object', body: { upload_id: upload.id } };
  },
});

async function insertPart(
  request: TableIngestRequest,
  { uploadId, mode }: { readonly uploadId: string; readonly mode: InsertMode },
  services: Services,
): Promise<Reply> {
  const { table, caller, query } = request;
  const upload = { id: uploadId, owner: caller.id, target: readTarget(table, query) };
  const options = { mode, name: query['upload_part_id'] };
  const rows = await services.writes.uploads.addPart(upload, async () => request.openStream(), options);
  return objectReply<InsertReply>(toInsertedRows({ rows }));
}

function toInsertedRows({ rows }: { readonly rows: number }) {
  return { num_inserted_rows: rows };
}

/** Case and underscore do not matter: clients write `overwrite`, `Overwrite` and `OVERWRITE`. */
function readMode(text = 'append'): InsertMode {
  const word = text.toLowerCase().replaceAll('_', '');
  if (word === 'append' || word === 'overwrite') return word;
  throw new ServiceError('InvalidInput', `The mode ${quoteForMessage(text)} is not known.`, {
    hint: 'The modes are append and overwrite.',
  });
}

function readUpload({ table, caller, query }: TableRequest): UploadKey {
  const id = query['upload_id'];
  if (id === undefined) throw new ServiceError('InvalidInput', 'The query parameter upload_id is missing.');
  return { id, owner: caller.id, target: readTarget(table, query) };
}
