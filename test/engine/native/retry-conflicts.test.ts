import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { engineCall } from '../../../src/engine/native/engine-errors.ts';
import type { NativeTable } from '../../../src/engine/native/native.ts';
import { retryConflicts } from '../../../src/engine/native/engine-errors.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { openApart, openTable } from '../test-engine.ts';
import { toItems } from '../sample-tables.ts';

const CHANGE = [{ path: 'id', metadata: { a: 'b' }, replace: false }];

/** A handle that missed another writer's change of the same field: the engine refuses what it writes. */
async function openLate(t: TestContext): Promise<{ readonly late: NativeTable; readonly early: NativeTable }> {
  const { table } = await openTable(t, toItems(3));
  const late = await openApart(t, table);
  const early = await openApart(t, table);
  await early.updateFieldMetadata(CHANGE);
  return { late, early };
}

test('retries a write that met a conflict, on a newer handle', async (t) => {
  const { late } = await openLate(t);
  let attempts = 0;
  const { version } = await retryConflicts(3, async () => {
    attempts += 1;
    if (attempts > 1) await late.checkoutLatest();
    return engineCall(async () => late.updateFieldMetadata(CHANGE));
  });
  assert.equal(attempts, 2);
  assert.equal(version, 3);
});

test('gives up after the allowed number of attempts', async (t) => {
  const { late } = await openLate(t);
  let attempts = 0;
  const write = async (): Promise<unknown> => {
    attempts += 1;
    return engineCall(async () => late.updateFieldMetadata(CHANGE));
  };
  await assert.rejects(
    retryConflicts(3, write),
    (error) =>
      error instanceof ServiceError && error.kind === 'ConcurrentModification' && error.retryAfterSeconds === 1,
  );
  assert.equal(attempts, 3);
});

test('does not repeat a write that failed for another reason', async (t) => {
  const { early } = await openLate(t);
  let attempts = 0;
  const write = async (): Promise<unknown> => {
    attempts += 1;
    return engineCall(async () => early.update(null, [['nope', '1']]));
  };
  await assert.rejects(retryConflicts(3, write), ServiceError);
  assert.equal(attempts, 1);
});
