import { NDJSON } from '../../client/api-client.ts';
import { openQuery, queryRows } from '../../client/rows.ts';
import { defineTableCommand } from '../client-command.ts';
import { EXIT } from '../command.ts';
import { writeBytes } from '../session.ts';
import { drawRows } from '../show/draw-rows.ts';
import { countOf } from '../show/text.ts';
import { QUERY_OPTIONS, readQuery } from './query-options.ts';

export const queryCommand = defineTableCommand({
  words: ['query'],
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
  async run(session, table) {
    const { client, given, terminal, canvas } = session;
    const query = await readQuery(session, table, given);
    const isLines = given.has('ndjson');
    if (isLines || session.isJson) {
      // Not parsed on the way: no digit is lost, and no row is kept in memory.
      const reply = await openQuery(client, table, query, { accept: isLines ? NDJSON : 'application/json' });
      await writeBytes(session, client.bytes(reply));
      if (!isLines) terminal.out('\n');
      return EXIT.done;
    }
    const rows = await queryRows(client, table, query);
    terminal.out(drawRows(rows, canvas));
    if (terminal.columns !== undefined) terminal.out(`${canvas.paint.dim(countOf(rows.length, 'row'))}\n`);
    return EXIT.done;
  },
});
