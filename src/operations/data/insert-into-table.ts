import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { InsertQuery, InsertReply } from '../../wire/writes.ts';
import { defineTableIngest } from '../operation.ts';
import type { Reply, TableIngestRequest } from '../operation.ts';
import type { InsertMode } from '../../writes/writes.ts';
import type { Services } from '../services.ts';
import { describeWrite, replyToWrite } from '../write-reply.ts';
import { findFilled } from './fill-declared.ts';
import { readBranch, readTarget } from './write-target.ts';

export const insertIntoTable = defineTableIngest({
  id: 'insert_into_table',
  methods: ['POST'],
  path: '/v1/table/:id/insert',
  summary: 'Add the rows of an Arrow IPC stream, or replace all rows by them',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'arrow' },
  query: InsertQuery,
  replies: [{ mediaType: 'application/json', shape: InsertReply, description: 'How many rows, at which version.' }],
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
