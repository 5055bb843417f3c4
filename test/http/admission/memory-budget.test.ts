import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BufferPool } from '../../../src/arrow/stream/buffer-pool.ts';
import { openArrowStream } from '../../../src/arrow/stream/checked-stream.ts';
import { MemoryBudget, UNCOUNTED_BYTES, leaseChunks } from '../../../src/http/admission/memory-budget.ts';
import type { MemoryLease } from '../../../src/http/admission/memory-budget.ts';
import type { ServiceError } from '../../../src/errors/service-error.ts';
import {
  ARROW_LIMITS,
  END_OF_STREAM,
  TYPES,
  dictionaryEncoding,
  dictionaryMessage,
  field,
  padMetadata,
  schemaMessage,
  stringBuffers,
} from '../../support/arrow-fixtures.ts';

function budget(bytesMax: number, { bytesPerCallerMax = bytesMax, waitSeconds = 60 } = {}): MemoryBudget {
  return new MemoryBudget({ bytesMax, bytesPerCallerMax, waitSeconds });
}

async function isSettled(promise: Promise<unknown> | undefined): Promise<boolean> {
  const pending = {};
  await new Promise((resolve) => setImmediate(resolve));
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

test('grants memory without a promise while some is free', () => {
  const memory = budget(100);
  const lease = memory.lease('ann');
  assert.equal(lease.take(60), undefined);
  assert.equal(lease.take(40), undefined);
  assert.equal(memory.usedBytes, 100);
  lease.close();
  assert.equal(memory.usedBytes, 0);
});

test('lets one lease exceed the budget, and makes the others wait until memory is given back', async () => {
  const memory = budget(100);
  const [first, second, third] = [memory.lease('ann'), memory.lease('ann'), memory.lease('ann')];
  assert.equal(first.take(60), undefined);
  assert.equal(second.take(40), undefined);
  assert.equal(first.take(30), undefined, 'the first that needs more gets it in any case');
  const waits = [second.take(10), third.take(10)];
  assert.equal(await isSettled(waits[0]), false);
  first.close();
  for (const wait of waits) await wait;
  assert.equal(memory.usedBytes, 60);
});

test('gives memory to the caller who holds least, before others who have waited longer', async () => {
  const memory = budget(100);
  const [exceeding, busy, waiting] = [memory.lease('ann'), memory.lease('ann'), memory.lease('ann')];
  void exceeding.take(50);
  void busy.take(50);
  void exceeding.take(1);
  const order: string[] = [];
  const waits = [waiting.take(40), memory.lease('bob').take(40)].map(async (granted, index) => {
    await granted;
    order.push(index === 0 ? 'ann' : 'bob');
  });
  busy.close();
  await waits[1];
  assert.deepEqual(order, ['bob']);
  exceeding.close();
  await Promise.all(waits);
  assert.deepEqual(order, ['bob', 'ann']);
});

test('leaves memory for other callers, and lets the oldest lease of a caller exceed its share', async () => {
  const memory = budget(100, { bytesPerCallerMax: 60 });
  const [oldest, newer] = [memory.lease('ann'), memory.lease('ann')];
  assert.equal(oldest.take(40), undefined);
  assert.equal(newer.take(20), undefined);
  const waits = newer.take(10);
  assert.equal(await isSettled(waits), false);
  await memory.lease('bob').take(20);
  assert.equal(await isSettled(oldest.take(10)), true);
  assert.equal(memory.usedBytes, 90);
  oldest.close();
  await waits;
});

test('takes memory back during the lease, and the rest when it is closed', () => {
  const memory = budget(100);
  const lease = memory.lease('ann');
  void lease.take(30);
  void lease.take(20);
  lease.give(30);
  assert.equal(lease.heldBytes, 20);
  assert.equal(memory.usedBytes, 20);
  lease.close();
  lease.close();
  lease.give(20);
  assert.equal(memory.usedBytes, 0);
});

test('reports that a request waits for memory, and only then', async () => {
  const slow: MemoryLease[] = [];
  let asked = 0;
  const memory = new MemoryBudget({
    bytesMax: 10,
    bytesPerCallerMax: 10,
    waitSeconds: 60,
    onWaiting: () => {
      asked += 1;
      slow.pop()?.close();
    },
  });
  slow.push(memory.lease('ann'));
  void slow[0]?.take(10);
  void slow[0]?.take(1);
  await memory.lease('ann').take(5);
  assert.equal(asked, 1);
  assert.equal(memory.usedBytes, 5);
});

test('refuses a lease that has waited too long or was closed meanwhile', async () => {
  const memory = budget(10, { waitSeconds: 0.02 });
  const [first, second, third] = [memory.lease('ann'), memory.lease('ann'), memory.lease('ann')];
  void first.take(10);
  void first.take(10);
  await assert.rejects(second.take(5) ?? Promise.resolve(), (error: ServiceError) => {
    assert.match(error.message, /0\.02 s/);
    return error.kind === 'ServiceUnavailable';
  });
  const leaving = third.take(5);
  third.close();
  await assert.rejects(leaving ?? Promise.resolve(), /connection was closed/);
  assert.throws(() => third.take(1), /connection was closed/);
  first.close();
  assert.equal(memory.usedBytes, 0);
});

test('never deadlocks: leases that take memory and are then closed all finish', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 6 }), { maxLength: 12 }),
      async (needs) => {
        const memory = budget(50, { bytesPerCallerMax: 30 });
        const run = async (lease: MemoryLease, sizes: readonly number[]): Promise<void> => {
          for (const size of sizes) {
            await lease.take(size);
            if (size % 3 === 0) lease.give(size);
            await Promise.resolve();
          }
          lease.close();
        };
        await Promise.all(needs.map(async (sizes, index) => run(memory.lease(`caller ${index % 3}`), sizes)));
        assert.equal(memory.usedBytes, 0);
      },
    ),
  );
});

test('counts the dictionaries of an Arrow stream, metadata included, until they are replaced or the stream ends', async () => {
  const lease = budget(100).lease('ann');
  const schema = schemaMessage([field('d', TYPES.utf8, { dictionary: dictionaryEncoding(0) })]);
  const values = (text: string, isDelta: boolean): Buffer =>
    dictionaryMessage(0, { rows: 1, nodes: [[1, 0]], buffers: stringBuffers([text]) }, isDelta);
  const padded = padMetadata(values('a', false), 100_000);
  const delta = values('x'.repeat(50_000), true);
  const held: number[] = [];
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    yield schema;
    for (const message of [padded, delta, delta, padded, values('a', false)]) {
      yield message;
      held.push(lease.heldBytes);
    }
    yield padded;
    yield END_OF_STREAM;
  };
  const { chunks } = await openArrowStream(pieces(), ARROW_LIMITS, leaseChunks(new BufferPool(ARROW_LIMITS), lease));
  for await (const chunk of chunks) chunk.release();
  const counted = (...messages: readonly Buffer[]): number =>
    messages.reduce((sum, { length }) => sum + length, 0) - UNCOUNTED_BYTES;
  assert.deepEqual(held, [counted(padded), counted(padded, delta), counted(padded, delta, delta), counted(padded), 0]);
  assert.equal(lease.heldBytes, 0);
});
