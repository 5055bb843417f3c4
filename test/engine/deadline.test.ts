import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EngineTime } from '../../src/engine/deadline.ts';
import { ServiceError } from '../../src/errors/service-error.ts';

const never = new Promise<never>(() => {});

test('gives what the work gives, and its failure', async () => {
  const time = new EngineTime(60);
  assert.equal(await time.wait(Promise.resolve(7)), 7);
  await assert.rejects(time.wait(Promise.reject(new Error('broken'))), /broken/);
});

test('refuses to wait longer than it may, however often it waits', async () => {
  const time = new EngineTime(0.01);
  for (const _attempt of [1, 2]) {
    await assert.rejects(
      time.wait(never),
      (error) =>
        error instanceof ServiceError && error.kind === 'ServiceUnavailable' && /0\.01 seconds/.test(error.message),
    );
  }
});

test('stops at once when the caller leaves, or has left', async () => {
  const caller = new AbortController();
  const time = new EngineTime(3600, caller.signal);
  const waiting = assert.rejects(time.wait(never), /caller left/);
  caller.abort();
  await waiting;
  await assert.rejects(time.wait(never), /caller left/);
});
