import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FixedSizeList, Field, Float32, Int32, toStream } from '../../test/support/arrow-tables.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, atMost, none, onQuietMachine, told } from '../campaign.ts';
import { attempt } from '../http.ts';
import type { Reply } from '../http.ts';
import { startProbe } from '../probe.ts';
import { requireOk } from '../rows.ts';
import type { TrustServer } from '../server.ts';

/** So many that a search is work for the engine: a flood of requests that cost nothing would measure the sender. */
const ROWS = 60_000;
const DIMENSIONS = 64;
const CONNECTIONS = 400;
const TIMES_TOO_MUCH = 10;
const TICK_MILLISECONDS = 10;

export const overload: Campaign = {
  name: 'overload',
  promise: 'too much load is refused quickly, and what is served is served as before',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const server = await trust.startServer();
    await requireOk(server.admin.arrow('/v1/table/heavy/create', makeVectors(ROWS)));
    const seconds = trust.size(10, 4);
    await runClosed(server, 4, 1);
    const peak = await runClosed(server, 8, seconds);
    const alone = await medianAlone(server);
    await openConnections(server);
    const flood = await runOpen(server, { perSecond: peak.perSecond * TIMES_TOO_MUCH, seconds, alone });
    const slow = await runSlowClients(trust, server);
    return [
      told('capacity: answers a second to 8 clients', peak.perSecond),
      told('offered', flood.offeredPerSecond, 'a second'),
      onQuietMachine(
        atLeast('goodput under ten times the capacity', (100 * flood.goodPerSecond) / peak.perSecond, 80, '% of peak'),
      ),
      told('refused', flood.refused),
      told('time to a refusal, median', flood.refusalMedian, 'ms'),
      onQuietMachine(atMost('time to a refusal, p99', flood.refusalP99, 20, 'ms')),
      none('refusals without Retry-After', flood.withoutRetryAfter),
      none('answers other than 200 and 503', flood.other),
      onQuietMachine(atMost('normal again after', flood.recovery, 1500, 'ms')),
      ...slow,
      none('worker crashes', server.crashes()),
    ];
  },
};

function makeVectors(rows: number): Uint8Array {
  const vector = new FixedSizeList(DIMENSIONS, new Field('item', new Float32(), true));
  const values = Array.from({ length: DIMENSIONS }, (_unused, index) => Math.sin(index));
  return toStream(
    { id: [new Int32(), (row) => row], vec: [vector, (row) => values.map((value) => value * (row % 97))] },
    rows,
  );
}

async function search(server: TrustServer): Promise<Reply | undefined> {
  const vector = { single_vector: Array.from({ length: DIMENSIONS }, () => Math.random()) };
  return attempt(server.admin.post('/v1/table/heavy/query', { k: 10, vector, columns: { column_names: ['id'] } }));
}

async function runClosed(
  server: TrustServer,
  clients: number,
  seconds: number,
): Promise<{ readonly perSecond: number }> {
  const endAt = performance.now() + seconds * 1000;
  let good = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < endAt) if ((await search(server))?.status === 200) good += 1;
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { perSecond: good / seconds };
}

async function medianAlone(server: TrustServer): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < 20; index += 1) times.push((await search(server))?.milliseconds ?? 0);
  return times.toSorted((one, other) => one - other)[10] ?? 0;
}

/** Callers keep their connections: a flood of new ones would measure how fast those are made. */
async function openConnections(server: TrustServer): Promise<void> {
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => attempt(server.admin.get('/healthz'))));
}

interface Flood {
  readonly perSecond: number;
  readonly seconds: number;
  /** What a search takes when nobody else asks, in milliseconds. */
  readonly alone: number;
}

/** Requests at a rate of their own, whether or not those before were answered. */
async function runOpen(server: TrustServer, { perSecond, seconds, alone }: Flood) {
  const startedAt = performance.now();
  const running: Promise<void>[] = [];
  const refusals: number[] = [];
  const seen = { sent: 0, good: 0, other: 0, withoutRetryAfter: 0 };
  const one = async (): Promise<void> => {
    const reply = await search(server);
    if (reply?.status === 200) {
      seen.good += 1;
    } else if (reply?.status === 503) {
      refusals.push(reply.milliseconds);
      if (reply.headers['retry-after'] === undefined) seen.withoutRetryAfter += 1;
    } else seen.other += 1;
  };
  while (performance.now() < startedAt + seconds * 1000) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond);
    for (; seen.sent < due; seen.sent += 1) running.push(one());
    await sleep(TICK_MILLISECONDS);
  }
  const recovery = await measureRecovery(server, alone);
  await Promise.all(running);
  // Those that still waited when the flood ended take their time too.
  const elapsed = (performance.now() - startedAt) / 1000;
  const sorted = refusals.toSorted((first, second) => first - second);
  return {
    recovery,
    offeredPerSecond: seen.sent / seconds,
    goodPerSecond: seen.good / elapsed,
    refused: refusals.length,
    refusalMedian: sorted[Math.floor(sorted.length / 2)] ?? 0,
    refusalP99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    withoutRetryAfter: seen.withoutRetryAfter,
    other: seen.other,
  };
}

/** Until a search takes at most three times what it took before the flood. */
async function measureRecovery(server: TrustServer, alone: number): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const reply = await search(server);
    if (reply?.status === 200 && reply.milliseconds <= 3 * alone + 5)
      return performance.now() - startedAt - reply.milliseconds;
    if (performance.now() - startedAt > 30_000) return 30_000;
  }
}

/** Headers, bodies and readers that hardly move, a third of each. */
async function runSlowClients(trust: Trust, server: TrustServer): Promise<readonly Figure[]> {
  const count = trust.size(2000, 300);
  const before = startProbe(server);
  await sleep(trust.size(4000, 2000));
  const usual = await before.stop();
  const sockets = Array.from({ length: count }, (_unused, index) => openSlow(server, index % 3));
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x');
  }, 1000);
  await sleep(1000);
  const during = startProbe(server);
  await sleep(trust.size(10_000, 4000));
  const seen = await during.stop();
  clearInterval(timer);
  for (const socket of sockets) socket.destroy();
  return [
    told('slow clients', count),
    told('p99 of others before', usual.p99Milliseconds, 'ms'),
    onQuietMachine(
      atMost(
        'p99 of others beside slow clients',
        seen.p99Milliseconds,
        Math.max(50, Math.ceil(3 * usual.p99Milliseconds)),
        'ms',
      ),
    ),
    none('others refused', seen.refused + seen.denied),
  ];
}

function openSlow({ port, key }: TrustServer, kind: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  const head = `POST /v1/table/heavy/query HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\naccept: application/json\r\ncontent-type: application/json\r\n`;
  const query = JSON.stringify({ k: ROWS });
  if (kind === 0) socket.write(`${head}x-slow: `);
  if (kind === 1) socket.write(`${head}content-length: 100000\r\n\r\n{"filter": "`);
  if (kind === 2) {
    socket.pause();
    socket.end(`${head}content-length: ${query.length}\r\n\r\n${query}`);
  }
  return socket;
}
