import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { openStorages } from '../../../src/storage/storages.ts';
import { refusal } from '../../support/refusal.ts';
import { makeFolder } from '../../support/temporary-folder.ts';

const storages = openStorages({ sync: 'os', watchedTablesMax: 1 });

test('a root is made on demand, and required without being made', async (t) => {
  const folder = await makeFolder(t, 'tiltyard root-');
  for (const root of [join(folder, 'a', 'b'), pathToFileURL(join(folder, 'c d')).href]) {
    const storage = storages.of(root);
    await assert.rejects(storage.requireRoot(), refusal('ServiceUnavailable', /is missing/));
    await storage.ensureRoot();
    await storage.requireRoot();
  }
  assert.deepEqual((await readdir(folder)).toSorted(), ['a', 'c d']);
});

test('a root that is a file is refused', async (t) => {
  const folder = await makeFolder(t);
  const storage = storages.of(join(folder, 'file'));
  await writeFile(join(folder, 'file'), '');
  await assert.rejects(storage.requireRoot(), refusal('ServiceUnavailable', /cannot be used/));
  await assert.rejects(storage.ensureRoot(), refusal('ServiceUnavailable', /cannot be used/));
});
