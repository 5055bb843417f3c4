import { access } from 'node:fs/promises';
import { ARROW_FILE, ARROW_STREAM, NDJSON } from '../../client/api-client.ts';
import { ConnectionError } from '../../client/client-error.ts';
import { countRows, openQuery } from '../../client/rows.ts';
import { readStream } from '../../formats/arrow/arrow-source.ts';
import { FORMATS, formatOfName } from '../../formats/format.ts';
import type { Format } from '../../formats/format.ts';
import { writeRows } from '../../formats/write-rows.ts';
import { formatPath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { answer, defineClientCommand, requireTable, showPath } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import { CommandFault } from '../command.ts';
import { readNumber } from '../options.ts';
import { CHOICE_OPTIONS, ORDER_OPTION, readColumns, readOrder } from '../data/query-options.ts';
import { STATE_OPTIONS, readState } from '../session.ts';
import { countIs } from '../show/text.ts';
import { Progress } from './progress.ts';
import { writeWhole } from './local-files.ts';

const STANDARD_OUTPUT = '-';

export const exportCommand = defineClientCommand({
  words: ['export'],
  names: 'TABLE FILE',
  summary: 'write the rows of a table to a file (Arrow, Parquet, CSV, NDJSON)',
  about:
    'The extension tells the format: .arrow and .feather are Arrow files, .arrows is an Arrow stream. The file is there whole or not at all. With - the rows go to the standard output.',
  options: [
    ...CHOICE_OPTIONS,
    { name: 'limit', short: 'k', value: 'N', help: 'how many rows at most' },
    ORDER_OPTION,
    ...STATE_OPTIONS,
    { name: 'format', value: 'FORMAT', help: `${FORMATS.join(', ')}; else by the extension` },
    { name: 'delimiter', value: 'CHARACTER', help: 'of CSV; a comma when absent' },
    { name: 'force', help: 'replace a file that is there' },
  ],
  examples: [
    'export people people.csv',
    'export eu/orders orders.parquet --where "price > 5" --select id,price',
    'export people latest.ndjson --order-by made:desc --limit 100',
    'export people - --format ndjson --at before-import',
    'export people trial.arrow --branch trial',
  ],
  run: runExport,
});

async function runExport(session: Session): Promise<number> {
  const { given, terminal } = session;
  const table = requireTable(given);
  const target = given.names[1] ?? '';
  const format = readFormat(session, target);
  await requireFree(session, target);
  const body = await readBody(session, table);
  const progress = new Progress(terminal, `exporting ${showPath(table)}`);
  const rows = await countAll(session, table, body);
  const counted = new Counted(progress);
  const pieces = counted.count(openPieces(session, { table, body, format, target }));
  if (target === STANDARD_OUTPUT) {
    for await (const piece of pieces) await writeOut(session, piece);
    return 0;
  }
  await writeWhole(target, pieces);
  progress.end();
  const seconds = Math.round(progress.seconds * 1000) / 1000;
  const reply = { table: formatPath(table), file: target, format, rows, bytes: counted.bytes, seconds };
  return answer(
    session,
    reply,
    `${countIs(rows, 'row')} in ${target} (${formatBytes(counted.bytes)}), after ${seconds} s.\n`,
  );
}

function readFormat({ given }: Session, target: string): Format {
  const name = given.value('format');
  const format = name === undefined ? formatOfName(target) : FORMATS.find((each) => each === name);
  if (format !== undefined) return format;
  throw new CommandFault([`Say which format with --format: ${FORMATS.join(', ')}.`]);
}

async function requireFree({ given }: Session, target: string): Promise<void> {
  if (target === STANDARD_OUTPUT || given.has('force')) return;
  const isThere = await access(target).then(
    () => true,
    () => false,
  );
  if (isThere) throw new CommandFault([`${target} is there already; --force replaces it.`]);
}

async function readBody({ given, client, sqlTexts }: Session, table: TablePath): Promise<QueryTableBody> {
  const filter = given.value('where');
  if (filter !== undefined) sqlTexts.set('filter', filter);
  const limit = readNumber(given, 'limit', { minimum: 0 });
  return {
    ...(await readState(client, table, given)),
    ...(filter === undefined ? {} : { filter }),
    ...readColumns(given, sqlTexts),
    ...readOrder(given),
    ...(limit === undefined ? {} : { k: limit }),
  };
}

async function countAll(
  { client }: Session,
  table: TablePath,
  { filter, version, branch, k }: QueryTableBody,
): Promise<number> {
  const rows = await countRows(client, table, {
    ...(filter === undefined ? {} : { predicate: filter }),
    ...(version === undefined ? {} : { version }),
    ...(branch === undefined ? {} : { branch }),
  });
  return k === undefined ? rows : Math.min(rows, k);
}

interface Wanted {
  readonly table: TablePath;
  readonly body: QueryTableBody;
  readonly format: Format;
  readonly target: string;
}

/** Arrow and NDJSON come from the server as they are wanted; the others are made of its Arrow stream. */
async function* openPieces(
  { client, given }: Session,
  { table, body, format, target }: Wanted,
): AsyncGenerator<Uint8Array> {
  const isFile = format === 'arrow' && target !== STANDARD_OUTPUT && !/\.(arrows|stream)$/i.test(target);
  const accept = format === 'ndjson' ? NDJSON : isFile ? ARROW_FILE : ARROW_STREAM;
  const response = await openQuery(client, table, body, { accept });
  const pieces = readReply(response, client.url);
  if (format === 'arrow' || format === 'ndjson') {
    yield* pieces;
    return;
  }
  const { schema, batches } = await readStream(pieces);
  yield* writeRows(format, schema, batches, { delimiter: given.value('delimiter') });
}

async function* readReply({ body }: Response, url: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of body ?? []) yield piece;
  } catch (error) {
    throw new ConnectionError(url, error);
  }
}

/** What goes through it is counted and shown. */
class Counted {
  bytes = 0;
  private readonly progress: Progress;

  constructor(progress: Progress) {
    this.progress = progress;
  }

  async *count(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      this.bytes += piece.length;
      this.progress.show({ rows: undefined, bytes: this.bytes });
      yield piece;
    }
  }
}

async function writeOut({ terminal }: Session, piece: Uint8Array): Promise<void> {
  if (terminal.write === undefined) terminal.out(new TextDecoder().decode(piece));
  else await terminal.write(piece);
}
