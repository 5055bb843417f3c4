import { createBranch, deleteBranch } from '../../client/history.ts';
import { dropTable } from '../../client/tables.ts';
import { ClientError, ConnectionError } from '../../client/client-error.ts';
import { formatPath } from '../../model/identifier.ts';
import { answer, defineClientCommand, requireTable } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import { CommandFault, EXIT } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber } from '../options.ts';
import { countOf } from '../show/text.ts';
import { namedSubject, makeSample, sampleSubject } from './subjects.ts';
import { runWork } from './run-work.ts';
import type { Measured } from './run-work.ts';
import type { Subject } from './subjects.ts';
import { KINDS, findWork } from './work.ts';
import type { Kind, Work } from './work.ts';
import { randomBytes } from 'node:crypto';
import { formatBytes, formatCount, formatTime } from '../../plans/format-figure.ts';
import { drawTable } from '../show/draw-table.ts';
import type { Canvas } from '../show/draw-table.ts';

export const benchCommand: Command = defineClientCommand({
  words: ['bench'],
  names: '[TABLE]',
  summary: 'measure a running server: answers a second, and how long they take',
  about: `Sends requests as a program would and shows how many were answered, how fast, and how long they took. Each client sends its next request when the answer to the one before was read whole, so that the times are those of this many clients, not of a server that is asked faster than it answers. They hold the network, the server and the reading here; on the machine of the server, both share its processors. The first request of each kind is not counted.

Without a table it makes a sample table, and drops it at the end, also after Ctrl-C. A table that is named is only read: search takes vectors of its rows, filter needs --where. With --write, update (--set, --where) and insert (copies of its first rows) work on a branch of their own, which is deleted at the end.

What is measured:
  search   the nearest rows of a vector     update  one update
  filter   rows by a condition              insert  an insert of 100 rows
  scan     10 000 rows with all columns     create  a new table of 100 rows; its drop is not counted
  analyze  a search with its analysis`,
  options: [
    { name: 'what', value: 'KINDS', repeats: true, help: `${KINDS.join(', ')}; commas between; all that can be` },
    { name: 'seconds', value: 'N', help: 'how long each kind is measured (default 3)' },
    { name: 'clients', value: 'N', help: 'how many ask at the same time (default 4)' },
    { name: 'rows', value: 'N', help: 'rows of the sample table (default 10000, at most 1000000)' },
    { name: 'limit', short: 'k', value: 'N', help: 'rows that search and filter ask for (default 10)' },
    { name: 'where', value: 'SQL', help: 'of a table that is named: what filter asks for, and update changes' },
    { name: 'set', value: 'COLUMN=SQL', repeats: true, help: 'of a table that is named: what update changes' },
    { name: 'vector-column', value: 'COLUMN', help: 'of a table that is named: which vector to search' },
    { name: 'write', help: 'of a table that is named: allow update and insert, on a branch' },
  ],
  examples: [
    'bench',
    'bench --what search,filter --seconds 10 --clients 16',
    'bench pictures --what search -k 20 --json',
    `bench orders --what filter,update --where "id = 7" --set "price=price + 1" --write`,
  ],
  run: runBench,
});

const ROWS_MAX = 1_000_000;
const CLIENTS_MAX = 256;
const SECONDS_MAX = 3600;

async function runBench(session: Session): Promise<number> {
  const { terminal } = session;
  const plan = readPlan(session);
  const stop = new AbortController();
  const unlisten = terminal.onInterrupt?.(() => {
    terminal.status?.('');
    terminal.err('Stopping, and putting away what was made …\n');
    stop.abort();
  });
  try {
    return await measureAll(session, plan, stop.signal);
  } finally {
    terminal.status?.('');
    unlisten?.();
  }
}

interface Plan {
  readonly kinds: readonly Kind[] | undefined;
  readonly seconds: number;
  readonly clients: number;
  readonly rows: number;
  readonly limit: number;
  /** Of the table or the branch that is made; nobody else has it. */
  readonly ownName: string;
}

function readPlan({ given }: Session): Plan {
  const ofSample = given.names.length === 0;
  for (const name of ['where', 'set', 'vector-column', 'write']) {
    if (ofSample && given.has(name)) throw new CommandFault([`--${name} is for a table that is named.`]);
  }
  if (!ofSample && given.has('rows')) throw new CommandFault(['--rows is for the sample table: name none.']);
  const bounded = (name: string, standard: number, maximum: number): number => {
    const value = readNumber(given, name, { minimum: 1 }) ?? standard;
    if (value <= maximum) return value;
    throw new CommandFault([`--${name} must be ${maximum} at most, not ${value}.`]);
  };
  return {
    kinds: readKinds(given.values('what')),
    seconds: bounded('seconds', 3, SECONDS_MAX),
    clients: bounded('clients', 4, CLIENTS_MAX),
    rows: bounded('rows', 10_000, ROWS_MAX),
    limit: bounded('limit', 10, ROWS_MAX),
    ownName: makeOwnName(),
  };
}

function readKinds(texts: readonly string[]): readonly Kind[] | undefined {
  if (texts.length === 0) return undefined;
  const words = texts.flatMap((text) => text.split(',').map((word) => word.trim()));
  const wrong = words.find((word) => !KINDS.some((kind) => kind === word));
  if (wrong !== undefined) throw new CommandFault([`--what has no "${wrong}": ${KINDS.join(', ')}.`]);
  return KINDS.filter((kind) => words.includes(kind));
}

async function measureAll(session: Session, plan: Plan, stop: AbortSignal): Promise<number> {
  const { terminal } = session;
  const made = session.given.names.length === 0 ? 'table' : session.given.has('write') ? 'branch' : undefined;
  const figures: Measured[] = [];
  let subject: Subject;
  try {
    subject = await prepare(session, plan, stop);
    for (const work of chooseWorks(subject, plan, session)) {
      if (stop.aborted) break;
      figures.push(
        await runWork(work, {
          ...plan,
          client: session.client,
          stop,
          onProgress: ({ operations, seconds }) =>
            terminal.status?.(
              `${work.kind}: ${Math.floor(seconds)} of ${plan.seconds} s, ${countOf(operations, 'answer')}`,
            ),
        }),
      );
    }
  } finally {
    terminal.status?.('');
    if (made !== undefined) await putAway(session, plan, made);
  }
  return report(session, { subject, plan, figures, isStopped: stop.aborted });
}

async function prepare(session: Session, plan: Plan, stop: AbortSignal): Promise<Subject> {
  const { client, given, terminal } = session;
  const { ownName: name, rows, limit } = plan;
  if (given.names.length === 0) {
    terminal.status?.(`making a sample table of ${countOf(rows, 'row')} …`);
    await makeSample(client, { name, rows, limit }, stop);
    return sampleSubject({ name, rows, limit });
  }
  const table = requireTable(given);
  const branch = given.has('write') ? name : undefined;
  const subject = await namedSubject(session, { table, branch, ownName: name, limit });
  if (branch !== undefined) await createBranch(client, table, { name: branch });
  return subject;
}

/** Without --what all that are possible; of a table that is named only those that read it, unless more is allowed. */
function chooseWorks(subject: Subject, { kinds }: Plan, { given }: Session): readonly Work[] {
  const isNamed = given.names.length > 0;
  const wanted = kinds ?? KINDS.filter((kind) => !isNamed || kind !== 'create');
  const works = wanted.map((kind) => findWork(kind, subject));
  for (const [index, work] of works.entries()) {
    const kind = wanted[index];
    if (work === undefined && kinds !== undefined && kind !== undefined) throw new CommandFault([MISSING[kind]]);
  }
  return works.filter((work) => work !== undefined);
}

const MISSING: Readonly<Record<Kind, string>> = {
  search: 'The table has no vectors to search: leave "search" out of --what.',
  filter: 'Say what "filter" asks for with --where SQL.',
  scan: 'The table cannot be read.',
  analyze: 'The table cannot be read.',
  update: 'To measure "update" on a table that is named, give --write, --set COLUMN=SQL and --where SQL.',
  insert: 'To measure "insert" on a table that is named, give --write: it adds rows to a branch of its own.',
  create: 'Tables cannot be made.',
};

async function putAway(
  { client, given, terminal }: Session,
  { ownName }: Plan,
  made: 'table' | 'branch',
): Promise<void> {
  try {
    if (made === 'table') await dropTable(client, [ownName]);
    else await deleteBranch(client, requireTable(given), { name: ownName });
  } catch (error) {
    if (!(error instanceof ClientError) && !(error instanceof ConnectionError)) throw error;
    if (error instanceof ClientError && [401, 403, 404].includes(error.status)) return;
    const command = made === 'table' ? `drop ${ownName}` : `branch delete ${given.names[0]} ${ownName}`;
    terminal.err(`The ${made} ${ownName} could not be removed. When the server answers: tiltyard ${command}\n`);
  }
}

interface Outcome {
  readonly subject: Subject;
  readonly plan: Plan;
  readonly figures: readonly Measured[];
  readonly isStopped: boolean;
}

function report(session: Session, { subject, plan, figures, isStopped }: Outcome): number {
  const { client, canvas, given, terminal } = session;
  const { seconds, clients } = plan;
  const ofNamed = given.names.length === 0 ? {} : { table: formatPath(subject.table) };
  const results = figures.map(figuresToJson);
  const reply = { server: client.url, ...ofNamed, described: subject.described, seconds, clients, results };
  const place = `${subject.described}\n${client.url}, ${countOf(clients, 'client')}, ${seconds} s for each kind\n`;
  answer(session, reply, `${canvas.paint.dim(place)}\n${drawFigures(figures, canvas)}`);
  for (const { kind, firstError } of figures) {
    if (firstError !== undefined && !session.isJson) terminal.err(`${kind}, the first error: ${firstError}\n`);
  }
  if (isStopped) return EXIT.interrupted;
  return figures.some(({ latencies }) => latencies.count === 0) ? EXIT.failed : EXIT.done;
}

/** What a bench makes is named so: it can be told from everything else, should a bench be killed. */
const PREFIX = 'tiltyard-bench-';

export function makeOwnName(): string {
  return `${PREFIX}${randomBytes(8).toString('hex')}`;
}

/** Together they fit into 80 columns. */
const HEADS = [
  { title: 'what' },
  { title: 'count', align: 'right' },
  { title: 'rate', align: 'right' },
  { title: 'median', align: 'right' },
  { title: 'p95', align: 'right' },
  { title: 'p99', align: 'right' },
  { title: 'errors', align: 'right' },
  { title: 'sent', align: 'right' },
  { title: 'received', align: 'right' },
] as const;

export function drawFigures(all: readonly Measured[], canvas: Canvas): string {
  const rows = all.map(({ kind, latencies, rate, errors, bytesSent, bytesReceived }) => [
    kind,
    formatCount(latencies.count),
    `${rate < 100 ? rate.toFixed(1) : formatCount(rate)}/s`,
    ...[0.5, 0.95, 0.99].map((share) => milliseconds(latencies.quantile(share))),
    formatCount(errors),
    formatBytes(bytesSent),
    formatBytes(bytesReceived),
  ]);
  return drawTable(HEADS, rows, canvas);
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? '–' : formatTime(value * 1e6);
}

export function figuresToJson({
  kind,
  latencies,
  rate,
  errors,
  firstError,
  bytesSent,
  bytesReceived,
}: Measured): object {
  return {
    what: kind,
    operations: latencies.count,
    rate_per_second: rounded(rate),
    median_ms: rounded(latencies.quantile(0.5)),
    p95_ms: rounded(latencies.quantile(0.95)),
    p99_ms: rounded(latencies.quantile(0.99)),
    max_ms: rounded(latencies.quantile(1)),
    errors,
    ...(firstError === undefined ? {} : { first_error: firstError }),
    bytes_sent: bytesSent,
    bytes_received: bytesReceived,
  };
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.toPrecision(4));
}
