import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { ResponseMarks } from '../../../src/writes/idempotency/response-marks.ts';
import { makeFolder } from '../../support/temporary-folder.ts';

const BOOT = 'boot-1';
const SLOT_BYTES = 128;
const SLOTS = 4096;

async function temporaryPath(t: TestContext): Promise<string> {
  const folder = await makeFolder(t);
  return join(folder, 'marks');
}

/** Marks of a process that is running. */
function start(t: TestContext, path: string, bootId = BOOT): ResponseMarks {
  const marks = new ResponseMarks(path, bootId);
  t.after(() => marks.close());
  assert.equal(marks.start(), true);
  return marks;
}

/** What the process after it reads. */
function readPast(path: string, bootId = BOOT) {
  return new ResponseMarks(path, bootId).past;
}

suite('the marks of a process', () => {
  test('are read by the next one, with their generation', async (t) => {
    const path = await temporaryPath(t);
    const marks = start(t, path);
    assert.deepEqual(readPast(path), { generation: marks.generation, marked: new Set() });
    assert.equal(marks.mark('one'), true);
    assert.equal(marks.mark('two'), true);
    assert.deepEqual(readPast(path), { generation: marks.generation, marked: new Set(['one', 'two']) });
  });

  test('are replaced by those of the next one, in a new generation', async (t) => {
    const path = await temporaryPath(t);
    const first = start(t, path);
    first.mark('one');
    const second = start(t, path);
    assert.notEqual(second.generation, first.generation);
    assert.deepEqual(readPast(path), { generation: second.generation, marked: new Set() });
  });

  test('have no generation before they start, and none after they are closed', async (t) => {
    const path = await temporaryPath(t);
    const marks = new ResponseMarks(path, BOOT);
    assert.equal(marks.generation, undefined);
    assert.equal(marks.mark('one'), false);
    marks.start();
    assert.notEqual(marks.generation, undefined);
    marks.close();
    assert.equal(marks.generation, undefined);
    assert.equal(marks.mark('one'), false);
  });

  test('take no more space than was made for them at the start', async (t) => {
    const path = await temporaryPath(t);
    const marks = start(t, path);
    const { size } = await stat(path);
    assert.equal(size, SLOT_BYTES * (SLOTS + 1));
    for (let index = 0; index < SLOTS; index += 1) assert.equal(marks.mark(`id-${index}`), true);
    assert.equal((await stat(path)).size, size);
    assert.equal(readPast(path)?.marked.size, SLOTS);
  });
});

suite('slots', () => {
  test('run out, and are free again when their entries are gone from the journal', async (t) => {
    const path = await temporaryPath(t);
    const marks = start(t, path);
    for (let index = 0; index < SLOTS; index += 1) marks.mark(`id-${index}`);
    assert.equal(marks.mark('one more'), false);
    marks.release(['id-7', 'id-8', 'never marked']);
    assert.equal(marks.mark('a'), true);
    assert.equal(marks.mark('b'), true);
    assert.equal(marks.mark('c'), false);
    const marked = readPast(path)?.marked;
    assert.equal(marked?.size, SLOTS);
    assert.deepEqual(
      ['a', 'b', 'c', 'id-7', 'id-9'].map((id) => marked?.has(id)),
      [true, true, false, false, true],
    );
  });

  test('are released once', async (t) => {
    const marks = start(t, await temporaryPath(t));
    for (let index = 0; index < SLOTS; index += 1) marks.mark(`id-${index}`);
    marks.release(['id-7']);
    marks.release(['id-7']);
    assert.deepEqual([marks.mark('a'), marks.mark('b')], [true, false]);
  });
});

suite('nothing is known of the process before', () => {
  test('when it left no file', async (t) => {
    assert.equal(readPast(await temporaryPath(t)), undefined);
  });

  test('when the machine was started again since', async (t) => {
    const path = await temporaryPath(t);
    start(t, path).mark('one');
    assert.equal(readPast(path, 'boot-2'), undefined);
  });

  const DAMAGES: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
    'is empty': async (path) => truncate(path),
    'is short of a byte': async (path) => truncate(path, SLOT_BYTES * (SLOTS + 1) - 1),
    'is too long': async (path) => writeFile(path, ' ', { flag: 'a' }),
    'is all zeros': async (path) => writeFile(path, Buffer.alloc(SLOT_BYTES * (SLOTS + 1))),
    'is all blanks': async (path) => writeFile(path, Buffer.alloc(SLOT_BYTES * (SLOTS + 1), ' ')),
    'has a changed byte in its header': async (path) => changeByte(path, 20),
    'has a changed byte in a mark': async (path) => changeByte(path, SLOTS * SLOT_BYTES),
    'has a torn mark': async (path) => blank(path, SLOTS * SLOT_BYTES + 3),
    'has a changed byte in a free slot': async (path) => changeByte(path, 5 * SLOT_BYTES + 1),
  };
  for (const [name, damage] of Object.entries(DAMAGES)) {
    test(`when its file ${name}`, async (t) => {
      const path = await temporaryPath(t);
      const marks = start(t, path);
      for (let index = 0; index < SLOTS; index += 1) marks.mark(`id-${index}`);
      marks.release(['id-3', 'id-4']);
      await damage(path);
      assert.equal(readPast(path), undefined);
    });
  }
});

async function changeByte(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes.writeUInt8(bytes.readUInt8(at) === 0x78 ? 0x79 : 0x78, at);
  await writeFile(path, bytes);
}

/** As if the rest of the slot had not been written. */
async function blank(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes.fill(' ', at, at - (at % SLOT_BYTES) + SLOT_BYTES);
  await writeFile(path, bytes);
}

suite('a generation that is invalidated', () => {
  test('is known to no later process', async (t) => {
    const path = await temporaryPath(t);
    const marks = start(t, path);
    marks.mark('one');
    assert.equal(marks.invalidate(), true);
    assert.equal(marks.generation, undefined);
    assert.equal(readPast(path), undefined);
    assert.equal(marks.invalidate(), true, 'a file that is gone is as good');
  });

  test('is followed by another one when it starts again', async (t) => {
    const path = await temporaryPath(t);
    const marks = start(t, path);
    const { generation } = marks;
    marks.mark('one');
    marks.invalidate();
    assert.equal(marks.start(), true);
    assert.notEqual(marks.generation, generation);
    assert.deepEqual(readPast(path), { generation: marks.generation, marked: new Set() });
  });

  test('continues when its file cannot be removed: later responses must still be marked', async (t) => {
    const path = await temporaryPath(t);
    const marks = start(t, path);
    const { generation } = marks;
    await rm(path);
    await mkdir(path);
    assert.equal(marks.invalidate(), false);
    assert.equal(marks.generation, generation);
    assert.equal(marks.mark('one'), true);
  });
});

suite('a start that fails', () => {
  test('gives no generation, and marks nothing', async (t) => {
    const path = await temporaryPath(t);
    await mkdir(`${path}.next`);
    const marks = new ResponseMarks(path, BOOT);
    assert.equal(marks.start(), false);
    assert.equal(marks.generation, undefined);
    assert.equal(marks.mark('one'), false);
    await rm(`${path}.next`, { recursive: true });
    assert.equal(marks.start(), true);
    marks.close();
  });
});
