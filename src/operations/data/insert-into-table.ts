import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import {
  InsertQuery,
  InsertReply,
  AbortUploadReply,
  BeginUploadQuery,
  BeginUploadReply,
  CompleteUploadReply,
  EndUploadQuery,
} from '../../wire/data.ts';
import { defineTableIngest, defineTableOperation, json } from '../operation.ts';
import type { Reply, TableIngestRequest, TableRequest } from '../operation.ts';
import type { InsertMode, UploadKey } from '../../writes/writes.ts';
import type { Services } from '../services.ts';
import { describeWrite, replyToWrite } from '../shared/write-reply.ts';
import { findFilled } from './fill-declared.ts';
import { readBranch, readTarget } from '../shared/table-state.ts';

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
  run: insertRows,
});

async function insertRows(request: TableIngestRequest, services: Services): Promise<Reply> {
  const mode = readMode(request.query['mode']);
  if (request.query['upload_id'] !== undefined) return insertPart(request, mode, services);
  const branch = readBranch(request.query);
  const filled = await findFilled(request, services, ({ rows }) => ({ num_inserted_rows: rows }));
  if (filled.kind === 'filled') return replyToWrite(filled.result);
  const write = {
    ...describeWrite({ ...request, table: filled.table }, branch),
    recordedAs: mode === 'append' ? 'insert_into_table' : 'overwrite_table',
    mode,
    toFields: ({ rows }: { readonly rows: number }) => ({ num_inserted_rows: rows }),
  };
  return replyToWrite(await services.writes.insert(write, await request.openStream()));
}

async function insertPart(request: TableIngestRequest, mode: InsertMode, services: Services): Promise<Reply> {
  const { table, caller, query } = request;
  const upload = { id: query['upload_id'] ?? '', owner: caller.id, target: readTarget(table, query) };
  const options = { mode, name: query['upload_part_id'] };
  const rows = await services.writes.insertPart(upload, async () => request.openStream(), options);
  const reply: InsertReply = { num_inserted_rows: rows };
  return { kind: 'object', body: reply };
}

/** Case and underscore do not matter: clients write `overwrite`, `Overwrite` and `OVERWRITE`. */
function readMode(text = 'append'): InsertMode {
  const word = text.toLowerCase().replaceAll('_', '');
  if (word === 'append' || word === 'overwrite') return word;
  throw new ServiceError('InvalidInput', `The mode ${quoteForMessage(text)} is not known.`, {
    hint: 'The modes are append and overwrite.',
  });
}

/** An insert in several requests: begin it, insert parts with its `upload_id`, then complete or abort it. */

export const createMultipartWrite = defineTableOperation({
  id: 'create_multipart_write',
  path: '/v1/table/:id/multipart_write/create',
  summary: 'Begin an insert of several parts',
  permission: 'write',
  body: { kind: 'none' },
  query: BeginUploadQuery,
  replies: [json(BeginUploadReply, 'The name of the upload.')],
  run: beginUpload,
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
  run: completeUpload,
});

export const abortMultipartWrite = defineTableOperation({
  id: 'abort_multipart_write',
  path: '/v1/table/:id/multipart_write/abort',
  summary: 'Drop an upload and its parts',
  permission: 'write',
  body: { kind: 'none' },
  query: EndUploadQuery,
  replies: [json(AbortUploadReply, 'The upload is gone.')],
  run: abortUpload,
});

async function beginUpload(request: TableRequest, services: Services): Promise<Reply> {
  const target = readTarget(request.table, request.query);
  // Nothing is begun on a branch that is not there.
  await services.engine.describeTable({ ...target, version: undefined });
  const id = await services.writes.beginUpload({ owner: request.caller.id, target });
  return { kind: 'object', body: { upload_id: id } };
}

async function completeUpload(request: TableRequest, services: Services): Promise<Reply> {
  const upload = readUpload(request);
  const result = await services.writes.completeUpload(upload, {
    ...describeWrite(request, upload.target.branch),
    recordedAs: 'insert_into_table',
    toFields: ({ rows }) => ({ num_inserted_rows: rows }),
  });
  return replyToWrite(result);
}

async function abortUpload(request: TableRequest, services: Services): Promise<Reply> {
  const upload = readUpload(request);
  await services.writes.abortUpload(upload);
  return { kind: 'object', body: { upload_id: upload.id } };
}

function readUpload({ table, caller, query }: TableRequest): UploadKey {
  const id = query['upload_id'];
  if (id === undefined) throw new ServiceError('InvalidInput', 'The query parameter upload_id is missing.');
  return { id, owner: caller.id, target: readTarget(table, query) };
}
