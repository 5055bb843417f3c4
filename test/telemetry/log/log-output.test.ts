import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLogOutput, batchLines } from '../../../src/telemetry/log/log-output.ts';
import { fillDisk, mountSmallDisk } from '../../support/small-disk.ts';

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

function open() {
  const written: string[] = [];
  let wake = (): void => {};
  const lines = batchLines({
    write(text) {
      written.push(text);
      wake();
    },
  });
  const nextWrite = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return { lines, written, nextWrite };
}

test('batches lines in their order', async () => {
  const { lines, written, nextWrite } = open();
  // Without one that counts, nothing keeps the process waiting.
  const alive = setTimeout(() => assert.fail('nothing was written'), 60_000);
  for (const line of ['one\n', 'two\n', 'three\n']) lines.write(line);
  assert.deepEqual(written, []);
  await nextWrite;
  clearTimeout(alive);
  lines.close();
  assert.deepEqual(written, ['one\ntwo\nthree\n']);
});

test('much is not held back, and is written in pieces of whole lines that a pipe keeps together', () => {
  const { lines, written } = open();
  const line = `${'é'.repeat(500)}\n`;
  for (let count = 0; count < 70; count += 1) lines.write(line);
  assert.equal(written.length, 17);
  lines.close();
  for (const batch of written) assert.match(batch, /^(?:é{500}\n){2,4}$/);
  assert.equal(written.join(''), line.repeat(70));
});

test('a line that no batch has room for is written at once, after those before it', () => {
  const { lines, written } = open();
  const long = `${'x'.repeat(10_000)}\n`;
  lines.write('first\n');
  lines.write(long);
  assert.deepEqual(written, ['first\n', long]);
  lines.close();
});

test('what was gathered is written when it closes, and what comes later at once', () => {
  const { lines, written } = open();
  lines.write('last\n');
  lines.close();
  lines.write('after\n');
  assert.deepEqual(written, ['last\n', 'after\n']);
});
