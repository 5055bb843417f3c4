import type { InsertMode } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { InsertQuery, InsertReply } from '../../wire/writes.ts';
import { defineTableIngest } from '../operation.ts';
import type { Reply, TableIngestRequest } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';
import { findFilled } from './fill-declared.ts';
import { branchEntry, holdReaders, intendedTarget, readTarget } from './write-target.ts';

export const insertIntoTable = defineTableIngest({
  id: 'insert_into_table',
  methods: ['POST'],
  path: '/v1/table/:id/insert',
  summary: 'Add the rows of an Arrow IPC stream, or replace all rows by them',
  permission: 'write',
  isWrittenOnce: true,
  body: { kind: 'arrow' },
  query: InsertQuery,
  replies: [{ mediaType: 'application/json', shape: InsertReply, description: 'How many rows, at which version.' }],
  statuses: [412, 413],
  run: insertRows,
});

async function insertRows(request: TableIngestRequest, services: Services): Promise<Reply> {
  const { caller, requestId, query } = request;
  const mode = readMode(query['mode']);
  if (query['upload_id'] !== undefined) return insertPart(request, mode, services);

  const table = await findFilled(request, services);
  if ('rows' in table) return toReply(table.reply.version, table.rows, table.reply.transaction_id);
  const target = intendedTarget(request, table, query);
  const stream = await request.openStream();
  const readers = holdReaders(services, table, target.branch);
  const { version, rows } = await services.engine.writes.insertRows(target, stream, { mode, ...readers });

  const { transaction_id } = await recordCommit(services, table, {
    operation: mode === 'append' ? 'insert_into_table' : 'overwrite_table',
    caller: caller.id,
    requestId,
    version,
    ...branchEntry(target.branch),
    journal: request.intent?.commit({ num_inserted_rows: rows }),
  });
  return toReply(version, rows, transaction_id);
}

function toReply(version: number, rows: number, transactionId: string | undefined): Reply {
  const recorded = transactionId === undefined ? {} : { transaction_id: transactionId };
  const reply: InsertReply = { version, num_inserted_rows: rows, ...recorded };
  return { kind: 'object', body: reply };
}

async function insertPart(request: TableIngestRequest, mode: InsertMode, services: Services): Promise<Reply> {
  const { table, caller, query } = request;
  const upload = { id: query['upload_id'] ?? '', owner: caller.id, target: readTarget(table, query) };
  const options = { mode, name: query['upload_part_id'] };
  const rows = await services.engine.writes.insertPart(upload, async () => request.openStream(), options);
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
