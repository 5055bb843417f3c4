import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FixedSizeList, Field, Float32, Int32, toStream } from '../../test/support/arrow-tables.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, atMost, none, onQuietMachine, info } from '../campaign.ts';
import { percentile, ratePerSecond, sendFlood, timesOf, timesSinceDueOf } from '../flood.ts';
import type { FloodSeen } from '../flood.ts';
import { startProbe } from '../probe.ts';
import { requireOk } from '../rows.ts';
import type { TrustServer } from '../server.ts';

/** Enough that a search is real work for the engine: a flood of cheap requests would measure the sender. */
const ROWS = 60_000;
const DIMENSIONS = 64;
const CONNECTIONS = 400;
const TIMES_TOO_MUCH = 10;
const BODIES = 64;

export const overload: Campaign = {
  name: 'overload',
  promise: 'too much load is refused quickly, and what is served is served as before',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const server = await trust.startServer();
    await requireOk(server.admin.arrow('/v1/table/heavy/create', makeVectors(ROWS)));
    const flood = await runFlood(trust, server);
    const slow = await runSlowClients(trust, server);
    return [...flood, ...slow, none('worker crashes', server.crashes())];
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

function makeSearch(): string {
  const vector = { single_vector: Array.from({ length: DIMENSIONS }, () => Math.random()) };
  return JSON.stringify({ k: 10, vector, columns: { column_names: ['id'] } });
}

/** The same sender measures the server's capacity, the time of a single search, and the flood. */
async function runFlood(trust: Trust, { port, key }: TrustServer): Promise<readonly Figure[]> {
  const seconds = trust.size(10, 4);
  const bodies = Array.from({ length: BODIES }, makeSearch);
  const order = { port, key, path: '/v1/table/heavy/query', bodies };
  await sendFlood({ ...order, connections: 4, seconds: 1 });
  const capacity = ratePerSecond(await sendFlood({ ...order, connections: 8, seconds }), 200, seconds);
  const alone = percentile(timesOf(await sendFlood({ ...order, connections: 1, seconds: 1 }), 200), 50);
  const flood = await sendFlood({
    ...order,
    connections: CONNECTIONS,
    seconds,
    perSecond: capacity * TIMES_TOO_MUCH,
    normalMilliseconds: 3 * alone + 5,
  });
  for (const reply of flood.samples) trust.scanner.scanReply('POST /v1/table/heavy/query', {}, reply);
  const good = ratePerSecond(flood, 200, seconds);
  return [
    info('capacity: answers a second to 8 clients', capacity),
    info('offered', (flood.replies.length + flood.unsent) / seconds, 'a second'),
    info('processor time of the sender', flood.ownSeconds / seconds, 'cores'),
    info('timers of the sender came late, p99', flood.ownDelay, 'ms'),
    onQuietMachine(atLeast('goodput under ten times the capacity', (100 * good) / capacity, 80, '% of peak')),
    ...judgeRefusals(flood),
    onQuietMachine(atMost('normal again after', flood.recovery, 1500, 'ms')),
  ];
}

function judgeRefusals(flood: FloodSeen): readonly Figure[] {
  const times = timesOf(flood, 503);
  const others = flood.replies.filter(([status]) => status !== 200 && status !== 503).length;
  return [
    info('time to an answer, p99', percentile(timesOf(flood, 200), 99), 'ms'),
    info('refused', times.length),
    info('time to a refusal, median', percentile(times, 50), 'ms'),
    onQuietMachine(atMost('time to a refusal, p99', percentile(times, 99), 20, 'ms')),
    info('the same since it was due, p99', percentile(timesSinceDueOf(flood, 503), 99), 'ms'),
    info('not sent, for want of a free connection', flood.unsent),
    none('refusals without Retry-After', flood.withoutRetryAfter),
    none('answers other than 200 and 503', others + flood.broken),
  ];
}

/** Headers, bodies and readers that hardly move, a third each. */
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
    info('slow clients', count),
    info('p99 of others before', usual.p99Milliseconds, 'ms'),
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
