import assert from 'node:assert/strict';
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  findChangedSince,
  isUnfinished,
  measureFolder,
  sweepUnfinished,
} from '../../../src/storage/sync/folder-tree.ts';
import { makeFolder } from '../../support/temporary-folder.ts';

test('finds everything below a folder, but for files that are still being written', async (t) => {
  const root = await makeFolder(t);
  await mkdir(join(root, 'data'));
  for (const name of ['a', 'data/b', 'data/.tmpXyz', 'data/c.manifest#1']) await writeFile(join(root, name), '');
  const { files, folders } = await findChangedSince(root, 0);
  assert.deepEqual([...files].toSorted(), [join(root, 'a'), join(root, 'data/b')]);
  assert.deepEqual([...folders].toSorted(), [root, join(root, 'data')]);
});

test('finds what was made since a time, whatever time a file claims to be of', async (t) => {
  const root = await makeFolder(t);
  await writeFile(join(root, 'a'), '');
  await utimes(join(root, 'a'), 1, 1);
  const now = Date.now();
  assert.deepEqual([...(await findChangedSince(root, now)).files], [join(root, 'a')]);
  const { files, folders } = await findChangedSince(root, now + 60_000);
  assert.deepEqual([...files, ...folders], []);
});

test('a folder that is not there has nothing', async () => {
  assert.equal((await findChangedSince('/nowhere/at/all', 0)).files.size, 0);
});

test('measures all files below a folder, and leaves the event loop free meanwhile', async (t) => {
  const root = await makeFolder(t);
  await mkdir(join(root, 'data/deep'), { recursive: true });
  const names = Array.from({ length: 4000 }, (_, index) => `data/${index % 2 === 0 ? 'deep/' : ''}${index}`);
  for (const name of names) await writeFile(join(root, name), 'abc');
  await symlink('/etc/hostname', join(root, 'data/link'));
  let turns = 0;
  const timer = setInterval(() => (turns += 1));
  assert.equal(await measureFolder(root), 3 * names.length);
  clearInterval(timer);
  assert.ok(turns > 0, `${turns} turns`);
  assert.equal(await measureFolder(join(root, 'nowhere')), 0);
});

test('removes files that were left unfinished long ago, and no others', async (t) => {
  const root = await makeFolder(t);
  await mkdir(join(root, 'data'));
  for (const name of ['data/.tmpOld', 'data/.tmpNew', 'data/old']) await writeFile(join(root, name), 'abc');
  for (const name of ['data/.tmpOld', 'data/old']) await utimes(join(root, name), 1, 1);
  assert.equal(await sweepUnfinished(root, 60_000), 1);
  assert.equal(await measureFolder(root), 6);
});

test('knows the names of files that are being written', () => {
  assert.ok(isUnfinished('.tmpA1b2C3'));
  assert.ok(isUnfinished('18446744073709551614.manifest#1'));
  assert.ok(!isUnfinished('18446744073709551614.manifest'));
});
