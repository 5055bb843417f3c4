import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OrphanedQueries, QueryDeadline } from '../../../src/engine/native/query-deadline.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';

const never = new Promise<never>(() => {});

test('returns the result of the work, or its failure', async () => {
  const deadline = new QueryDeadline(60, new OrphanedQueries(1));
  assert.equal(await deadline.wait(Promise.resolve(7)), 7);
  await assert.rejects(deadline.wait(Promise.reject(new Error('broken'))), /broken/);
});

test('counts all waits towards one deadline', async () => {
  const deadline = new QueryDeadline(0.01, new OrphanedQueries(2));
  for (const _attempt of [1, 2]) {
    await assert.rejects(
      deadline.wait(never),
      (error) =>
        error instanceof ServiceError && error.kind === 'ServiceUnavailable' && /0\.01 seconds/.test(error.message),
    );
  }
});

test('stops at once when the caller aborts, or has aborted', async () => {
  const caller = new AbortController();
  const deadline = new QueryDeadline(3600, new OrphanedQueries(2), { seconds: undefined, signal: caller.signal });
  const waiting = assert.rejects(deadline.wait(never), /caller left/);
  caller.abort();
  await waiting;
  await assert.rejects(deadline.wait(never), /caller left/);
});

test('counts orphaned queries until they end, and refuses more at the limit', async () => {
  const orphans = new OrphanedQueries(2);
  const ends: ((outcome: Promise<void>) => void)[] = [];
  for (const _count of [1, 2]) {
    const work = new Promise<void>((resolve) => ends.push(resolve));
    await assert.rejects(new QueryDeadline(0.005, orphans).wait(work), /0\.005 seconds/);
  }
  assert.equal(orphans.count, 2);
  assert.throws(() => orphans.requireCapacity(), /2 queries .* still running/);
  ends[0]?.(Promise.resolve());
  ends[1]?.(Promise.reject(new Error('ignored')));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(orphans.count, 0);
  orphans.requireCapacity();
});

test('does not count work that ended in time', async () => {
  const orphans = new OrphanedQueries(1);
  const deadline = new QueryDeadline(60, orphans, { seconds: undefined, signal: new AbortController().signal });
  await deadline.wait(Promise.resolve());
  await assert.rejects(deadline.wait(Promise.reject(new Error('broken'))), /broken/);
  assert.equal(orphans.count, 0);
});
