import { existsSync } from 'node:fs';
import { ARROW_FILE, ARROW_STREAM, NDJSON, defined } from '../../client/api-client.ts';
import { countRows, openQuery } from '../../client/rows.ts';
import { FORMATS, formatOfName } from '../../formats/format.ts';
import type { Format } from '../../formats/format.ts';
import { formatPath } from '../../model/identifier.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { defineTableCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import { CHOICE_OPTIONS, ORDER_OPTION, readChoice, readOrder } from '../data/query.ts';
import { readNumber } from '../options.ts';
import type { Given } from '../options.ts';
import { STATE_OPTIONS, readState, showPath, untilInterrupt } from '../session.ts';
import type { TableSession } from '../session.ts';
import { countOf } from '../show/text.ts';
import { writeWhole } from './local-files.ts';
import { Progress } from './progress.ts';
import { readDelimiter } from './read-options.ts';

const STANDARD_OUTPUT = '-';

export const exportCommand = defineTableCommand({
  words: ['export'],
  names: 'FILE',
  summary: 'write the rows of a table to a file (Arrow, Parquet, CSV, NDJSON)',
  about:
    'Writes rows to a file whose extension gives the format: .arrow and .feather are Arrow files, .arrows is an Arrow stream. An interrupted export leaves no file. With - as FILE, it writes to standard output.',
  options: [
    ...CHOICE_OPTIONS,
    { name: 'limit', short: 'k', value: 'N', help: 'number of rows (default: all)' },
    ORDER_OPTION,
    ...STATE_OPTIONS,
    { name: 'format', value: 'FORMAT', help: `${FORMATS.join(', ')} (default: from the extension)` },
    { name: 'delimiter', value: 'CHARACTER', help: 'delimiter of a CSV file (default: comma)' },
    { name: 'force', help: 'replace an existing file' },
  ],
  examples: [
    'export people people.csv',
    'export eu/orders orders.parquet --where "price > 5" --select id,price',
    'export people latest.ndjson --order-by created:desc --limit 100',
    'export people - --format ndjson --at before-import',
    'export people trial.arrow --branch trial',
  ],
  async run(session, target = '') {
    const { client, table, given, terminal } = session;
    const format = readFormat(given, target);
    if (target !== STANDARD_OUTPUT && !given.has('force') && existsSync(target)) {
      throw new UsageError(`${target} exists. Use --force to replace it.`);
    }
    const choice = readChoice(session);
    const order = defined({ order_by: readOrder(given), k: readNumber(given, 'limit', 0) });
    const body: QueryTableBody = { ...(await readState(session)), ...choice, ...order };
    const progress = new Progress(terminal, `exporting ${showPath(table)}`);
    const { filter: predicate, version, branch, k = Number.POSITIVE_INFINITY } = body;
    const rows = Math.min(k, await countRows(client, table, defined({ predicate, version, branch })));
    const openCounted = (signal?: AbortSignal) => progress.count(openPieces(session, { body, format, target, signal }));
    if (target === STANDARD_OUTPUT) {
      for await (const piece of openCounted()) await terminal.write(piece);
      return EXIT.done;
    }
    const isDone = await untilInterrupt(terminal, async (signal) => {
      await writeWhole(target, openCounted(signal));
      return true;
    });
    progress.end();
    if (isDone !== true) {
      terminal.err('Interrupted. No file was written.\n');
      return EXIT.interrupted;
    }
    const { bytes, seconds } = progress;
    const reply = { table: formatPath(table), file: target, format, rows, bytes, seconds };
    const text = `Exported ${countOf(rows, 'row')} to ${target} (${formatBytes(bytes)}) in ${seconds.toFixed(1)} s.\n`;
    return { reply, text };
  },
});

function readFormat(given: Given, target: string): Format {
  const name = given.value('format');
  const format = name === undefined ? formatOfName(target) : FORMATS.find((each) => each === name);
  if (format !== undefined) return format;
  throw new UsageError(`${target} has no known extension. Choose a format with --format: ${FORMATS.join(', ')}.`);
}

interface Wanted {
  readonly body: QueryTableBody;
  readonly format: Format;
  readonly target: string;
  readonly signal: AbortSignal | undefined;
}

/** The server sends Arrow and NDJSON; the other formats are written from its Arrow stream. */
async function* openPieces(
  session: TableSession,
  { body, format, target, signal }: Wanted,
): AsyncGenerator<Uint8Array> {
  const { client, table, given } = session;
  const isFile = format === 'arrow' && target !== STANDARD_OUTPUT && !/\.(arrows|stream)$/i.test(target);
  const accept = format === 'ndjson' ? NDJSON : isFile ? ARROW_FILE : ARROW_STREAM;
  const pieces = client.bytes(await openQuery(client, table, body, { accept, signal }));
  if (format === 'arrow' || format === 'ndjson') {
    yield* pieces;
    return;
  }
  const [{ readStream }, { writeRows }] = await Promise.all([
    import('../../formats/arrow/arrow-source.ts'),
    import('../../formats/write-rows.ts'),
  ]);
  const { schema, batches } = await readStream(pieces);
  yield* writeRows(format, schema, batches, { delimiter: readDelimiter(given) });
}
