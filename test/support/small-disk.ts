import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A disk of that size, or nothing where this process may not make one. */
export async function mountSmallDisk(t: TestContext, bytes: number): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-disk-'));
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]).catch(() => undefined);
  t.after(async () => {
    if (mounted !== undefined) await run('umount', ['-l', folder]);
    await rm(folder, { recursive: true, force: true });
  });
  return mounted === undefined ? undefined : folder;
}

export async function remount(folder: string, mode: 'ro' | 'rw'): Promise<void> {
  await run('mount', ['-o', `remount,${mode}`, folder]);
}

/** Leaves not a byte. Gives the file to remove when there shall be space again. */
export async function fillDisk(folder: string): Promise<string> {
  const file = join(folder, 'ballast');
  await writeFile(file, Buffer.alloc(64 * 1024 ** 2)).catch((error: NodeJS.ErrnoException) => {
    assert.equal(error.code, 'ENOSPC');
  });
  return file;
}
