import { request } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Field, FixedSizeList, Float32, Int32, Utf8, toStream } from '../../test/support/arrow-tables.ts';
import { seededRandom } from '../../test/support/arrow-fixtures.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, atMost, info, none, onQuietMachine } from '../campaign.ts';
import { percentile } from '../flood.ts';
import type { HttpClient } from '../http.ts';
import { makeHostileReads } from '../model/hostile-reads.ts';
import type { HostileRead } from '../model/hostile-reads.ts';
import { inParallel } from '../parallel.ts';
import { requireOk } from '../rows.ts';
import type { TrustServer } from '../server.ts';

const AT_ONCE = 8;
const MEBIBYTES_MAX = 2048;
const OTHERS_MILLISECONDS_MAX = 200;
const WORST_SHOWN = 5;
/** A slow client reads this many pieces, one at a time. */
const SLOW_PIECES = 5;

export const hostileReads: Campaign = {
  name: 'hostile-reads',
  promise: 'no reads of one caller take the memory of the machine, the worker, or the time of others',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const server = await trust.startServer();
    const table = { rows: trust.size(60_000, 20_000), dimensions: 128 };
    await makeTables(server, table);
    const [hostile, other] = [await makeReader(trust, server), await makeReader(trust, server)];
    const reads = makeHostileReads(seededRandom(trust.seed), table, trust.isShort ? SHORT_READS : FULL_READS);
    const quiet = await watchWhile(server, other.client, async () => sleep(trust.size(3000, 1000)));
    const seen: Seen[] = [];
    const send = async (read: HostileRead): Promise<void> => {
      const startedAt = performance.now();
      const status = await keepSending(server, hostile.key, read, trust.size(10_000, 2000));
      seen.push({
        read,
        status,
        milliseconds: performance.now() - startedAt,
        mebibytes: await server.residentMebibytes(),
      });
      trust.progress(seen.length, 2 * reads.length);
    };
    const alone = await watchWhile(server, other.client, async () =>
      inParallel(reads.length, 1, async (at) => sendAt(reads, at, send)),
    );
    const worstAlone = describeWorst(seen);
    const together = await watchWhile(server, other.client, async () =>
      inParallel(reads.length, AT_ONCE, async (at) => sendAt(reads, at, send)),
    );
    for (const line of worstAlone) trust.report(line);
    for (const { name, watched } of [
      { name: 'alone', watched: alone },
      { name: 'eight at once', watched: together },
    ]) {
      if (watched.mebibytes > MEBIBYTES_MAX || watched.p99 > OTHERS_MILLISECONDS_MAX) {
        trust.blame('hostile reads', `${name}: worst of others during ${watched.slowest.join('; ')}`);
      }
    }
    return [
      atLeast('hostile reads', reads.length, trust.isShort ? SHORT_READS : 200),
      ...toStatusFigures(seen),
      info('others without hostile reads, p99', quiet.p99, 'ms'),
      info('memory before', quiet.mebibytes, 'MiB'),
      ...toFigures('alone', alone),
      ...toFigures('eight at once', together),
      none('worker crashes', server.crashes()),
      none('workers replaced because they did not answer', server.stalls()),
    ];
  },
};

const FULL_READS = 216;
const SHORT_READS = 36;

interface Seen {
  readonly read: HostileRead;
  /** 0: the client hung up, or the connection broke. */
  readonly status: number;
  readonly milliseconds: number;
  /** The server's memory at the end of the read. */
  readonly mebibytes: number;
}

async function sendAt(
  reads: readonly HostileRead[],
  at: number,
  send: (read: HostileRead) => Promise<void>,
): Promise<void> {
  const read = reads[at];
  if (read !== undefined) await send(read);
}

const WORDS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'];

async function makeTables(
  { admin }: TrustServer,
  { rows, dimensions }: { rows: number; dimensions: number },
): Promise<void> {
  const vector = (size: number) => new FixedSizeList(size, new Field('item', new Float32(), true));
  const text = (row: number): string =>
    Array.from(
      { length: 32 },
      (_unused, at) => `${WORDS[(row * 31 + at * 17) % WORDS.length]}${(row * at) % 100}`,
    ).join(' ');
  const large = toStream(
    {
      id: [new Int32(), (row) => row],
      r: [new Int32(), (row) => (row * 7919) % rows],
      text: [new Utf8(), text],
      vec: [
        vector(dimensions),
        (row) => Array.from({ length: dimensions }, (_unused, at) => Math.sin(row * 7.13 + at)),
      ],
    },
    rows,
  );
  await requireOk(admin.arrow('/v1/table/large/create', large));
  const index = { column: 'text', index_type: 'FTS', name: 'words' };
  const { status, text: reply } = await admin.post('/v1/table/large/create_index', index);
  if (status !== 200 && status !== 202) throw new Error(reply);
  const small = toStream(
    {
      id: [new Int32(), (row) => row],
      vec: [vector(16), (row) => Array.from({ length: 16 }, (_unused, at) => Math.sin(row + at))],
    },
    1000,
  );
  await requireOk(admin.arrow('/v1/table/small/create', small));
}

let readers = 0;

async function makeReader(
  trust: Trust,
  { admin }: TrustServer,
): Promise<{ readonly key: string; readonly client: HttpClient }> {
  readers += 1;
  const grants = [{ role: 'reader', database: 'default', path: [] }];
  const { json, text } = await admin.post('/v1/access/key/create', { name: `reader ${readers}`, grants });
  if (typeof json?.key !== 'string') throw new Error(text);
  trust.scanner.plant(json.key);
  return { key: json.key, client: admin.as({ 'x-api-key': json.key }) };
}

const TRIES_MAX = 5;
const PAUSE_MILLISECONDS = 500;

/** A hostile client does not give up after a 503 either. */
async function keepSending(server: TrustServer, key: string, read: HostileRead, patience: number): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const status = await sendRead(server, key, read, patience);
    if (status !== 503 || tries === TRIES_MAX) return status;
    await sleep(PAUSE_MILLISECONDS);
  }
}

async function sendRead({ url }: TrustServer, key: string, read: HostileRead, patience: number): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(`${url}/v1/table/large/${read.operation}`, {
      method: 'POST',
      agent: false,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
    });
    let status = 0;
    const end = (): void => {
      clearTimeout(timer);
      sent.destroy();
      resolve(status);
    };
    const timer = setTimeout(end, read.manner === 'hang up' ? patience / 20 : patience);
    sent.on('error', end);
    sent.once('close', end);
    sent.once('response', (response) => {
      status = response.statusCode ?? 0;
      response.on('error', end);
      response.once('end', end);
      if (read.manner !== 'read slowly') return void response.resume();
      void takeSlowly(response, patience).then(end, end);
    });
    sent.end(read.body);
  });
}

async function takeSlowly(response: NodeJS.ReadableStream, patience: number): Promise<void> {
  for (let piece = 0; piece < SLOW_PIECES; piece += 1) {
    response.read();
    await sleep(patience / 20);
  }
}

interface Watched {
  readonly mebibytes: number;
  readonly p99: number;
  readonly longest: number;
  readonly answers: number;
  /** Requests of another caller that did not get 200. */
  readonly refused: number;
  /** The p99 delay of this process, which also sends the hostile reads, in milliseconds. */
  readonly ownDelay: number;
  readonly slowest: readonly string[];
}

/** Watches the memory of the server, and the replies to another caller, while the work runs. */
async function watchWhile(server: TrustServer, other: HttpClient, work: () => Promise<void>): Promise<Watched> {
  const state = { isOver: false, mebibytes: 0, refused: 0 };
  const times: number[] = [];
  const vector = { single_vector: Array.from({ length: 16 }, () => 0.5) };
  const small = [
    async () => other.post('/v1/table/small/query', { vector, k: 10, columns: { column_names: ['id'] } }),
    async () => other.post('/v1/table/small/count_rows', { predicate: 'id < 500' }),
  ];
  const ask = async (): Promise<void> => {
    for (let at = 0; !state.isOver; at += 1) {
      const startedAt = performance.now();
      const reply = await small[at % small.length]?.().catch(() => undefined);
      times.push(performance.now() - startedAt);
      if (reply?.status !== 200) state.refused += 1;
      await sleep(5);
    }
  };
  const weigh = async (): Promise<void> => {
    while (!state.isOver) {
      state.mebibytes = Math.max(state.mebibytes, await server.residentMebibytes());
      await sleep(25);
    }
  };
  const ownDelay = monitorEventLoopDelay({ resolution: 5 });
  ownDelay.enable();
  const watching = [ask(), weigh()];
  await work();
  state.isOver = true;
  ownDelay.disable();
  await Promise.all(watching);
  const sorted = times.toSorted((one, another) => one - another);
  return {
    mebibytes: state.mebibytes,
    p99: percentile(sorted, 99),
    longest: sorted.at(-1) ?? 0,
    answers: times.length,
    refused: state.refused,
    ownDelay: ownDelay.percentile(99) / 1e6,
    slowest: sorted.slice(-WORST_SHOWN).map((each) => `${Math.round(each)} ms`),
  };
}

function toFigures(when: string, { mebibytes, p99, longest, answers, refused, ownDelay }: Watched): readonly Figure[] {
  return [
    atMost(`most memory of supervisor and worker, ${when}`, mebibytes, MEBIBYTES_MAX, 'MiB'),
    onQuietMachine(atMost(`others, ${when}: p99`, p99, OTHERS_MILLISECONDS_MAX, 'ms')),
    info(`others, ${when}: longest of ${answers}`, longest, 'ms'),
    info(`timers of the sender came late, ${when}: p99`, ownDelay, 'ms'),
    none(`others, ${when}: not served`, refused),
  ];
}

function toStatusFigures(seen: readonly Seen[]): readonly Figure[] {
  const count = (isWanted: (status: number) => boolean): number => seen.filter(({ status }) => isWanted(status)).length;
  return [
    info(
      'of these, both times: served',
      count((status) => status === 200),
    ),
    info(
      'refused with 4xx',
      count((status) => status >= 400 && status < 500),
    ),
    info(
      'refused with 503',
      count((status) => status === 503),
    ),
    info(
      'hung up before an answer',
      count((status) => status === 0),
    ),
    none(
      'answered with 500',
      count((status) => status === 500),
    ),
  ];
}

/** The longest reads, and those with the most memory at their end. */
function describeWorst(seen: readonly Seen[]): readonly string[] {
  const describe = ({ read, status, milliseconds, mebibytes }: Seen): string =>
    `${read.name} (${read.manner}): ${status}, ${Math.round(milliseconds)} ms, ${Math.round(mebibytes)} MiB`;
  const slowest = seen.toSorted((one, other) => other.milliseconds - one.milliseconds).slice(0, WORST_SHOWN);
  const grown = seen
    .map((each, at) => ({ each, growth: each.mebibytes - (seen[at - 1]?.mebibytes ?? each.mebibytes) }))
    .toSorted((one, other) => other.growth - one.growth)
    .slice(0, WORST_SHOWN);
  return [
    ...slowest.map((each) => `slowest: ${describe(each)}`),
    ...grown.map(({ each, growth }) => `most memory: ${describe(each)}, +${Math.round(growth)} MiB`),
  ];
}
