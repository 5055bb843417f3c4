import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WriteLanes } from '../../src/engine/write-lanes.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { Place } from '../../src/model/table.ts';

const LIMITS = { laneWaitingMax: 8, laneWaitSeconds: 60 };

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
