import { ServiceError } from '../../errors/service-error.ts';
import {
  AbortUploadReply,
  BeginUploadQuery,
  BeginUploadReply,
  CompleteUploadReply,
  EndUploadQuery,
} from '../../wire/writes.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { UploadKey } from '../../writes/writes.ts';
import type { Services } from '../services.ts';
import { describeWrite, replyToWrite } from '../write-reply.ts';
import { readTarget } from './write-target.ts';

/** An insert in several requests: begin it, insert parts with its `upload_id`, then complete or abort it. */

export const createMultipartWrite = defineTableOperation({
  id: 'create_multipart_write',
  methods: ['POST'],
  path: '/v1/table/:id/multipart_write/create',
  summary: 'Begin an insert of several parts',
  permission: 'write',
  body: { kind: 'none' },
  query: BeginUploadQuery,
  replies: [{ mediaType: 'application/json', shape: BeginUploadReply, description: 'The name of the upload.' }],
  statuses: [],
  run: beginUpload,
});

export const completeMultipartWrite = defineTableOperation({
  id: 'complete_multipart_write',
  methods: ['POST'],
  path: '/v1/table/:id/multipart_write/complete',
  summary: 'Make all parts of an upload visible at once',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'none' },
  query: EndUploadQuery,
  replies: [
    { mediaType: 'application/json', shape: CompleteUploadReply, description: 'How many rows, at which version.' },
  ],
  statuses: [412],
  run: completeUpload,
});

export const abortMultipartWrite = defineTableOperation({
  id: 'abort_multipart_write',
  methods: ['POST'],
  path: '/v1/table/:id/multipart_write/abort',
  summary: 'Drop an upload and its parts',
  permission: 'write',
  body: { kind: 'none' },
  query: EndUploadQuery,
  replies: [{ mediaType: 'application/json', shape: AbortUploadReply, description: 'The upload is gone.' }],
  statuses: [],
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
