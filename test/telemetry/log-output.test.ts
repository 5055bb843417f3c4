import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLogOutput } from '../../src/telemetry/log-output.ts';
import { fillDisk, mountSmallDisk } from '../support/small-disk.ts';

test('a log file on a full disk loses lines, and gets them again when there is space', async (t) => {
  const folder = await mountSmallDisk(t, 1024 ** 2);
  if (folder === undefined) return t.skip('no permission to mount a disk');
  const ballast = await fillDisk(folder);
  const fd = openSync(join(folder, 'log'), 'a');
  t.after(() => closeSync(fd));
  const output = openLogOutput({ fd, write: () => assert.fail('a file is written directly') });
  output.write('lost\n');
  await rm(ballast);
  output.write('kept\n');
  assert.equal(await readFile(join(folder, 'log'), 'utf8'), 'kept\n');
});

test('a log that is no file is left to its stream', () => {
  const stream = { fd: -1, write: () => true };
  assert.equal(openLogOutput(stream), stream);
});
