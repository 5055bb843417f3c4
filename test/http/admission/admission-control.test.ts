import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AdmissionControl, toWorkClass } from '../../../src/http/admission/admission-control.ts';
import type { ReleaseSlot, WorkClass } from '../../../src/http/admission/admission-control.ts';
import type { ServiceError } from '../../../src/errors/service-error.ts';
import type { HttpLimits } from '../../../src/model/limits.ts';
import { testLimits } from '../../support/limits.ts';
import { refusalOf } from '../../support/refusal.ts';
import { OPERATIONS } from '../../../src/operations/registry.ts';

interface TestAdmission {
  readonly admission: AdmissionControl;
  /** Takes a slot that must be free. */
  readonly take: (work: WorkClass, caller?: string) => ReleaseSlot;
  /** Waits for a slot; then the name is added to `started`. */
  readonly queue: (work: WorkClass, caller?: string, name?: string) => Promise<ReleaseSlot>;
  readonly started: readonly string[];
  now: number;
}

function open(limits: Partial<HttpLimits>, onFull?: (work: WorkClass) => void): TestAdmission {
  const started: string[] = [];
  const gate: TestAdmission = {
    now: 0,
    started,
    admission: new AdmissionControl({
      limits: { ...testLimits().http, ...limits },
      now: () => gate.now,
      ...(onFull === undefined ? {} : { onFull }),
    }),
    take(work: WorkClass, caller = 'anyone'): ReleaseSlot {
      const entered = gate.admission.enter({ work, caller, signal: neverAsked });
      assert.ok(typeof entered === 'function', 'a slot is free');
      return entered;
    },
    async queue(work: WorkClass, caller = 'anyone', name = caller): Promise<ReleaseSlot> {
      const release = await gate.admission.enter({ work, caller, signal: () => new AbortController().signal });
      started.push(name);
      return release;
    },
  };
  return gate;
}

function neverAsked(): AbortSignal {
  throw new Error('a request that does not wait asks for no signal');
}

async function refused(entering: Promise<ReleaseSlot>): Promise<ServiceError> {
  return entering.then(
    () => assert.fail('it was let in'),
    (error: ServiceError) => error,
  );
}

test('admits requests without a promise or a timer while a slot is free', () => {
  const gate = open({ readsMax: 2 });
  const first = gate.take('read');
  gate.take('read');
  first();
  gate.take('read');
  assert.equal(gate.admission.counts('read').running, 2);
});

test('gives each class of work its own slots', async () => {
  const gate = open({ readsMax: 1, writesMax: 1, uploadsMax: 1, administrationMax: 1, queueSeconds: 0 });
  for (const work of ['read', 'write', 'ingest', 'admin'] as const) gate.take(work);
  const messages: string[] = [];
  for (const work of ['read', 'write', 'ingest', 'admin'] as const) {
    const { kind, retryAfterSeconds, message } = await refused(gate.queue(work));
    assert.deepEqual([kind, retryAfterSeconds], ['ServiceUnavailable', 1]);
    messages.push(/busy with 1 (.*), the maximum/.exec(message)?.[1] ?? message);
  }
  assert.deepEqual(messages, ['reads', 'writes', 'uploads', 'administration requests']);
});

test('bounds the requests of all classes', async () => {
  const gate = open({ requestsMax: 2, queueSeconds: 0 });
  gate.take('read');
  const write = gate.take('write');
  assert.match((await refused(gate.queue('admin'))).message, /2 requests/);
  write();
  gate.take('admin');
});

test('lets a burst wait, and starts the first in the queue as soon as a slot is free', async () => {
  const gate = open({ readsMax: 1 });
  const first = gate.take('read');
  const second = gate.queue('read', 'a', '1');
  const third = gate.queue('read', 'a', '2');
  assert.equal(gate.admission.counts('read').waiting, 2);
  first();
  (await second)();
  (await third)();
  assert.deepEqual(gate.started, ['1', '2']);
  assert.deepEqual([gate.admission.counts('read').running, gate.admission.counts('read').waiting], [0, 0]);
});

test('serves waiting callers in round-robin', async () => {
  const gate = open({ readsMax: 1 });
  let release = gate.take('read');
  const entering = ['a', 'a', 'a', 'a', 'b', 'c', 'b'].map(async (caller) => gate.queue('read', caller));
  for (let count = 0; count < entering.length; count += 1) {
    release();
    await new Promise((resolve) => setImmediate(resolve));
    const slot = await Promise.race(entering.map(async (each, index) => each.then((given) => ({ given, index }))));
    release = slot.given;
    void entering.splice(slot.index, 1, new Promise(() => {}));
  }
  assert.deepEqual(gate.started, ['a', 'b', 'c', 'a', 'b', 'a', 'a']);
});

test('refuses at once a caller whose requests already wait long, and lets others wait', async () => {
  const gate = open({ readsMax: 1, queueSeconds: 1 });
  const release = gate.take('read');
  const waiting = gate.queue('read', 'much');
  gate.now = 249;
  const also = gate.queue('read', 'much');
  gate.now = 250;
  refusalOf(() => gate.admission.enter({ work: 'read', caller: 'much', signal: neverAsked }));
  const other = gate.queue('read', 'little');
  release();
  (await waiting)();
  (await other)();
  (await also)();
  assert.deepEqual(gate.started, ['much', 'little', 'much']);
});

/** All slots are taken and a request waits, long enough for the service-rate estimate to be reliable. */
async function openBusy(milliseconds: number): Promise<TestAdmission> {
  const gate = open({ readsMax: 2, queueSeconds: 1 });
  const slots = [gate.take('read'), gate.take('read')];
  let next = gate.queue('read', 'x');
  for (let count = 0; count < 40; count += 1) {
    const after = gate.queue('read', `x${count}`);
    gate.now += milliseconds;
    slots.shift()?.();
    slots.push(await next);
    next = after;
  }
  void next.catch(() => undefined);
  return gate;
}

test('refuses at once a request that would wait too long, by the service-rate estimate', async () => {
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

test('lets as many wait as the service rate allows', async () => {
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

test('a burst after a slow request may still wait, one request per slot', async () => {
  const gate = open({ readsMax: 4, queueSeconds: 1, reservedPercent: 0 });
  const slow = gate.take('read');
  gate.now = 60_000;
  slow();
  const leaves = [1, 2, 3, 4].map(() => gate.take('read'));
  const burst = [1, 2, 3, 4].map(async () => gate.queue('read'));
  assert.ok(gate.admission.findRefusal({ work: 'read', caller: 'anyone' }) !== undefined);
  for (const release of leaves) release();
  for (const each of burst) (await each)();
  assert.equal(gate.admission.counts('read').running, 0);
});

test('a full queue drops the newest request of the caller with most requests in it', async () => {
  const gate = open({ readsMax: 1, waitingMax: 3 });
  const release = gate.take('read');
  const many = [gate.queue('read', 'a', 'a1'), gate.queue('read', 'a', 'a2'), gate.queue('read', 'a', 'a3')];
  const last = refused(many[2] ?? assert.fail());
  refusalOf(() => gate.admission.enter({ work: 'read', caller: 'a', signal: neverAsked }));
  const other = gate.queue('read', 'b');
  assert.match((await last).message, /busy with 1 reads/);
  release();
  (await many[0])?.();
  (await other)();
  (await many[1])?.();
  assert.deepEqual(gate.started, ['a1', 'b', 'a2']);
});

test('drops what has waited for the longest time that is allowed', async () => {
  const gate = open({ readsMax: 1, queueSeconds: 0.02 });
  const release = gate.take('read');
  assert.equal((await refused(gate.queue('read'))).kind, 'ServiceUnavailable');
  assert.equal(gate.admission.counts('read').waiting, 0);
  release();
  gate.take('read');
});

test('removes a client that disconnects from the queue', async () => {
  const gate = open({ readsMax: 1 });
  const release = gate.take('read');
  const client = new AbortController();
  const entering = gate.admission.enter({ work: 'read', caller: 'a', signal: () => client.signal });
  const next = gate.queue('read', 'b');
  client.abort();
  assert.match((await refused(Promise.resolve(entering))).message, /disconnected/);
  const gone = gate.admission.enter({ work: 'read', caller: 'a', signal: () => AbortSignal.abort() });
  assert.match((await refused(Promise.resolve(gone))).message, /disconnected/);
  release();
  (await next)();
  assert.equal(gate.admission.counts('read').running, 0);
});

test('serves waiting classes of work in round-robin', async () => {
  const gate = open({ requestsMax: 1 });
  const release = gate.take('read');
  const ended = (['read', 'read', 'read', 'write'] as const).map(async (work) => (await gate.queue(work, work))());
  release();
  await Promise.all(ended);
  assert.ok(gate.started.indexOf('write') <= 1, gate.started.join());
});

test('releases a slot once, however often it is asked to', () => {
  const gate = open({ readsMax: 2, queueSeconds: 0 });
  const release = gate.take('read');
  gate.take('read');
  release();
  release();
  assert.equal(gate.admission.counts('read').running, 1);
});

test('reports that a class is full when a request has to wait', async () => {
  const told: WorkClass[] = [];
  const gate = open({ uploadsMax: 1, queueSeconds: 0 }, (work) => told.push(work));
  gate.take('ingest');
  assert.deepEqual(told, []);
  await refused(gate.queue('ingest'));
  assert.deepEqual(told, ['ingest']);
});

test('reports it again when a slot was released and others still wait', async () => {
  const told: WorkClass[] = [];
  const gate = open({ uploadsMax: 1 }, (work) => told.push(work));
  const release = gate.take('ingest');
  const waiting = [gate.queue('ingest', 'much'), gate.queue('ingest', 'little')];
  assert.deepEqual(told, ['ingest', 'ingest']);
  release();
  assert.deepEqual(told, ['ingest', 'ingest', 'ingest']);
  for (const each of waiting) (await each)();
  assert.equal(told.length, 3, 'nobody waits any more');
});

function classOf(id: string): string {
  return toWorkClass(OPERATIONS.find((operation) => operation.id === id) ?? assert.fail(id));
}

test('classifies reads, writes, uploads and administration', () => {
  assert.deepEqual(['query_table', 'describe_table', 'list_tables'].map(classOf), ['read', 'read', 'read']);
  assert.deepEqual(['update_table', 'drop_table'].map(classOf), ['write', 'write']);
  assert.deepEqual(['create_table', 'insert_into_table'].map(classOf), ['ingest', 'ingest']);
  assert.equal(toWorkClass({ permission: 'administer', body: { kind: 'none' } }), 'admin');
});

test('keeps slots free for others, however much one caller sends', async () => {
  const gate = open({ readsMax: 8, reservedPercent: 25 });
  const releases = Array.from({ length: 6 }, () => gate.take('read', 'much'));
  const waiting = [gate.queue('read', 'much', 'much 7'), gate.queue('read', 'much', 'much 8')];
  // Slots are free, and not for this caller.
  const other = gate.take('read', 'little');
  assert.equal(gate.admission.findRefusal({ work: 'read', caller: 'little' }), undefined);
  other();
  assert.deepEqual(gate.started, []);
  releases[0]?.();
  await waiting[0];
  assert.deepEqual(gate.started, ['much 7']);
  assert.deepEqual(gate.admission.counts('read'), { running: 6, waiting: 1, refused: 0 });
  gate.take('read', 'little');
  gate.take('read', 'another');
  releases[1]?.();
  await waiting[1];
});

test('a newcomer is not refused for the queue of a caller that waits for its own slots', async () => {
  const gate = open({ readsMax: 4, reservedPercent: 25, queueSeconds: 1 });
  const slow = Array.from({ length: 3 }, () => gate.take('read', 'much'));
  const waiting = Array.from({ length: 4 }, async () => refused(gate.queue('read', 'much')));
  // Each of these took so long that one more in the queue would be hopeless.
  gate.now += 60_000;
  assert.notEqual(gate.admission.findRefusal({ work: 'read', caller: 'much' }), undefined);
  assert.equal(gate.admission.findRefusal({ work: 'read', caller: 'little' }), undefined);
  gate.take('read', 'little')();
  const [first] = await Promise.all(waiting);
  assert.match(first?.message ?? '', /busy with reads of this caller, the maximum for one caller/);
  for (const release of slow) release();
});

test('while others are active, a caller with slow reads starts no more, and others do', async () => {
  const gate = open({ readsMax: 16, slowReadsPerCallerMax: 2 });
  const slow = [gate.take('read', 'much'), gate.take('read', 'much')];
  gate.now = 5000;
  // Alone, it may use all that it has.
  gate.take('read', 'much')();
  const other = gate.take('read', 'little');
  const waiting = gate.queue('read', 'much');
  gate.take('read', 'little')();
  other();
  assert.deepEqual(gate.started, []);
  slow[0]?.();
  (await waiting)();
  assert.deepEqual(gate.started, ['much']);
  // Long after the last request of another caller, it is alone again.
  gate.now = 20_000;
  const many = Array.from({ length: 4 }, () => gate.take('read', 'much'));
  assert.equal(many.length, 4);
});

test('a caller with slow reads starts more as soon as the others have been inactive for a while', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const gate = open({ readsMax: 16, slowReadsPerCallerMax: 2, queueSeconds: 10 });
  for (let count = 0; count < 2; count += 1) gate.take('read', 'much');
  gate.now = 5000;
  gate.take('read', 'little')();
  const waiting = gate.queue('read', 'much');
  gate.now = 5500;
  gate.take('read', 'little')();
  gate.now = 6000;
  context.mock.timers.tick(1000);
  await Promise.resolve();
  assert.deepEqual(gate.started, []);
  gate.now = 7000;
  context.mock.timers.tick(1000);
  (await waiting)();
  assert.deepEqual(gate.started, ['much']);
});

test('any number of quick reads of a caller start beside others', () => {
  const gate = open({ readsMax: 16, slowReadsPerCallerMax: 2 });
  gate.take('read', 'little');
  for (let count = 0; count < 8; count += 1) gate.take('read', 'much');
});
