import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenReaders } from '../../../src/engine/tables/open-readers.ts';
import type { TableLocation } from '../../../src/model/table.ts';

const PLACE: TableLocation = { kind: 'listed', root: '/data', directory: 'table' };
const HOUR = 3_600_000;

const tracked = () => ({ location: PLACE, version: 3, files: files(), explain: async (error: unknown) => error });

async function* files() {
  for (;;) yield Buffer.alloc(1);
}

test('a version counts as being read for as long as its files are taken, however long that is', async () => {
  let now = 0;
  const readers = new OpenReaders(() => now);
  const reading = readers.track(tracked())[Symbol.asyncIterator]();
  for (let taken = 0; taken < 4; taken += 1) {
    now += HOUR - 1;
    assert.equal(readers.oldestVersion(PLACE), 3);
    await reading.next();
  }
  await reading.return?.();
  assert.equal(readers.oldestVersion(PLACE), undefined);
});

test('a reply that no one has taken a file of for an hour no longer counts', () => {
  let now = 0;
  const readers = new OpenReaders(() => now);
  readers.track(tracked());
  now += HOUR + 1;
  assert.equal(readers.oldestVersion(PLACE), undefined);
});

test('a version that is held counts until it is released', () => {
  let now = 0;
  const readers = new OpenReaders(() => now);
  const release = readers.hold(PLACE, 3);
  now += 10 * HOUR;
  assert.equal(readers.oldestVersion(PLACE), 3);
  release();
  assert.equal(readers.oldestVersion(PLACE), undefined);
});
