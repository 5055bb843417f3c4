import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { AdmissionControl } from '../../../src/http/admission/admission-control.ts';
import type { Leave } from '../../../src/http/admission/admission-control.ts';
import { RefusalCache } from '../../../src/http/admission/refusal-cache.ts';
import { OPERATIONS } from '../../../src/operations/registry.ts';
import type { TelemetryEvent } from '../../../src/telemetry/events.ts';
import { testLimits } from '../../support/limits.ts';

const OUTGOING = { status: 503, headers: { 'retry-after': '1', 'x-request-id': 'first' }, body: '{"status":503}' };

/** A server in which all reads wait; a request that comes through is noted as refused. */
class Flooded {
  now = 0;
  isAllowed = true;
  /** Requests that came through to the one behind. */
  readonly through: string[] = [];
  readonly events: TelemetryEvent[] = [];
  readonly flood: RefusalCache;
  readonly #server: Server;
  readonly #places: (Leave | Promise<Leave>)[];

  constructor() {
    const limits = { ...testLimits().http, readsMax: 1, waitingMax: 1, queueSeconds: 60 };
    const admission = new AdmissionControl({ limits, now: () => this.now });
    const admissionRequest = { work: 'read', caller: 'much', signal: () => new AbortController().signal } as const;
    this.#places = [admission.enter(admissionRequest), admission.enter(admissionRequest)];
    this.flood = new RefusalCache({
      admission,
      telemetry: { emit: (event) => this.events.push(event) },
      isAllowed: () => this.isAllowed,
      now: () => this.now,
    });
    const operation = OPERATIONS[0] ?? assert.fail();
    this.#server = createServer((message, response) => {
      this.through.push(message.url ?? '');
      this.flood.note({ message, admissionRequest, operation, dialect: 'lance', outgoing: OUTGOING });
      message.resume();
      response.end('through');
    });
    this.flood.guard(this.#server);
  }

  static async start(t: TestContext): Promise<Flooded> {
    const flooded = new Flooded();
    flooded.#server.listen(0, '127.0.0.1');
    await once(flooded.#server, 'listening');
    t.after(async () => flooded.#close());
    return flooded;
  }

  async post(path: string, headers: Record<string, string> = { 'x-api-key': 'k' }): Promise<Response> {
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : assert.fail();
    return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: '{}', headers });
  }

  /** The first leaves, so that the one that waits has the place, and nobody waits any more. */
  async free(): Promise<void> {
    (await this.#places.shift())?.();
  }

  async #close(): Promise<void> {
    for (const place of this.#places) (await place)();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

test('a request like one that was just refused gets the same reply, and goes no further', async (t) => {
  const flooded = await Flooded.start(t);
  assert.equal(await (await flooded.post('/a', { 'x-api-key': 'k' })).text(), 'through');
  const again = await flooded.post('/a', { 'x-api-key': 'k', 'x-request-id': 'mine' });
  assert.deepEqual([again.status, await again.text()], [503, OUTGOING.body]);
  assert.deepEqual([again.headers.get('retry-after'), again.headers.get('x-request-id')], ['1', 'mine']);
  assert.equal(again.headers.get('connection'), 'keep-alive');
  assert.deepEqual(flooded.through, ['/a']);
});

test('those that got the same reply are told of together, once', async (t) => {
  const flooded = await Flooded.start(t);
  for (const path of ['/a', '/a', '/a', '/b', '/b', '/a']) await flooded.post(path);
  assert.deepEqual(flooded.events, []);
  flooded.flood.tell();
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
  };
  const { length } = OUTGOING.body;
  assert.deepEqual(flooded.events, [
    { ...same, count: 3, bytesIn: 6, bytesOut: 3 * length },
    { ...same, count: 1, bytesIn: 2, bytesOut: length },
  ]);
  flooded.flood.tell();
  assert.equal(flooded.events.length, 2);
  await flooded.post('/a');
  while (flooded.events.length === 2) await setImmediate();
  assert.deepEqual(flooded.events.at(2), { ...same, count: 1, bytesIn: 2, bytesOut: length });
});

test('another address, and another credential, go the whole way', async (t) => {
  const flooded = await Flooded.start(t);
  for (const [path, key] of [
    ['/a', 'k'],
    ['/b', 'k'],
    ['/a', 'other'],
  ] as const) {
    assert.equal((await flooded.post(path, { 'x-api-key': key })).status, 200);
  }
  assert.deepEqual(flooded.through, ['/a', '/b', '/a']);
});

test('as soon as there is hope of a place again, and after a second in any case, a request goes the whole way', async (t) => {
  const flooded = await Flooded.start(t);
  for (const now of [0, 1000, 1001]) {
    flooded.now = now;
    await flooded.post('/a');
  }
  assert.deepEqual(flooded.through, ['/a', '/a']);
  assert.equal((await flooded.post('/a')).status, 503);
  await flooded.free();
  assert.equal((await flooded.post('/a')).status, 200);
});

test('without a credential in its headers nobody is taken for somebody else', async (t) => {
  const flooded = await Flooded.start(t);
  assert.deepEqual([(await flooded.post('/a', {})).status, (await flooded.post('/a', {})).status], [200, 200]);
});

test('no request is held back from its whole way when that is not allowed', async (t) => {
  const flooded = await Flooded.start(t);
  flooded.isAllowed = false;
  assert.deepEqual([(await flooded.post('/a')).status, (await flooded.post('/a')).status], [200, 200]);
});
