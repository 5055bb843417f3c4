import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { AdmissionControl } from '../../../src/http/admission/admission-control.ts';
import type { ReleaseSlot } from '../../../src/http/admission/admission-control.ts';
import { RefusalCache } from '../../../src/http/admission/refusal-cache.ts';
import { toErrorReply } from '../../../src/http/reply/error-reply.ts';
import { OPERATIONS } from '../../../src/operations/registry.ts';
import type { TelemetryEvent } from '../../../src/telemetry/events.ts';
import { testLimits } from '../../support/limits.ts';

const REFUSAL = new ServiceError('ServiceUnavailable', 'Busy.', { retryAfterSeconds: 1 });
const { body: BODY } = toErrorReply(REFUSAL, { path: '/a', dialect: 'lance', requestId: 'first' });

/** A server in which all reads wait; a request that reaches it is cached as refused. */
class Overloaded {
  now = 0;
  isEnabled = true;
  /** Requests that came through to the one behind. */
  readonly through: string[] = [];
  readonly events: TelemetryEvent[] = [];
  readonly cache: RefusalCache;
  readonly #server: Server;
  readonly #slots: (ReleaseSlot | Promise<ReleaseSlot>)[];

  constructor() {
    const limits = { ...testLimits().http, readsMax: 1, waitingMax: 1, queueSeconds: 60 };
    const admission = new AdmissionControl({ limits, now: () => this.now });
    const admissionRequest = { work: 'read', caller: 'much', signal: () => new AbortController().signal } as const;
    this.#slots = [admission.enter(admissionRequest), admission.enter(admissionRequest)];
    this.cache = new RefusalCache({
      admission,
      telemetry: { emit: (event) => this.events.push(event) },
      isEnabled: () => this.isEnabled,
      now: () => this.now,
    });
    const operation = OPERATIONS[0] ?? assert.fail();
    this.#server = createServer((message, response) => {
      this.through.push(message.url ?? '');
      const context = { message, path: '/a', dialect: 'lance', requestId: 'first' } as const;
      this.cache.add({ context, operation, admissionRequest, refusal: REFUSAL });
      message.resume();
      response.end('through');
    });
    this.cache.guard(this.#server);
  }

  static async start(t: TestContext): Promise<Overloaded> {
    const overloaded = new Overloaded();
    overloaded.#server.listen(0, '127.0.0.1');
    await once(overloaded.#server, 'listening');
    t.after(async () => overloaded.#close());
    return overloaded;
  }

  async post(path: string, headers: Record<string, string> = { 'x-api-key': 'k' }): Promise<Response> {
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : assert.fail();
    return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: '{}', headers });
  }

  /** Releases the slot: the waiting request takes it, and the queue is empty. */
  async free(): Promise<void> {
    (await this.#slots.shift())?.();
  }

  async #close(): Promise<void> {
    for (const slot of this.#slots) (await slot)();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

test('a request equal to one that was just refused gets the cached reply', async (t) => {
  const overloaded = await Overloaded.start(t);
  assert.equal(await (await overloaded.post('/a', { 'x-api-key': 'k' })).text(), 'through');
  const again = await overloaded.post('/a', { 'x-api-key': 'k', 'x-request-id': 'mine' });
  assert.deepEqual([again.status, await again.text()], [503, BODY]);
  assert.deepEqual([again.headers.get('retry-after'), again.headers.get('x-request-id')], ['1', 'mine']);
  assert.equal(again.headers.get('connection'), 'keep-alive');
  assert.deepEqual(overloaded.through, ['/a']);
});

test('requests that got a cached reply are reported in one event', async (t) => {
  const overloaded = await Overloaded.start(t);
  for (const path of ['/a', '/a', '/a', '/b', '/b', '/a']) await overloaded.post(path);
  // On a busy machine the time after which they are reported anyway may be over before.
  overloaded.cache.report();
  const [operation] = OPERATIONS;
  const same = {
    kind: 'requests-refused',
    operation: operation?.id,
    method: 'POST',
    dialect: 'lance',
    route: operation?.path,
    status: 503,
    caller: 'much',
    errorKind: 'ServiceUnavailable',
    bytesIn: 0,
  };
  const { length } = BODY;
  let reported = 0;
  for (const event of overloaded.events) {
    const count = 'count' in event ? event.count : 0;
    assert.deepEqual(event, { ...same, count, bytesOut: count * length });
    reported += count;
  }
  assert.equal(reported, 4);
  const { length: events } = overloaded.events;
  assert.ok(events < 4, `${events} events`);
  overloaded.cache.report();
  assert.equal(overloaded.events.length, events);
  await overloaded.post('/a');
  while (overloaded.events.length === events) await setImmediate();
  assert.deepEqual(overloaded.events.at(-1), { ...same, count: 1, bytesOut: length });
});

test('another address or another credential misses the cache', async (t) => {
  const overloaded = await Overloaded.start(t);
  for (const [path, key] of [
    ['/a', 'k'],
    ['/b', 'k'],
    ['/a', 'other'],
  ] as const) {
    assert.equal((await overloaded.post(path, { 'x-api-key': key })).status, 200);
  }
  assert.deepEqual(overloaded.through, ['/a', '/b', '/a']);
});

test('an entry is not used once a slot can be had, and expires after a second', async (t) => {
  const overloaded = await Overloaded.start(t);
  for (const now of [0, 1000, 1001]) {
    overloaded.now = now;
    await overloaded.post('/a');
  }
  assert.deepEqual(overloaded.through, ['/a', '/a']);
  assert.equal((await overloaded.post('/a')).status, 503);
  await overloaded.free();
  assert.equal((await overloaded.post('/a')).status, 200);
});

test('a request without a credential in its headers is not cached', async (t) => {
  const overloaded = await Overloaded.start(t);
  assert.deepEqual([(await overloaded.post('/a', {})).status, (await overloaded.post('/a', {})).status], [200, 200]);
});

test('the cache is not used while it is disabled', async (t) => {
  const overloaded = await Overloaded.start(t);
  overloaded.isEnabled = false;
  assert.deepEqual([(await overloaded.post('/a')).status, (await overloaded.post('/a')).status], [200, 200]);
});
