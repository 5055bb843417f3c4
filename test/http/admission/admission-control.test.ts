import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AdmissionControl, toWorkClass } from '../../../src/http/admission/admission-control.ts';
import type { ReleaseSlot, WorkClass } from '../../../src/http/admission/admission-control.ts';
import type { ServiceError } from '../../../src/errors/service-error.ts';
import type { HttpLimits } from '../../../src/model/limits.ts';
import { testLimits } from '../../support/limits.ts';
import { refusalOf } from '../../support/refusal.ts';
import { OPERATIONS } from '../../../src/operations/registry.ts';

interface Gate {
  readonly admission: AdmissionControl;
  /** Takes a place that must be there. */
  readonly take: (work: WorkClass, caller?: string) => ReleaseSlot;
  /** Waits for a place; the name is noted once it is there. */
  readonly queue: (work: WorkClass, caller?: string, name?: string) => Promise<ReleaseSlot>;
  readonly started: readonly string[];
  now: number;
}

function open(limits: Partial<HttpLimits>, onFull?: (work: WorkClass) => void): Gate {
  const started: string[] = [];
  const gate: Gate = {
    now: 0,
    started,
    admission: new AdmissionControl({
      limits: { ...testLimits().http, ...limits },
      now: () => gate.now,
      ...(onFull === undefined ? {} : { onFull }),
    }),
    take(work: WorkClass, caller = 'somebody'): ReleaseSlot {
      const entered = gate.admission.enter({ work, caller, signal: neverAsked });
      assert.ok(typeof entered === 'function', 'there is room, so that nothing must wait');
      return entered;
    },
    async queue(work: WorkClass, caller = 'somebody', name = caller): Promise<ReleaseSlot> {
      const leave = await gate.admission.enter({ work, caller, signal: () => new AbortController().signal });
      started.push(name);
      return leave;
    },
  };
  return gate;
}

function neverAsked(): AbortSignal {
  throw new Error('a request that need not wait asks for no signal');
}

async function refused(entering: Promise<ReleaseSlot>): Promise<ServiceError> {
  return entering.then(
    () => assert.fail('it was let in'),
    (error: ServiceError) => error,
  );
}

test('lets requests in at once, without a promise or a timer, while there is room', () => {
  const gate = open({ readsMax: 2 });
  const first = gate.take('read');
  gate.take('read');
  first();
  gate.take('read');
  assert.equal(gate.admission.running, 2);
});

test('gives each kind of work places of its own', async () => {
  const gate = open({ readsMax: 1, writesMax: 1, uploadsMax: 1, administrationMax: 1, queueSeconds: 0 });
  for (const work of ['read', 'write', 'ingest', 'admin'] as const) gate.take(work);
  const messages: string[] = [];
  for (const work of ['read', 'write', 'ingest', 'admin'] as const) {
    const { kind, retryAfterSeconds, message } = await refused(gate.queue(work));
    assert.deepEqual([kind, retryAfterSeconds], ['ServiceUnavailable', 1]);
    messages.push(/busy with 1 (.*), the most/.exec(message)?.[1] ?? message);
  }
  assert.deepEqual(messages, ['reads', 'writes', 'uploads', 'requests of administrators']);
});

test('takes no more requests of all kinds together than the bound', async () => {
  const gate = open({ requestsMax: 2, queueSeconds: 0 });
  gate.take('read');
  const write = gate.take('write');
  assert.match((await refused(gate.queue('admin'))).message, /2 requests/);
  write();
  gate.take('admin');
});

test('lets a burst wait, and starts who waits as soon as a place is free, in the order of coming', async () => {
  const gate = open({ readsMax: 1 });
  const first = gate.take('read');
  const second = gate.queue('read', 'a', '1');
  const third = gate.queue('read', 'a', '2');
  assert.equal(gate.admission.counts('read').waiting, 2);
  first();
  (await second)();
  (await third)();
  assert.deepEqual(gate.started, ['1', '2']);
  assert.deepEqual([gate.admission.running, gate.admission.counts('read').waiting], [0, 0]);
});

test('takes the callers in turn, so that one who sends much waits for itself alone', async () => {
  const gate = open({ readsMax: 1 });
  let leave = gate.take('read');
  const entering = ['a', 'a', 'a', 'a', 'b', 'c', 'b'].map(async (caller) => gate.queue('read', caller));
  for (let count = 0; count < entering.length; count += 1) {
    leave();
    await new Promise((resolve) => setImmediate(resolve));
    const place = await Promise.race(entering.map(async (each, index) => each.then((given) => ({ given, index }))));
    leave = place.given;
    void entering.splice(place.index, 1, new Promise(() => {}));
  }
  assert.deepEqual(gate.started, ['a', 'b', 'c', 'a', 'b', 'a', 'a']);
});

test('refuses a caller at once whose requests wait for long already, and lets others wait', async () => {
  const gate = open({ readsMax: 1, queueSeconds: 1 });
  const leave = gate.take('read');
  const waiting = gate.queue('read', 'much');
  gate.now = 249;
  const also = gate.queue('read', 'much');
  gate.now = 250;
  refusalOf(() => gate.admission.enter({ work: 'read', caller: 'much', signal: neverAsked }));
  const other = gate.queue('read', 'little');
  leave();
  (await waiting)();
  (await other)();
  (await also)();
  assert.deepEqual(gate.started, ['much', 'little', 'much']);
});

/** All places are taken and somebody waits, for so long that the pace at which places come free is known. */
async function openBusy(milliseconds: number): Promise<Gate> {
  const gate = open({ readsMax: 2, queueSeconds: 1 });
  const places = [gate.take('read'), gate.take('read')];
  let next = gate.queue('read', 'x');
  for (let count = 0; count < 40; count += 1) {
    const after = gate.queue('read', `x${count}`);
    gate.now += milliseconds;
    places.shift()?.();
    places.push(await next);
    next = after;
  }
  void next.catch(() => undefined);
  return gate;
}

test('refuses at once, once it is seen how fast places come free, who would wait for too long', async () => {
  const gate = await openBusy(100);
  const admissionRequest = { work: 'read', caller: 'much', signal: () => new AbortController().signal } as const;
  assert.equal(gate.admission.findRefusal(admissionRequest), undefined);
  void gate.queue('read', 'much').catch(() => undefined);
  // One of another and one of its own go before: 300 ms, where a quarter of a second is allowed.
  assert.match(gate.admission.findRefusal(admissionRequest)?.message ?? '', /busy with 2 reads/);
  refusalOf(() => gate.admission.enter(admissionRequest));
  // Who has nothing waiting yet may wait for twice as long.
  assert.equal(gate.admission.findRefusal({ work: 'read', caller: 'little' }), undefined);
  assert.equal(gate.admission.findRefusal({ work: 'write', caller: 'much' }), undefined);
});

test('lets as many wait as the pace allows', async () => {
  const gate = await openBusy(10);
  const admissionRequest = { work: 'read', caller: 'much', signal: () => new AbortController().signal } as const;
  let waiting = 0;
  for (; waiting < 100; waiting += 1) {
    try {
      void Promise.resolve(gate.admission.enter(admissionRequest)).catch(() => undefined);
    } catch {
      break;
    }
  }
  assert.ok(waiting >= 20 && waiting <= 30, `${waiting}`);
});

test('a burst after a slow request may still wait, as many as there are places', async () => {
  const gate = open({ readsMax: 4, queueSeconds: 1 });
  const slow = gate.take('read');
  gate.now = 60_000;
  slow();
  const leaves = [1, 2, 3, 4].map(() => gate.take('read'));
  const burst = [1, 2, 3, 4].map(async () => gate.queue('read'));
  assert.ok(gate.admission.findRefusal({ work: 'read', caller: 'somebody' }) !== undefined);
  for (const leave of leaves) leave();
  for (const each of burst) (await each)();
  assert.equal(gate.admission.running, 0);
});

test('makes room in a full queue at the cost of the caller who has most in it', async () => {
  const gate = open({ readsMax: 1, waitingMax: 3 });
  const leave = gate.take('read');
  const many = [gate.queue('read', 'a', 'a1'), gate.queue('read', 'a', 'a2'), gate.queue('read', 'a', 'a3')];
  const last = refused(many[2] ?? assert.fail());
  refusalOf(() => gate.admission.enter({ work: 'read', caller: 'a', signal: neverAsked }));
  const other = gate.queue('read', 'b');
  assert.match((await last).message, /busy with 1 reads/);
  leave();
  (await many[0])?.();
  (await other)();
  (await many[1])?.();
  assert.deepEqual(gate.started, ['a1', 'b', 'a2']);
});

test('drops what has waited for the longest time that is allowed', async () => {
  const gate = open({ readsMax: 1, queueSeconds: 0.02 });
  const leave = gate.take('read');
  assert.equal((await refused(gate.queue('read'))).kind, 'ServiceUnavailable');
  assert.equal(gate.admission.counts('read').waiting, 0);
  leave();
  gate.take('read');
});

test('gives up the place in the queue of a client that leaves', async () => {
  const gate = open({ readsMax: 1 });
  const leave = gate.take('read');
  const client = new AbortController();
  const entering = gate.admission.enter({ work: 'read', caller: 'a', signal: () => client.signal });
  const next = gate.queue('read', 'b');
  client.abort();
  assert.match((await refused(Promise.resolve(entering))).message, /left/);
  const gone = gate.admission.enter({ work: 'read', caller: 'a', signal: () => AbortSignal.abort() });
  assert.match((await refused(Promise.resolve(gone))).message, /left/);
  leave();
  (await next)();
  assert.equal(gate.admission.running, 0);
});

test('lets the kinds of work take turns when all of them wait for the same place', async () => {
  const gate = open({ requestsMax: 1 });
  const leave = gate.take('read');
  const ended = (['read', 'read', 'read', 'write'] as const).map(async (work) => (await gate.queue(work, work))());
  leave();
  await Promise.all(ended);
  assert.ok(gate.started.indexOf('write') <= 1, gate.started.join());
});

test('gives a place back once, however often it is left', () => {
  const gate = open({ readsMax: 2, queueSeconds: 0 });
  const leave = gate.take('read');
  gate.take('read');
  leave();
  leave();
  assert.equal(gate.admission.running, 1);
});

test('tells of a class that is full, so that somebody slow can be shown out', async () => {
  const told: WorkClass[] = [];
  const gate = open({ uploadsMax: 1, queueSeconds: 0 }, (work) => told.push(work));
  gate.take('ingest');
  assert.deepEqual(told, []);
  await refused(gate.queue('ingest'));
  assert.deepEqual(told, ['ingest']);
});

test('tells of it again when one has left and others still wait', async () => {
  const told: WorkClass[] = [];
  const gate = open({ uploadsMax: 1 }, (work) => told.push(work));
  const leave = gate.take('ingest');
  const waiting = [gate.queue('ingest', 'much'), gate.queue('ingest', 'little')];
  assert.deepEqual(told, ['ingest', 'ingest']);
  leave();
  assert.deepEqual(told, ['ingest', 'ingest', 'ingest']);
  for (const each of waiting) (await each)();
  assert.equal(told.length, 3, 'nobody waits any more');
});

function classOf(id: string): string {
  return toWorkClass(OPERATIONS.find((operation) => operation.id === id) ?? assert.fail(id));
}

test('tells reads, writes, uploads and administration apart', () => {
  assert.deepEqual(['query_table', 'describe_table', 'list_tables'].map(classOf), ['read', 'read', 'read']);
  assert.deepEqual(['update_table', 'drop_table'].map(classOf), ['write', 'write']);
  assert.deepEqual(['create_table', 'insert_into_table'].map(classOf), ['ingest', 'ingest']);
  assert.equal(toWorkClass({ permission: 'administer', body: { kind: 'none' } }), 'admin');
});
