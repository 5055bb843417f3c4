import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { openCatalog } from '../../src/catalog/catalog.ts';
import type { BegunWrite, Journal } from '../../src/catalog/catalog.ts';
import { refusal } from '../support/refusal.ts';
import { temporaryFile } from './temporary-catalog.ts';

const LIMITS = { windowSeconds: 60, keySeconds: 600, keysMax: 3 };

async function openJournal(t: TestContext) {
  const file = await temporaryFile(t);
  const clock = { now: 1_000_000 };
  const open = async () => {
    const catalog = await openCatalog({
      file,
      storageRoot: '/nowhere',
      busyTimeoutMilliseconds: 1000,
      cacheEntriesMax: 10,
      journal: LIMITS,
      now: () => clock.now,
    });
    t.after(async () => catalog.close());
    return catalog;
  };
  const catalog = await open();
  const { id: databaseId } = await catalog.databases.create({ name: 'default', root: '/nowhere' });
  await catalog.journal.resume();
  const write = (id: string, changes: Partial<BegunWrite> = {}): BegunWrite => ({
    id,
    caller: 'key:1',
    digest: 'digest',
    key: undefined,
    operation: 'update_table',
    databaseId,
    tableId: 'table',
    path: ['items'],
    branch: undefined,
    versionBefore: 1,
    requestId: 'r',
    ...changes,
  });
  return { clock, open, write, journal: catalog.journal };
}

/** What the next process does first; all that were begun were committed. */
async function resumeLanding(journal: Journal): Promise<readonly string[]> {
  const begun = await journal.resume();
  await journal.settle(
    begun.map((each) => ({ write: each, version: each.versionBefore + 1 })),
    [],
  );
  return begun.map(({ id }) => id);
}

test('a write that landed without an answer is told once, until its window is over', async (t) => {
  const { clock, open, write, journal } = await openJournal(t);
  for (const id of ['a', 'b']) assert.equal(await journal.begin(write(id, { digest: id })), undefined);
  clock.now += 3_600_000;
  const later = (await open()).journal;
  assert.deepEqual(await resumeLanding(later), ['a', 'b']);
  assert.equal((await later.find(write('c', { digest: 'a' })))?.version, 2);
  assert.equal(await later.find(write('c', { digest: 'a' })), undefined);
  clock.now += 61_000;
  assert.equal(await later.find(write('c', { digest: 'b' })), undefined);
});

test('two like each other that landed answer two requests, and no third', async (t) => {
  const { open, write, journal } = await openJournal(t);
  for (const id of ['a', 'b']) await journal.begin(write(id));
  const later = (await open()).journal;
  await resumeLanding(later);
  const answers = await Promise.all(['c', 'd', 'e'].map(async (id) => later.begin(write(id))));
  assert.deepEqual(
    answers.map((prior) => prior?.journalId),
    ['a', 'b', undefined],
  );
});

test('what is committed after a write of which nobody knows what became is not taken for its own', async (t) => {
  const { open, write, journal } = await openJournal(t);
  for (const id of ['a', 'b']) await journal.begin(write(id, { digest: id }));
  await journal.begin(write('other', { digest: 'other', tableId: 'other' }));
  // It cannot find out, and goes on.
  const second = (await open()).journal;
  await second.resume();
  assert.equal(await second.begin(write('c', { digest: 'c', versionBefore: 2 })), undefined);
  assert.equal(await second.begin(write('d', { digest: 'd', versionBefore: 3 })), undefined);
  const third = await (await open()).journal.resume();
  assert.deepEqual(
    third.map(({ id, boundVersion }) => [id, boundVersion]),
    [
      ['a', 2],
      ['b', 2],
      ['other', undefined],
      ['c', undefined],
      ['d', undefined],
    ],
  );
});

test('an answer that did not arrive is given again', async (t) => {
  const { open, write, journal } = await openJournal(t);
  await journal.begin(write('a'));
  const later = (await open()).journal;
  await resumeLanding(later);
  const prior = await later.begin(write('b'));
  assert.equal(prior?.journalId, 'a');
  const answer = later.answer('a', write('b'));
  assert.equal(await later.find(write('c')), undefined);
  answer.lost();
  assert.equal((await later.begin(write('c')))?.journalId, 'a');
});

test('an answer that was on its way when the process died is not given again, one that was not is', async (t) => {
  const { open, write, journal } = await openJournal(t);
  for (const id of ['sent', 'unsent']) await journal.begin(write(id, { digest: id }));
  journal.answer('sent', write('sent', { digest: 'sent' })).sent();
  const later = (await open()).journal;
  assert.deepEqual(await resumeLanding(later), ['unsent']);
  assert.equal(await later.find(write('c', { digest: 'sent' })), undefined);
  assert.equal((await later.find(write('c', { digest: 'unsent' })))?.journalId, 'unsent');
});

test('in the moment of doubt, a request that is often sent counts as answered, and a new one as not', async (t) => {
  const { open, write, journal } = await openJournal(t);
  for (const id of ['often', 'new']) await journal.begin(write(id, { digest: id }));
  journal.answer('often', write('often', { digest: 'often' })).sent();
  await journal.begin(write('again', { digest: 'often' }));
  journal.answer('again', write('again', { digest: 'often' }));
  journal.answer('new', write('new', { digest: 'new' }));
  const later = (await open()).journal;
  assert.deepEqual(await resumeLanding(later), ['new']);
});

test('one whose sender left before the answer is told to whoever sends it again', async (t) => {
  const { open, write, journal } = await openJournal(t);
  await journal.begin(write('a'));
  const later = (await open()).journal;
  await resumeLanding(later);
  assert.equal((await later.find(write('b')))?.journalId, 'a');
  later.leave('a');
  assert.equal((await later.find(write('b')))?.journalId, 'a');
});

test('a write that is under way, or failed, is nobody’s answer', async (t) => {
  const { open, write, journal } = await openJournal(t);
  await journal.begin(write('a'));
  assert.equal(await journal.begin(write('b')), undefined);
  journal.fail('a');
  assert.equal(await journal.begin(write('c')), undefined);
  const later = (await open()).journal;
  assert.deepEqual(await resumeLanding(later), ['b', 'c']);
});

test('a request like one of which nobody knows what became is refused', async (t) => {
  const { write, journal } = await openJournal(t);
  await journal.begin(write('a'));
  journal.leave('a');
  await assert.rejects(journal.begin(write('b')), refusal('ServiceUnavailable', /not known yet/));
});

test('a key means one request', async (t) => {
  const { clock, open, write, journal } = await openJournal(t);
  const key = 'order';
  await journal.begin(write('a', { key }));
  journal.answer('a', write('a', { key })).sent();
  const later = (await open()).journal;
  await resumeLanding(later);
  for (const id of ['b', 'c']) assert.equal((await later.begin(write(id, { key })))?.version, 2);
  await assert.rejects(later.begin(write('d', { key, digest: 'other' })), refusal('InvalidInput', /another request/));
  assert.equal(await later.find(write('e', { key, caller: 'key:2' })), undefined);
  clock.now += 601_000;
  assert.equal(await later.find(write('f', { key, digest: 'other' })), undefined);
});

test('keeps no more than it was told to', async (t) => {
  const { clock, open, write, journal } = await openJournal(t);
  for (let each = 0; each < 5; each += 1) {
    clock.now += 1000;
    await journal.begin(write(`k${each}`, { key: `key ${each}`, versionBefore: each }));
  }
  const later = (await open()).journal;
  for (const each of await later.resume()) {
    clock.now += 1000;
    await later.settle([{ write: each, version: 9 }], []);
  }
  for (let each = 0; each < 200; each += 1) await later.begin(write(`x${each}`, { digest: 'x' }));
  const found = await Promise.all([0, 1, 2, 3, 4].map(async (each) => later.find(write('y', { key: `key ${each}` }))));
  assert.deepEqual(
    found.map((prior) => prior !== undefined),
    [false, false, true, true, true],
  );
});
