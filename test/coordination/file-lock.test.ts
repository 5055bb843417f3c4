import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tryLockFile } from '../../src/coordination/file-lock.ts';
import { fillDisk, mountSmallDisk, remount } from '../support/small-disk.ts';
import { makeFolder } from '../support/temporary-folder.ts';

/** A process of its own that holds the lock. */
async function holdElsewhere(t: TestContext, file: string): Promise<() => Promise<void>> {
  const program = fileURLToPath(new URL('hold-lock.js', import.meta.url));
  const child = spawn(process.execPath, [program, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
}

test('a locked file can be locked again only after it was released', async (t) => {
  const file = join(await makeFolder(t), 'server.lock');
  const first = tryLockFile(file);
  assert.ok(first);
  assert.equal(tryLockFile(file), undefined);
  first.close();
  const second = tryLockFile(file);
  assert.ok(second);
  second.close();
});

test('a process that is killed releases its lock at once', async (t) => {
  const file = join(await makeFolder(t), 'server.lock');
  const kill = await holdElsewhere(t, file);
  assert.equal(tryLockFile(file), undefined);
  await kill();
  const lock = tryLockFile(file);
  assert.ok(lock);
  lock.close();
});

test('locking writes nothing: it works on a full disk and leaves an empty file', async (t) => {
  const folder = await mountSmallDisk(t, 1024 ** 2);
  if (folder === undefined) return t.skip('no permission to mount a disk');
  await fillDisk(folder);
  const lock = tryLockFile(join(folder, 'server.lock'));
  assert.ok(lock);
  assert.equal(tryLockFile(join(folder, 'server.lock')), undefined);
  lock.close();
  assert.deepEqual((await readdir(folder)).toSorted(), ['ballast', 'server.lock']);
  assert.equal((await stat(join(folder, 'server.lock'))).size, 0);
});

test('a file on a read-only disk cannot be locked', async (t) => {
  const folder = await mountSmallDisk(t, 1024 ** 2);
  if (folder === undefined) return t.skip('no permission to mount a disk');
  tryLockFile(join(folder, 'server.lock'))?.close();
  await remount(folder, 'ro');
  assert.throws(() => tryLockFile(join(folder, 'server.lock')), { code: 'EROFS' });
  assert.throws(() => tryLockFile(join(folder, 'other.lock')), { code: 'EROFS' });
});

test('a lock knows whether its file is still at its path', async (t) => {
  const folder = join(await makeFolder(t), 'data');
  await mkdir(folder);
  const lock = tryLockFile(join(folder, 'server.lock'));
  t.after(() => lock?.close());
  assert.equal(lock?.isInPlace(), true);
  await rename(folder, `${folder}.away`);
  assert.equal(lock.isInPlace(), false);
  await mkdir(folder);
  await writeFile(join(folder, 'server.lock'), '');
  assert.equal(lock.isInPlace(), false);
  await rm(folder, { recursive: true });
  await rename(`${folder}.away`, folder);
  assert.equal(lock.isInPlace(), true);
});
