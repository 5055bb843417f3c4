import { NDJSON } from '../../client/api-client.ts';
import { openQuery, queryRows } from '../../client/rows.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { defineClientCommand, requireTable } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import type { Command, Terminal } from '../command.ts';
import { QUERY_OPTIONS, readQuery } from './query-options.ts';
import { countOf } from '../show/text.ts';
import { drawRows } from '../show/draw-rows.ts';

export const queryCommand: Command = defineClientCommand({
  words: ['query'],
  names: 'TABLE',
  summary: 'find rows by filter, vector and full text',
  about: `Shows rows of a table as a table; with --json as one document, with --ndjson one JSON object per line, as they come.
TABLE is a name, or a path such as eu/orders. Together, --vector and --text make a hybrid search.`,
  options: [...QUERY_OPTIONS, { name: 'ndjson', help: 'print one JSON object per line' }],
  examples: [
    `query orders --where "price > 100 and city = 'Oslo'" --select id,price -k 5`,
    'query orders --select id --select "total=price * amount" --order-by total:desc',
    'query pictures --vector @cat.json --where "year >= 2020"',
    'query pictures --like 42 -k 5',
    'query notes --text "tilt yard" --at before-import',
    'query orders --limit all --ndjson > orders.ndjson',
  ],
  async run(session) {
    const { client, given, terminal } = session;
    const table = requireTable(given);
    const query = await readQuery(session, table, given);
    if (given.has('ndjson') || session.isJson) return pipeRows(session, table, query);
    const rows = await queryRows(client, table, query);
    terminal.out(drawRows(rows, session.canvas));
    if (terminal.columns !== undefined) terminal.out(`${session.canvas.paint.dim(countOf(rows.length, 'row'))}\n`);
    return 0;
  },
});

/** As the server writes them: not parsed on the way, so that no digit is lost and none is kept in memory. */
async function pipeRows(
  { client, given, terminal }: Session,
  table: TablePath,
  query: QueryTableBody,
): Promise<number> {
  const isLines = given.has('ndjson');
  const response = await openQuery(client, table, query, { accept: isLines ? NDJSON : 'application/json' });
  if (response.body !== null) await pipe(response.body, terminal);
  if (!isLines) terminal.out('\n');
  return 0;
}

async function pipe(body: ReadableStream<Uint8Array>, terminal: Terminal): Promise<void> {
  const decoder = new TextDecoder();
  for await (const piece of body) {
    if (terminal.write === undefined) terminal.out(decoder.decode(piece, { stream: true }));
    else await terminal.write(piece);
  }
}
