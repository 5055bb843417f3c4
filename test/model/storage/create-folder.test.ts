import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createFolder } from '../../../src/model/storage/create-folder.ts';
import { makeFolder } from '../../support/temporary-folder.ts';

test('a folder is created with those above it, and may be there already', async (t) => {
  const above = join(await makeFolder(t), 'a', 'b');
  for (let time = 0; time < 2; time += 1) createFolder(join(above, 'c', '..', 'c/'), 0o700);
  for (const path of [above, join(above, 'c')]) assert.equal(statSync(path).mode & 0o777, 0o700);
});

test('a link to a folder is one', async (t) => {
  const folder = await makeFolder(t);
  await mkdir(join(folder, 'target'));
  await symlink(join(folder, 'target'), join(folder, 'link'));
  createFolder(join(folder, 'link', 'new'));
  assert.ok(statSync(join(folder, 'target', 'new')).isDirectory());
});

test('a folder is not created in place of a file, below one, or at a link that leads nowhere', async (t) => {
  const folder = await makeFolder(t);
  await writeFile(join(folder, 'file'), '');
  await symlink(join(folder, 'nowhere'), join(folder, 'link'));
  assert.throws(() => createFolder(join(folder, 'file')), { code: 'EEXIST' });
  assert.throws(() => createFolder(join(folder, 'file', 'new')), { code: 'ENOTDIR' });
  assert.throws(() => createFolder(join(folder, 'link')), { code: 'EEXIST' });
  assert.throws(() => createFolder(join(folder, 'link', 'new')), { code: 'EEXIST' });
});

test('a file system that has no new folders is named', { skip: process.platform !== 'linux' }, () => {
  const refusal = { code: 'EACCES', message: 'no folder can be created in /proc' };
  assert.throws(() => createFolder('/proc/tiltyard'), refusal);
  assert.throws(() => createFolder('/proc/tiltyard/a/b'), refusal);
});
