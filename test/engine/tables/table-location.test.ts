import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { locateTable } from '../../../src/engine/tables/lifecycle.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { locationUri } from '../../../src/model/table.ts';
import { openStorages } from '../../../src/storage/storages.ts';
import type { Storages } from '../../../src/storage/storages.ts';
import { toObjectSettings } from '../../storage/object/test-stores.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';

let storages: Storages;
let folder: string;
let emulator: S3Emulator;
before(async () => {
  emulator = await S3Emulator.start({ after: () => {} });
  emulator.objects.put('bucket/root/a/x.lance/_versions/1.manifest', Buffer.from('x'));
  storages = openStorages({ sync: 'os', watchedTablesMax: 1, objects: toObjectSettings(emulator) });
  folder = await mkdtemp(join(tmpdir(), 'location-'));
  await mkdir(join(folder, 'root', 'a', 'b', 'x.lance'), { recursive: true });
  await mkdir(join(folder, 'root', 'x.lance'));
  await mkdir(join(folder, 'outside.lance'));
  await symlink(join(folder, 'outside.lance'), join(folder, 'root', 'out.lance'));
  await symlink(folder, join(folder, 'root', 'up'));
});
after(async () => {
  emulator.close();
  await rm(folder, { recursive: true, force: true });
});

test('finds a directory below the root, by a relative or a full path', async () => {
  const root = join(folder, 'root');
  for (const text of ['x.lance', 'x.lance/', 'a/b/x.lance', `${root}/x.lance`]) {
    const location = await locateTable(storages, `${root}/`, text);
    assert.equal(locationUri(location), join(root, text.replace(`${root}/`, '').replace(/\/$/, '')));
  }
});

test('finds a table on an object store by its objects', async () => {
  const found = { kind: 'listed', root: 's3://bucket/root/a', directory: 'x' };
  for (const text of ['a/x.lance', 's3://bucket/root/a/x.lance/']) {
    assert.deepEqual(await locateTable(storages, 's3://bucket/root', text), found);
  }
  for (const text of ['x.lance', 'b/x.lance', 'a/x.lance2.lance']) {
    await assert.rejects(locateTable(storages, 's3://bucket/root', text), { kind: 'TableNotFound' });
  }
});

test('follows no link out of the root, nor inside of it', async () => {
  for (const location of ['out.lance', 'up/outside.lance', 'up/root/x.lance']) {
    await assert.rejects(locateTable(storages, join(folder, 'root'), location), isRefusal);
  }
});

test('every location is below the root or refused', async () => {
  const segment = fc.constantFrom(
    '..',
    '.',
    '',
    'a',
    'x.lance',
    'up',
    '%2e%2e',
    '..\\',
    '\u0000',
    '~',
    'file:',
    'x.lance ',
  );
  const texts = fc.oneof(
    fc.array(segment, { maxLength: 6 }).map((segments) => segments.join('/')),
    fc.string(),
    fc.string().map((text) => `${text}.lance`),
  );
  await fc.assert(
    fc.asyncProperty(texts, fc.constantFrom(join(folder, 'root'), 's3://bucket/root'), async (location, root) => {
      try {
        const found = locationUri(await locateTable(storages, root, location));
        assert.ok(found.startsWith(`${root}/`) && found.endsWith('.lance'), found);
        assert.ok(!found.slice(root.length).split('/').includes('..'), found);
      } catch (error) {
        assert.ok(isRefusal(error), String(error));
      }
    }),
    { numRuns: 500 },
  );
});

function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && (error.kind === 'InvalidInput' || error.kind === 'TableNotFound');
}
