import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recoverWrites } from '../../src/coordination/recover-writes.ts';
import { WriteGate } from '../../src/coordination/write-gate.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { TelemetryEvent } from '../../src/telemetry/events.ts';

const QUICK = { first: 1, longest: 4 };

/** As the catalog gives it. */
function noSpace(): ServiceError {
  const cause = Object.assign(new Error('database or disk is full'), { rawCode: 13 });
  return new ServiceError('ServiceUnavailable', 'The catalog is not available at the moment.', { cause });
}

function setUp() {
  const events: TelemetryEvent[] = [];
  const gate = new WriteGate(() => {});
  let onDone: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    onDone = resolve;
  });
  return {
    events,
    gate,
    done,
    settings: {
      gate,
      telemetry: { emit: (event: TelemetryEvent) => void events.push(event) },
      onDone,
      retryMilliseconds: QUICK,
    },
  };
}

test('writes are allowed at once when every step succeeds', async () => {
  const { gate, events, settings } = setUp();
  const run: number[] = [];
  await recoverWrites({ ...settings, steps: [async () => void run.push(1), async () => void run.push(2)] });
  assert.deepEqual(run, [1, 2]);
  gate.requireOpen(undefined);
  assert.deepEqual(events, []);
});

test('without space writes are refused with 503 until the failed step succeeds; done steps are not repeated', async () => {
  const { gate, done, events, settings } = setUp();
  const run: string[] = [];
  let failures = 5;
  const failing = async (): Promise<void> => {
    run.push('failing');
    if ((failures -= 1) >= 0) throw noSpace();
  };
  await recoverWrites({
    ...settings,
    steps: [async () => void run.push('first'), failing, async () => void run.push('last')],
  });
  assert.throws(() => gate.requireOpen(undefined), {
    kind: 'ServiceUnavailable',
    message: /^Writes are paused until .*space/,
  });
  await done;
  await new Promise(setImmediate);
  gate.requireOpen(undefined);
  assert.deepEqual(run, ['first', ...Array.from({ length: 6 }, () => 'failing'), 'last']);
  const waits = events.flatMap((event) => (event.kind === 'writes-paused' ? [event.retryMilliseconds] : []));
  assert.deepEqual(waits, [1, 2, 4, 4, 4]);
  assert.equal(events.at(-1)?.kind, 'writes-resumed');
});

test('any other failure of the first attempt ends the start', async () => {
  const { gate, settings } = setUp();
  const broken = async (): Promise<void> => {
    throw new ServiceError('Internal', 'The catalog failed to process the request.');
  };
  await assert.rejects(recoverWrites({ ...settings, steps: [broken] }), { kind: 'Internal' });
  gate.requireOpen(undefined);
});

test('a server that is closed does not wait for the next attempt', async () => {
  const { events, settings } = setUp();
  const failing = async (): Promise<void> => {
    throw noSpace();
  };
  const retryMilliseconds = { first: 3_600_000, longest: 3_600_000 };
  const recovery = await recoverWrites({ ...settings, retryMilliseconds, steps: [failing] });
  await recovery.close();
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['writes-paused'],
  );
});
