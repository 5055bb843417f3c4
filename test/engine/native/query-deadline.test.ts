import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OrphanedQueries, QueryDeadline } from '../../../src/engine/native/query-deadline.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';

const never = new Promise<never>(() => {});

test('returns the result of the work, or its failure', async () => {
  const deadline = new QueryDeadline(60, new OrphanedQueries({ queriesMax: 1, perCallerMax: 1 }));
  assert.equal(await deadline.wait(Promise.resolve(7)), 7);
  await assert.rejects(deadline.wait(Promise.reject(new Error('broken'))), /broken/);
});

test('counts all waits towards one deadline', async () => {
  const deadline = new QueryDeadline(0.01, new OrphanedQueries({ queriesMax: 2, perCallerMax: 2 }));
  for (const _attempt of [1, 2]) {
    await assert.rejects(
      deadline.wait(never),
      (error) => error instanceof ServiceError && error.kind === 'ServiceUnavailable' && /0\.01 s/.test(error.message),
    );
  }
});

test('stops when the caller aborts, or has aborted', async () => {
  const caller = new AbortController();
  const deadline = new QueryDeadline(3600, new OrphanedQueries({ queriesMax: 2, perCallerMax: 2 }), {
    seconds: undefined,
    signal: () => caller.signal,
  });
  const waiting = assert.rejects(deadline.wait(never), /client disconnected/);
  caller.abort();
  await waiting;
  await assert.rejects(deadline.wait(never), /client disconnected/);
});

test('asks for the signal of its client only when the query lasts', async () => {
  let asked = 0;
  const timeout = {
    seconds: undefined,
    signal: () => {
      asked += 1;
      return AbortSignal.abort();
    },
  };
  const deadline = new QueryDeadline(3600, new OrphanedQueries({ queriesMax: 2, perCallerMax: 2 }), timeout);
  assert.equal(await deadline.wait(Promise.resolve(7)), 7);
  assert.equal(asked, 0);
  await assert.rejects(deadline.wait(never), /client disconnected/);
  assert.equal(asked, 1);
});

test('counts orphaned queries until they end, and refuses more at the limit', async () => {
  const orphans = new OrphanedQueries({ queriesMax: 2, perCallerMax: 2 });
  const ends: ((outcome: Promise<void>) => void)[] = [];
  for (const _count of [1, 2]) {
    const work = new Promise<void>((resolve) => ends.push(resolve));
    await assert.rejects(new QueryDeadline(0.005, orphans).wait(work), /0\.005 s/);
  }
  assert.equal(orphans.count, 2);
  assert.throws(() => orphans.requireCapacity('anyone'), /2 queries .* still running/);
  ends[0]?.(Promise.resolve());
  ends[1]?.(Promise.reject(new Error('ignored')));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(orphans.count, 0);
  orphans.requireCapacity('anyone');
});

test('does not count work that ended in time', async () => {
  const orphans = new OrphanedQueries({ queriesMax: 1, perCallerMax: 1 });
  const deadline = new QueryDeadline(60, orphans, { seconds: undefined, signal: () => new AbortController().signal });
  await deadline.wait(Promise.resolve());
  await assert.rejects(deadline.wait(Promise.reject(new Error('broken'))), /broken/);
  assert.equal(orphans.count, 0);
});

test('refuses only the caller whose queries are orphaned, until one of them ends', async () => {
  const orphans = new OrphanedQueries({ queriesMax: 3, perCallerMax: 2 });
  const begin = (caller: string): QueryDeadline => {
    return new QueryDeadline(0.005, orphans, {
      seconds: undefined,
      signal: () => new AbortController().signal,
      caller,
    });
  };
  let end = (): void => {};
  const work = new Promise<void>((resolve) => {
    end = resolve;
  });
  await assert.rejects(begin('ann').wait(work), /0\.005 s/);
  await assert.rejects(begin('ann').wait(never), /0\.005 s/);
  assert.throws(() => begin('ann'), /2 queries of this caller .* still running/);
  await assert.rejects(begin('bob').wait(never), /0\.005 s/);
  // Now there are too many of all callers.
  assert.throws(() => begin('cid'), /3 queries that .* still running/);
  end();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(orphans.count, 2);
  begin('ann');
  begin('cid');
});

test('tells the end of a query when its orphaned call has ended, and at once when none is', async () => {
  const orphans = new OrphanedQueries({ queriesMax: 2, perCallerMax: 2 });
  const deadline = new QueryDeadline(0.005, orphans);
  const over: string[] = [];
  deadline.whenOver(() => over.push('at once'));
  let end = (): void => {};
  const work = new Promise<void>((resolve) => {
    end = resolve;
  });
  await assert.rejects(deadline.wait(work), /time limit/);
  deadline.whenOver(() => over.push('later'));
  assert.deepEqual(over, ['at once']);
  end();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(over, ['at once', 'later']);
});
