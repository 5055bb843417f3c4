import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStorages } from '../../../src/storage/storages.ts';
import { refusal } from '../../support/refusal.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import type { S3EmulatorOptions } from '../../support/s3/s3-emulator.ts';
import { toObjectSettings } from './test-stores.ts';

async function openRoot(t: Parameters<typeof S3Emulator.start>[0], options: S3EmulatorOptions = {}) {
  const emulator = await S3Emulator.start(t, options);
  const storages = openStorages({ sync: 'os', watchedTablesMax: 1, objects: toObjectSettings(emulator) });
  return { emulator, storage: storages.of('s3://bucket/root') };
}

test('a store with atomic conditional writes is accepted once, and left clean', async (t) => {
  const { emulator, storage } = await openRoot(t);
  await storage.verifyRoot();
  assert.deepEqual(emulator.objects.paths(), []);
  assert.ok(emulator.log.every(({ path }) => path === 'bucket/' || path.startsWith('bucket/root/tiltyard-probe-')));
  emulator.log.length = 0;
  await Promise.all([storage.requireRoot(), storage.ensureRoot(), storage.verifyRoot()]);
  assert.equal(emulator.log.length, 0);
});

for (const [what, options] of [
  ['ignores conditions', { ignoresConditions: true }],
  ['checks conditions without a lock', { racesConditions: true }],
] as const) {
  test(`a store that ${what} is refused by name, and left clean`, async (t) => {
    const { emulator, storage } = await openRoot(t, options);
    const isRefused = refusal('Unsupported', /s3:\/\/bucket cannot store tables: its conditional writes .* not atomic/);
    await assert.rejects(storage.ensureRoot(), isRefused);
    await assert.rejects(storage.requireRoot(), isRefused);
    assert.deepEqual(emulator.objects.paths(), []);
  });
}

test('faults of a good store do not make it look bad', async (t) => {
  const { emulator, storage } = await openRoot(t);
  for (const kind of ['error-before', 'error-after', 'reset-after'] as const) {
    for (const skip of [0, 2, 5]) emulator.faults.add(kind, { method: 'PUT', skip });
  }
  await storage.verifyRoot();
  assert.equal(emulator.faults.left, 0);
});

test('a store that cannot be reached is probed again later', async (t) => {
  const { emulator, storage } = await openRoot(t);
  emulator.faults.add('error-before', {}, 1000);
  await assert.rejects(storage.verifyRoot(), refusal('ServiceUnavailable', /cannot be reached/));
  emulator.faults.clear();
  await storage.requireRoot();
});
