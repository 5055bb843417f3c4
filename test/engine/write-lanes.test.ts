import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WriteLanes } from '../../src/engine/write-lanes.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { Place } from '../../src/model/table.ts';

const LIMITS = { laneWaitingMax: 8, laneWaitSeconds: 60, laneTurnSeconds: 60 };

function toPlace(directory: string): Place {
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

test('runs the writes of one table one at a time, in the order they came', async () => {
  const lanes = new WriteLanes(LIMITS);
  const events: string[] = [];
  const write = async (name: string): Promise<void> =>
    lanes.run(toPlace('a'), async () => {
      events.push(`${name} starts`);
      await new Promise(setImmediate);
      events.push(`${name} ends`);
    });
  await Promise.all(['1', '2', '3'].map(write));
  assert.deepEqual(events, ['1 starts', '1 ends', '2 starts', '2 ends', '3 starts', '3 ends']);
});

test('lets the writes of different tables run beside each other', async () => {
  const lanes = new WriteLanes(LIMITS);
  const gate = new Gate();
  const first = lanes.run(toPlace('a'), async () => gate.passed);
  assert.equal(await lanes.run(toPlace('b'), async () => 'done'), 'done');
  gate.open();
  await first;
});

test('goes on with the next write when one fails', async () => {
  const lanes = new WriteLanes(LIMITS);
  const failing = lanes.run(toPlace('a'), async () => Promise.reject(new Error('no')));
  const next = lanes.run(toPlace('a'), async () => 'done');
  await assert.rejects(failing, /no/);
  assert.equal(await next, 'done');
  assert.equal(await lanes.run(toPlace('a'), async () => 'again'), 'again');
});

test('refuses at once when too many writes wait', async () => {
  const lanes = new WriteLanes({ ...LIMITS, laneWaitingMax: 1 });
  const gate = new Gate();
  const running = lanes.run(toPlace('a'), async () => gate.passed);
  const waiting = lanes.run(toPlace('a'), async () => 'done');
  await assert.rejects(
    lanes.run(toPlace('a'), async () => 'never'),
    (error) => error instanceof ServiceError && error.kind === 'ServiceUnavailable' && error.retryAfterSeconds === 1,
  );
  gate.open();
  await running;
  assert.equal(await waiting, 'done');
});

test('refuses a write that waited too long, and serves those behind it', async () => {
  const lanes = new WriteLanes({ ...LIMITS, laneWaitSeconds: 0.02 });
  const gate = new Gate();
  const running = lanes.run(toPlace('a'), async () => gate.passed);
  const late = lanes.run(toPlace('a'), async () => assert.fail('it must not run any more'));
  await assert.rejects(late, (error) => error instanceof ServiceError && error.kind === 'ServiceUnavailable');
  const next = lanes.run(toPlace('a'), async () => 'done');
  gate.open();
  await running;
  assert.equal(await next, 'done');
});

test('tells that a write is stuck only while others wait for it', async () => {
  const lanes = new WriteLanes({ ...LIMITS, laneTurnSeconds: 0 });
  const patient = new WriteLanes(LIMITS);
  const gate = new Gate();
  const running = [lanes, patient].map(async (each) => each.run(toPlace('a'), async () => gate.passed));
  lanes.requireMoving();
  const next = [lanes, patient].map(async (each) => each.run(toPlace('a'), async () => 'done'));
  await new Promise((resolve) => setTimeout(resolve, 2));
  assert.throws(() => lanes.requireMoving(), ServiceError);
  patient.requireMoving();
  gate.open();
  await Promise.all([...running, ...next]);
  lanes.requireMoving();
});

/** A write that others may take along. */
class Passenger {
  readonly name: string;
  readonly outcome: Promise<string>;
  arrive: (value: string) => void = assert.fail;

  constructor(name: string) {
    this.name = name;
    this.outcome = new Promise((resolve) => {
      this.arrive = resolve;
    });
  }
}

test('lets the write whose turn it is take along those right behind it, and answer them', async () => {
  const lanes = new WriteLanes(LIMITS);
  const gate = new Gate();
  const ran: string[] = [];
  const isPassenger = (rider: unknown): rider is Passenger => rider instanceof Passenger && rider.name !== 'unwanted';
  const first = lanes.run(toPlace('a'), async () => {
    await gate.passed;
    assert.equal(lanes.isAwaited(toPlace('a')), true);
    const taken: string[] = [];
    for (;;) {
      const next = lanes.takeNext(toPlace('a'), isPassenger);
      if (next === undefined) return taken;
      taken.push(next.name);
      next.arrive(`${next.name} was taken`);
    }
  });
  const enter = async (name: string): Promise<string> => {
    const passenger = new Passenger(name);
    const work = async (): Promise<string> => {
      ran.push(name);
      return `${name} ran`;
    };
    return lanes.run(toPlace('a'), work, { rider: passenger });
  };
  const others = ['1', '2', 'unwanted', '4'].map(enter);
  gate.open();
  assert.deepEqual(await first, ['1', '2']);
  assert.deepEqual(await Promise.all(others), ['1 was taken', '2 was taken', 'unwanted ran', '4 ran']);
  assert.deepEqual(ran, ['unwanted', '4']);
  assert.equal(lanes.isAwaited(toPlace('a')), false);
});

test('takes along nobody who waited too long, and no write that is not for taking', async () => {
  const lanes = new WriteLanes({ ...LIMITS, laneWaitSeconds: 0.02 });
  const isPassenger = (rider: unknown): rider is Passenger => rider instanceof Passenger;
  const late = new Gate();
  const first = lanes.run(toPlace('a'), async () => {
    await late.passed;
    const missing = lanes.takeNext(toPlace('a'), isPassenger);
    const plain = lanes.run(toPlace('a'), async () => 'ran');
    return [missing, lanes.takeNext(toPlace('a'), isPassenger), plain] as const;
  });
  const passenger = lanes.run(toPlace('a'), async () => assert.fail('it must not run any more'), {
    rider: new Passenger('late'),
  });
  await assert.rejects(passenger, (error) => error instanceof ServiceError && error.kind === 'ServiceUnavailable');
  late.open();
  const [missing, taken, plain] = await first;
  assert.deepEqual([missing, taken], [undefined, undefined]);
  assert.equal(await plain, 'ran');
});

test('gives up the turn of a caller who leaves while it waits, and of nobody who has begun', async () => {
  const lanes = new WriteLanes(LIMITS);
  const gate = new Gate();
  const [client, gone] = [new AbortController(), AbortSignal.abort()];
  const leaving = (): AbortSignal => client.signal;
  const first = lanes.run(toPlace('a'), async () => gate.passed, { leaving });
  const never = async (): Promise<never> => assert.fail('it must not run any more');
  const second = lanes.run(toPlace('a'), never, { leaving });
  const third = lanes.run(toPlace('a'), never, { leaving: () => gone });
  const fourth = lanes.run(toPlace('a'), async () => 'ran');
  client.abort();
  await assert.rejects(second, /nothing was written/);
  await assert.rejects(third, /nothing was written/);
  gate.open();
  await first;
  assert.equal(await fourth, 'ran');
  assert.equal(await lanes.run(toPlace('a'), async () => 'at once', { leaving: () => gone }), 'at once');
});
