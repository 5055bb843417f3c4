import { randomBytes } from 'node:crypto';
import { ClientError, ConnectionError } from '../../client/client-error.ts';
import { createBranch, deleteBranch } from '../../client/history.ts';
import { dropTable } from '../../client/tables.ts';
import { formatPath } from '../../model/identifier.ts';
import { formatBytes, formatCount, formatTime } from '../../plans/format-figure.ts';
import { defineClientCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import { readNumber } from '../options.ts';
import { printResult, requireTable } from '../session.ts';
import type { Session } from '../session.ts';
import { drawTable } from '../show/draw-table.ts';
import type { Canvas } from '../show/draw-table.ts';
import { countOf } from '../show/text.ts';
import { Measured } from './measured.ts';
import { KINDS, namedSubject, sampleSubject } from './subjects.ts';
import type { Kind, Plan, Subject } from './subjects.ts';

export const benchCommand = defineClientCommand({
  words: ['bench'],
  names: '[TABLE]',
  summary: 'measure the throughput and latency of a running server',
  about: `Sends requests to a server and reports throughput and latency. Each client sends its next request when it has read the whole reply to the previous one. Latencies include the network and reading the reply; on the machine of the server, client and server share the processors. The first request of each kind is not counted.

Without TABLE, it creates a sample table and drops it at the end, also after Ctrl-C. With TABLE, it only reads: search uses vectors of the table, filter needs --where. With --write, update (--set, --where) and insert (copies of the first rows) write to a temporary branch.

Kinds of requests:
  search   the rows nearest to a vector     update  one update
  filter   rows that match a condition      insert  an insert of 100 rows
  scan     10,000 rows with all columns     create  a new table of 100 rows; dropping it is not measured
  analyze  a search with its analysis`,
  options: [
    {
      name: 'what',
      value: 'KINDS',
      repeats: true,
      help: 'kinds of requests, separated by commas (default: all that apply)',
    },
    { name: 'seconds', value: 'N', help: 'seconds per kind (default 3)' },
    { name: 'clients', value: 'N', help: 'concurrent clients (default 4)' },
    { name: 'rows', value: 'N', help: 'rows of the sample table (default 10,000, at most 1,000,000)' },
    { name: 'limit', short: 'k', value: 'N', help: 'rows per search and filter (default 10)' },
    { name: 'where', value: 'SQL', help: 'with TABLE: condition for filter and update' },
    {
      name: 'set',
      value: 'COLUMN=SQL',
      repeats: true,
      help: 'with TABLE: new value that update sets; may be repeated',
    },
    { name: 'vector-column', value: 'COLUMN', help: 'with TABLE: vector column to search' },
    { name: 'write', help: 'with TABLE: allow update and insert, on a temporary branch' },
  ],
  examples: [
    'bench',
    'bench --what search,filter --seconds 10 --clients 16',
    'bench pictures --what search -k 20 --json',
    `bench orders --what filter,update --where "id = 7" --set "price=price + 1" --write`,
  ],
  async run(session) {
    const { terminal } = session;
    const plan = readPlan(session);
    const stop = new AbortController();
    const unlisten = terminal.onInterrupt?.(() => {
      terminal.status?.('');
      terminal.err('Stopping and cleaning up …\n');
      stop.abort();
    });
    try {
      return await measureAll(session, plan, stop.signal);
    } finally {
      terminal.status?.('');
      unlisten?.();
    }
  },
});

const ROWS_MAX = 1_000_000;
const CLIENTS_MAX = 256;
const SECONDS_MAX = 3600;

function readPlan({ given }: Session): Plan {
  const isSample = given.names.length === 0;
  for (const name of ['where', 'set', 'vector-column', 'write']) {
    if (isSample && given.has(name)) throw new UsageError(`--${name} needs TABLE.`);
  }
  if (!isSample && given.has('rows'))
    throw new UsageError('--rows is for the sample table. Leave it out, or leave out TABLE.');
  const bounded = (name: string, standard: number, maximum: number): number => {
    const value = readNumber(given, name, 1) ?? standard;
    if (value <= maximum) return value;
    throw new UsageError(`--${name} must be at most ${formatCount(maximum)}, not ${value}.`);
  };
  return {
    kinds: readKinds(given.values('what')),
    seconds: bounded('seconds', 3, SECONDS_MAX),
    clients: bounded('clients', 4, CLIENTS_MAX),
    rows: bounded('rows', 10_000, ROWS_MAX),
    limit: bounded('limit', 10, ROWS_MAX),
    created: isSample ? 'table' : given.has('write') ? 'branch' : undefined,
    name: `tiltyard-bench-${randomBytes(8).toString('hex')}`,
  };
}

function readKinds(texts: readonly string[]): readonly Kind[] | undefined {
  if (texts.length === 0) return undefined;
  const words = texts.flatMap((text) => text.split(',').map((word) => word.trim()));
  const wrong = words.find((word) => !KINDS.some((kind) => kind === word));
  if (wrong !== undefined) throw new UsageError(`--what must be one of ${KINDS.join(', ')}, not "${wrong}".`);
  return KINDS.filter((kind) => words.includes(kind));
}

async function measureAll(session: Session, plan: Plan, stop: AbortSignal): Promise<number> {
  const { client, terminal } = session;
  const figures: Measured[] = [];
  let subject: Subject;
  try {
    subject = await prepare(session, plan, stop);
    for (const { kind, request } of chooseRequests(subject, plan)) {
      if (stop.aborted) break;
      const onProgress = (operations: number, seconds: number): void => {
        const replies = countOf(operations, 'request');
        terminal.status?.(`${kind}: ${Math.floor(seconds)} of ${plan.seconds} s, ${replies}`);
      };
      const measured = new Measured(kind, { ...plan, request, client, stop, onProgress });
      await measured.run();
      figures.push(measured);
    }
  } finally {
    terminal.status?.('');
    await cleanUp(session, plan);
  }
  const code = report(session, { ...plan, ...subject }, figures);
  return stop.aborted ? EXIT.interrupted : code;
}

async function prepare(session: Session, plan: Plan, stop: AbortSignal): Promise<Subject> {
  const { client, given, terminal } = session;
  if (plan.created === 'table') {
    terminal.status?.(`creating a sample table of ${countOf(plan.rows, 'row')} …`);
    return sampleSubject(client, plan, stop);
  }
  const table = requireTable(given);
  const subject = await namedSubject(session, table, plan);
  if (plan.created === 'branch') await createBranch(client, table, { name: plan.name });
  return subject;
}

/** Without --what, everything possible; for a named table only what reads it, unless more is allowed. */
function chooseRequests({ requests }: Subject, { kinds, created }: Plan) {
  const wanted = kinds ?? KINDS.filter((kind) => created === 'table' || kind !== 'create');
  return wanted.flatMap((kind) => {
    const request = requests[kind];
    if (request === undefined && kinds !== undefined) throw new UsageError(MISSING[kind]);
    return request === undefined ? [] : { kind, request };
  });
}

const MISSING: Readonly<Record<Kind, string>> = {
  search: 'The table has no vector column. Leave "search" out of --what.',
  filter: 'Give the condition of "filter" with --where SQL.',
  scan: 'The table cannot be read.',
  analyze: 'The table cannot be read.',
  update: '"update" needs --write, --set COLUMN=SQL and --where SQL.',
  insert: '"insert" needs --write: it adds rows to a temporary branch.',
  create: 'Tables cannot be created.',
};

async function cleanUp({ client, given, terminal }: Session, { created, name }: Plan): Promise<void> {
  try {
    if (created === 'table') await dropTable(client, [name]);
    if (created === 'branch') await deleteBranch(client, requireTable(given), { name });
  } catch (error) {
    if (!(error instanceof ClientError) && !(error instanceof ConnectionError)) throw error;
    if (error instanceof ClientError && [401, 403, 404].includes(error.status)) return;
    const command = created === 'table' ? `drop ${name}` : `branch delete ${given.names[0]} ${name}`;
    terminal.err(
      `The ${created} ${name} could not be removed. When the server responds again, run: tiltyard ${command}\n`,
    );
  }
}

function report(session: Session, measured: Plan & Subject, figures: readonly Measured[]): number {
  const { client, canvas, terminal, isJson } = session;
  const { table, described, created, seconds, clients } = measured;
  const named = created === 'table' ? {} : { table: formatPath(table) };
  const reply = { server: client.url, ...named, described, seconds, clients, results: figures.map(toJson) };
  const context = `${described}\n${client.url}, ${countOf(clients, 'client')}, ${seconds} s per kind\n`;
  printResult(session, { reply, text: `${canvas.paint.dim(context)}\n${drawFigures(figures, canvas)}` });
  for (const { kind, firstError } of figures) {
    if (firstError !== undefined && !isJson) terminal.err(`${kind}: first error: ${firstError}\n`);
  }
  return figures.some(({ latencies }) => latencies.count === 0) ? EXIT.failed : EXIT.done;
}

/** Together they fit into 80 columns. */
const NUMBERS = ['count', 'rate', 'p50', 'p95', 'p99', 'errors', 'sent', 'received'];
const HEADS = ['what', ...NUMBERS.map((number) => ({ number }))];

function drawFigures(all: readonly Measured[], canvas: Canvas): string {
  const rows = all.map(({ kind, latencies, rate, errors, bytesSent, bytesReceived }) => [
    kind,
    formatCount(latencies.count),
    `${rate < 100 ? rate.toFixed(1) : formatCount(rate)}/s`,
    ...[0.5, 0.95, 0.99].map((share) => {
      const milliseconds = latencies.quantile(share);
      return milliseconds === undefined ? '–' : formatTime(milliseconds * 1e6);
    }),
    formatCount(errors),
    formatBytes(bytesSent),
    formatBytes(bytesReceived),
  ]);
  return drawTable(HEADS, rows, canvas);
}

function toJson({ kind, latencies, rate, errors, firstError, bytesSent, bytesReceived }: Measured): object {
  return {
    what: kind,
    operations: latencies.count,
    rate_per_second: rounded(rate),
    median_ms: rounded(latencies.quantile(0.5)),
    p95_ms: rounded(latencies.quantile(0.95)),
    p99_ms: rounded(latencies.quantile(0.99)),
    max_ms: rounded(latencies.quantile(1)),
    errors,
    first_error: firstError,
    bytes_sent: bytesSent,
    bytes_received: bytesReceived,
  };
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.toPrecision(4));
}
