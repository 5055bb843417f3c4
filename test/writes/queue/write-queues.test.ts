import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { TableLocation } from '../../../src/model/table.ts';
import { WriteQueues } from '../../../src/writes/queue/write-queues.ts';
import { eventually } from '../../support/eventually.ts';

const LIMITS = {
  queueWaitingMax: 8,
  queueWaitingPerCallerMax: 8,
  queueWaitSeconds: 60,
  queueHoldSeconds: 60,
  batchGatherMilliseconds: 0,
};

function toPlace(directory: string): TableLocation {
  return { kind: 'listed', root: '/data', directory };
}

/** Work that ends when it is told to. */
class Gate {
  readonly passed: Promise<void>;
  #resolve: (() => void) | undefined;

  constructor() {
    this.passed = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  open(): void {
    this.#resolve?.();
  }
}

/** A write that others may include in their batch. */
class Candidate {
  readonly name: string;
  readonly result: Promise<string>;
  settle: (value: string) => void = assert.fail;

  constructor(name: string) {
    this.name = name;
    this.result = new Promise((resolve) => {
      this.settle = resolve;
    });
  }
}

function isCandidate(candidate: unknown): candidate is Candidate {
  return candidate instanceof Candidate && candidate.name !== 'unwanted';
}

const CONNECTED = (): AbortSignal => new AbortController().signal;

/** A write that runs alone unless another includes it. */
async function enter(
  queues: WriteQueues,
  name: string,
  signal = CONNECTED,
  work?: () => Promise<void>,
): Promise<string> {
  const candidate = new Candidate(name);
  const runAlone = async (): Promise<void> => {
    await work?.();
    candidate.settle(`${name} ran`);
  };
  await queues.runBatch(toPlace('a'), runAlone, { candidate, signal, caller: 'ann' });
  return candidate.result;
}

/** Takes all that may be in the batch of the write at the head. */
function takeAll(queues: WriteQueues): readonly string[] {
  const taken: string[] = [];
  for (;;) {
    const next = queues.takeNext(toPlace('a'), isCandidate);
    if (next === undefined) return taken;
    taken.push(next.name);
    next.settle(`${next.name} was included`);
  }
}

suite('the queue of a table', () => {
  test('runs one write at a time, in the order in which they came', async () => {
    const queues = new WriteQueues(LIMITS);
    const events: string[] = [];
    const write = async (name: string): Promise<void> =>
      queues.run(toPlace('a'), async () => {
        events.push(`${name} starts`);
        await new Promise(setImmediate);
        events.push(`${name} ends`);
      });
    await Promise.all(['1', '2', '3'].map(write));
    assert.deepEqual(events, ['1 starts', '1 ends', '2 starts', '2 ends', '3 starts', '3 ends']);
  });

  test('does not hold up writes of other tables', async () => {
    const queues = new WriteQueues(LIMITS);
    const gate = new Gate();
    const first = queues.run(toPlace('a'), async () => gate.passed);
    assert.equal(await queues.run(toPlace('b'), async () => 'done'), 'done');
    gate.open();
    await first;
  });

  test('continues with the next write when one fails', async () => {
    const queues = new WriteQueues(LIMITS);
    const failing = queues.run(toPlace('a'), async () => Promise.reject(new Error('no')));
    const next = queues.run(toPlace('a'), async () => 'done');
    await assert.rejects(failing, /no/);
    assert.equal(await next, 'done');
    assert.equal(await queues.run(toPlace('a'), async () => 'again'), 'again');
  });

  test('counts the tables that are written, and the writes that wait', async () => {
    const queues = new WriteQueues(LIMITS);
    const gate = new Gate();
    const running = ['a', 'a', 'a', 'b'].map(async (name) => queues.run(toPlace(name), async () => gate.passed));
    assert.deepEqual([queues.running, queues.waiting], [2, 2]);
    gate.open();
    await Promise.all(running);
    assert.deepEqual([queues.running, queues.waiting], [0, 0]);
  });

  test('refuses at once when too many writes wait', async () => {
    const queues = new WriteQueues({ ...LIMITS, queueWaitingMax: 1 });
    const gate = new Gate();
    const running = queues.run(toPlace('a'), async () => gate.passed);
    const waiting = queues.run(toPlace('a'), async () => 'done');
    await assert.rejects(
      queues.run(toPlace('a'), async () => 'never'),
      (error) => error instanceof ServiceError && error.kind === 'ServiceUnavailable' && error.retryAfterSeconds === 1,
    );
    gate.open();
    await running;
    assert.equal(await waiting, 'done');
  });

  test('runs work that must come next ahead of those that wait, also when too many do', async () => {
    const queues = new WriteQueues({ ...LIMITS, queueWaitingMax: 1 });
    const gate = new Gate();
    const order: string[] = [];
    const first = queues.run(toPlace('a'), async () => gate.passed);
    const second = queues.run(toPlace('a'), async () => void order.push('second'));
    const next = queues.run(toPlace('a'), async () => void order.push('next'), { isNext: true });
    gate.open();
    await Promise.all([first, second, next]);
    assert.deepEqual(order, ['next', 'second']);
  });

  test('refuses a write that waited too long, and serves those behind it', async () => {
    const queues = new WriteQueues({ ...LIMITS, queueWaitSeconds: 0.02 });
    const gate = new Gate();
    const running = queues.run(toPlace('a'), async () => gate.passed);
    const late = queues.run(toPlace('a'), async () => assert.fail('it must not run any more'));
    await assert.rejects(late, (error) => error instanceof ServiceError && error.kind === 'ServiceUnavailable');
    const next = queues.run(toPlace('a'), async () => 'done');
    gate.open();
    await running;
    assert.equal(await next, 'done');
  });

  test('is stuck only while others wait for a write that takes too long', async () => {
    const queues = new WriteQueues({ ...LIMITS, queueHoldSeconds: 0 });
    const patient = new WriteQueues(LIMITS);
    const gate = new Gate();
    const running = [queues, patient].map(async (each) => each.run(toPlace('a'), async () => gate.passed));
    queues.requireMoving();
    const next = [queues, patient].map(async (each) => each.run(toPlace('a'), async () => 'done'));
    await new Promise((resolve) => setTimeout(resolve, 2));
    assert.throws(() => queues.requireMoving(), ServiceError);
    patient.requireMoving();
    gate.open();
    await Promise.all([...running, ...next]);
    queues.requireMoving();
  });

  test('drops a write whose client leaves while it waits, and none that has begun', async () => {
    const queues = new WriteQueues(LIMITS);
    const gate = new Gate();
    const [client, gone] = [new AbortController(), AbortSignal.abort()];
    const never = async (): Promise<never> => assert.fail('it must not run any more');
    const first = enter(
      queues,
      'first',
      () => client.signal,
      async () => gate.passed,
    );
    const second = enter(queues, 'second', () => client.signal, never);
    const third = enter(queues, 'third', () => gone, never);
    const fourth = enter(queues, 'fourth');
    client.abort();
    await assert.rejects(second, /nothing was written/);
    await assert.rejects(third, /nothing was written/);
    gate.open();
    assert.deepEqual([await first, await fourth], ['first ran', 'fourth ran']);
    assert.equal(await enter(queues, 'at once', () => gone), 'at once ran');
  });
});

suite('a batch', () => {
  test('includes the writes right behind it, which never run by themselves, up to the first that is not wanted', async () => {
    const queues = new WriteQueues(LIMITS);
    const gate = new Gate();
    const first = queues.run(toPlace('a'), async () => {
      await gate.passed;
      assert.equal(queues.isAwaited(toPlace('a')), true);
      return takeAll(queues);
    });
    const ran: string[] = [];
    const others = ['1', '2', 'unwanted', '4'].map(async (name) =>
      enter(queues, name, CONNECTED, async () => void ran.push(name)),
    );
    gate.open();
    assert.deepEqual(await first, ['1', '2']);
    assert.deepEqual(await Promise.all(others), ['1 was included', '2 was included', 'unwanted ran', '4 ran']);
    assert.deepEqual(ran, ['unwanted', '4']);
    assert.equal(queues.isAwaited(toPlace('a')), false);
  });

  test('includes no write that waited too long, and none that has the table for itself', async () => {
    const queues = new WriteQueues({ ...LIMITS, queueWaitSeconds: 0.02 });
    const late = new Gate();
    const first = queues.run(toPlace('a'), async () => {
      await late.passed;
      const missing = takeAll(queues);
      const exclusive = queues.run(toPlace('a'), async () => 'ran');
      return [missing, takeAll(queues), exclusive] as const;
    });
    const tooLate = enter(queues, 'late', CONNECTED, async () => assert.fail('it must not run any more'));
    await assert.rejects(tooLate, (error) => error instanceof ServiceError && error.kind === 'ServiceUnavailable');
    late.open();
    const [missing, taken, exclusive] = await first;
    assert.deepEqual([missing, taken], [[], []]);
    assert.equal(await exclusive, 'ran');
  });
});

suite('gathering', () => {
  const GATHERING = { ...LIMITS, batchGatherMilliseconds: 200 };

  /** A write at the head that gathers, and how long that took. */
  async function gather(queues: WriteQueues, others: () => void = () => {}): Promise<number> {
    return queues.run(toPlace('a'), async () => {
      const startedAt = performance.now();
      const gathered = queues.gather(toPlace('a'));
      others();
      await gathered;
      return performance.now() - startedAt;
    });
  }

  test('a lone writer never waits, whether or not it wrote before', async () => {
    const queues = new WriteQueues({ ...GATHERING, batchGatherMilliseconds: 60_000 });
    for (let round = 0; round < 3; round += 1) {
      await gather(queues);
      queues.recordBatch(toPlace('a'), 1);
    }
  });

  test('after a batch of several, waits until as many have arrived again', async () => {
    const queues = new WriteQueues({ ...GATHERING, batchGatherMilliseconds: 60_000 });
    queues.recordBatch(toPlace('a'), 3);
    const returned: Promise<string>[] = [];
    await gather(queues, () => returned.push(enter(queues, '1'), enter(queues, '2')));
    assert.deepEqual(await Promise.all(returned), ['1 ran', '2 ran']);
  });

  test('those that wait already count', async () => {
    const queues = new WriteQueues({ ...GATHERING, batchGatherMilliseconds: 60_000 });
    queues.recordBatch(toPlace('a'), 3);
    const gate = new Gate();
    const first = queues.run(toPlace('a'), async () => {
      await gate.passed;
      await queues.gather(toPlace('a'));
      return takeAll(queues);
    });
    const others = [enter(queues, '1'), enter(queues, '2')];
    gate.open();
    assert.deepEqual(await first, ['1', '2']);
    await Promise.all(others);
  });

  test('it waits no longer than the bound when fewer return', async () => {
    const queues = new WriteQueues(GATHERING);
    queues.recordBatch(toPlace('a'), 3);
    const returned: Promise<string>[] = [];
    const milliseconds = await gather(queues, () => returned.push(enter(queues, '1')));
    assert.ok(milliseconds >= 190, `waited ${milliseconds} ms`);
    await Promise.all(returned);
  });

  test('it does not wait long after the batch, after a lone write, for another table, or when it is turned off', async () => {
    const queues = new WriteQueues({ ...GATHERING, batchGatherMilliseconds: 20 });
    // A wait takes at least 20 ms each time; a busy machine sometimes.
    await eventually(async () => {
      queues.recordBatch(toPlace('a'), 3);
      await new Promise((resolve) => setTimeout(resolve, 45));
      return (await gather(queues)) < 15;
    });

    const patient = new WriteQueues({ ...GATHERING, batchGatherMilliseconds: 60_000 });
    patient.recordBatch(toPlace('b'), 3);
    await gather(patient);
    patient.recordBatch(toPlace('a'), 3);
    patient.recordBatch(toPlace('a'), 1);
    await gather(patient);

    const off = new WriteQueues(LIMITS);
    off.recordBatch(toPlace('a'), 3);
    await gather(off);
  });
});

test('refuses one more write of a caller with many in the queue, and takes those of others', async () => {
  const queues = new WriteQueues({ ...LIMITS, queueWaitingPerCallerMax: 2 });
  const gate = new Gate();
  const order: string[] = [];
  const write = async (caller: string): Promise<void> =>
    queues.run(
      toPlace('a'),
      async () => {
        await gate.passed;
        order.push(caller);
      },
      { caller },
    );
  const begun = ['ann', 'ann', 'ann'].map(write);
  await assert.rejects(write('ann'), /2 writes of this caller are already in the write queue/);
  begun.push(write('bob'), write('bob'));
  gate.open();
  await Promise.all(begun);
  assert.deepEqual(order, ['ann', 'ann', 'ann', 'bob', 'bob']);
});
