import assert from 'node:assert/strict';
import { access, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Catalog, Journal, JournalEntry, NewEntry } from '../../../src/catalog/catalog.ts';
import { Idempotency } from '../../../src/writes/idempotency/idempotency.ts';
import { Responses } from '../../../src/writes/idempotency/responses.ts';
import { ResponseMarks } from '../../../src/writes/idempotency/response-marks.ts';
import type { ResponseRef, SucceededWrite, WriteRequest } from '../../../src/writes/write.ts';
import { createTable, temporaryCatalog } from '../../catalog/temporary-catalog.ts';
import { openLong } from '../../engine/test-engine.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/refusal.ts';
import { countRows, openWriteFixture } from '../write-fixture.ts';
import type { WriteFixture, WriteOptions } from '../write-fixture.ts';

const WINDOW_SECONDS = 60;
const SLOTS = 4096;

type AnsweredWrite = SucceededWrite & { readonly response: ResponseRef };

interface RequestFacts {
  readonly key?: string;
  readonly digest?: string;
  readonly caller?: string;
  readonly signal?: AbortSignal;
}

function toRequest({ key, digest = 'd', caller = 'ann', signal }: RequestFacts = {}): WriteRequest {
  const connected = new AbortController().signal;
  const facts = { operation: 'insert_into_table', caller, requestId: 'request', key, expectedVersion: undefined };
  return { ...facts, digest: () => digest, signal: () => signal ?? connected };
}

/** A journal and marks on disk, with a clock that the test moves. */
async function openIdempotency(t: TestContext, watch: (journal: Journal) => Journal = (journal) => journal) {
  const { catalog, database, file } = await temporaryCatalog(t);
  const table = await createTable(catalog, database.id, ['items']);
  const journal = watch(catalog.journal);
  const clock = { now: 1_700_000_000_000 };
  const marksFile = join(dirname(file), 'marks');
  const marks = new ResponseMarks(marksFile, 'boot');
  const limits = { windowSeconds: WINDOW_SECONDS, keySeconds: 3600, keysMax: 100 };
  const responses = new Responses({ journal, marks, limits, now: () => clock.now });
  const idempotency = new Idempotency(journal, responses);
  t.after(async () => responses.close());
  responses.startMarks();
  let entries = 0;
  /** The entry of a write that is committed and recorded. */
  const record = async (request: WriteRequest): Promise<AnsweredWrite> => {
    const { key, caller } = request;
    entries += 1;
    const entry: NewEntry = {
      id: `entry-${entries}`,
      caller,
      digest: request.digest(),
      key,
      operation: 'insert_into_table',
      databaseId: database.id,
      tableId: table.id,
      path: table.path,
      branch: undefined,
      baseVersion: entries,
      epoch: 0,
      requestId: 'request',
      generation: responses.startMarks(),
      expected: '{}',
      holdsReaders: false,
    };
    await catalog.journal.begin([entry], { bounds: [], removes: [], isDurable: false });
    const fields = { num_inserted_rows: entries };
    const version = entries + 1;
    const recorded = { operation: 'insert_into_table', caller, requestId: 'request', version };
    const ended = { id: entry.id, epoch: 0, outcome: JSON.stringify(fields) };
    const [{ transactionId } = { transactionId: undefined }] = await catalog.journal
      .record([{ table, commit: recorded, entry: ended }], false)
      .then((all) => all.filter((each) => each !== undefined));
    const response = { id: entry.id, key };
    return { kind: 'committed', version, transactionId, properties: undefined, fields, response };
  };
  /** A whole write, but for its response. */
  const commit = async (request: WriteRequest): Promise<ResponseRef> => {
    const written = await record(request);
    await idempotency.serializeWrite(request, undefined, async () => written);
    return written.response;
  };
  const find = async (id: string): Promise<JournalEntry | undefined> => catalog.journal.find(id);
  return { idempotency, responses, marks, marksFile, clock, record, commit, find, journal: catalog.journal };
}

suite('with a key', () => {
  test('the same request gets the stored result, as often as it is sent', async (t) => {
    const { idempotency, responses, commit } = await openIdempotency(t);
    const request = toRequest({ key: 'k' });
    assert.equal(await idempotency.findReplay(request), undefined);
    const response = await commit(request);
    await responses.mark(response);
    for (let round = 0; round < 3; round += 1) {
      const replayed = await idempotency.findReplay(request);
      assert.deepEqual(
        [replayed?.kind, replayed?.version, replayed?.fields],
        ['replayed', 2, { num_inserted_rows: 1 }],
      );
      assert.deepEqual(replayed?.response, response);
    }
  });

  test('another request is refused', async (t) => {
    const { idempotency, commit } = await openIdempotency(t);
    await commit(toRequest({ key: 'k', digest: 'one' }));
    const other = toRequest({ key: 'k', digest: 'two' });
    await assert.rejects(idempotency.findReplay(other), refusal('InvalidInput', /used for another request/));
  });

  test('keys are separate per caller, and a request without the key is a new one', async (t) => {
    const { idempotency, commit } = await openIdempotency(t);
    await commit(toRequest({ key: 'k' }));
    assert.equal(await idempotency.findReplay(toRequest({ key: 'k', caller: 'bob' })), undefined);
    assert.equal(await idempotency.findReplay(toRequest()), undefined);
    assert.equal(await idempotency.hasKey(toRequest({ key: 'k' })), true);
    assert.equal(await idempotency.hasKey(toRequest({ key: 'k', caller: 'bob' })), false);
    assert.equal(await idempotency.hasKey(toRequest()), false);
  });

  test('requests at once run one after the other', async (t) => {
    const { idempotency } = await openIdempotency(t);
    const events: string[] = [];
    const run = async (name: string, request: WriteRequest): Promise<void> =>
      idempotency.serialize(request, async () => {
        events.push(`${name} starts`);
        await new Promise(setImmediate);
        events.push(`${name} ends`);
      });
    const request = { key: 'k' };
    await Promise.all(['1', '2', '3'].map(async (name) => run(name, toRequest(request))));
    assert.deepEqual(events, ['1 starts', '1 ends', '2 starts', '2 ends', '3 starts', '3 ends']);
    assert.equal(idempotency.runningCount, 0);
  });

  test('one that fails lets the next run', async (t) => {
    const { idempotency } = await openIdempotency(t);
    const request = toRequest({ key: 'k' });
    await assert.rejects(
      idempotency.serialize(request, async () => Promise.reject(new Error('no'))),
      /no/,
    );
    assert.equal(await idempotency.serialize(request, async () => 'ran'), 'ran');
  });

  test('while it is in doubt whether it was applied, it is refused', async (t) => {
    const { idempotency, responses, commit, journal } = await openIdempotency(t);
    const request = toRequest({ key: 'k' });
    const { id } = await commit(request);
    await journal.remove([id]);
    const entry = { ...(await pendingEntry(journal, commit)), key: 'k', digest: 'd', id: 'pending' };
    await journal.begin([entry], { bounds: [], removes: [], isDurable: false });
    await assert.rejects(idempotency.findReplay(request), refusal('ServiceUnavailable', /not known yet/));
    responses.abort(['pending']);
    assert.equal(await idempotency.findReplay(request), undefined, 'it came to nothing');
    await eventually(async () => (await journal.find('pending')) === undefined);
  });
});

async function pendingEntry(
  journal: Journal,
  commit: (request: WriteRequest) => Promise<ResponseRef>,
): Promise<NewEntry> {
  const { id } = await commit(toRequest({ digest: 'other' }));
  const entry = await journal.find(id);
  assert.ok(entry !== undefined);
  return { ...entry, holdsReaders: false };
}

suite('without a key', () => {
  test('a request whose response was never begun is answered once, and then it is a new one', async (t) => {
    const { idempotency, responses, commit } = await openIdempotency(t);
    const request = toRequest();
    responses.release(await commit(request));
    const replayed = await idempotency.findReplay(request);
    assert.deepEqual([replayed?.kind, replayed?.fields], ['replayed', { num_inserted_rows: 1 }]);
    assert.equal(await idempotency.findReplay(request), undefined);
  });

  test('two that were never answered answer two', async (t) => {
    const { idempotency, responses, commit } = await openIdempotency(t);
    const request = toRequest();
    for (let round = 0; round < 2; round += 1) responses.release(await commit(request));
    const versions = [];
    for (let round = 0; round < 3; round += 1) versions.push((await idempotency.findReplay(request))?.version);
    assert.deepEqual(versions, [2, 3, undefined]);
  });

  test('a request of other words, or a marked one, is a new one', async (t) => {
    const { idempotency, responses, commit, marksFile, find, journal } = await openIdempotency(t);
    const request = toRequest();
    const response = await commit(request);
    assert.equal(responses.mark(response), undefined, 'without waiting');
    assert.equal(await idempotency.findReplay(request), undefined);
    assert.equal(new ResponseMarks(marksFile, 'boot').past?.marked.has(response.id), true);
    assert.notEqual(await find(response.id), undefined);
    assert.deepEqual(responses.takeRemovable(), [response.id], 'the next transaction removes its entry');
    responses.release(await commit(toRequest({ digest: 'one' })));
    assert.equal(await idempotency.findReplay(toRequest({ digest: 'two' })), undefined);
    assert.equal((await journal.keyless()).length, 2);
  });

  test('the window is bounded: after it, it is a new request', async (t) => {
    const { idempotency, responses, commit, clock } = await openIdempotency(t);
    const [early, late] = [toRequest({ digest: 'early' }), toRequest({ digest: 'late' })];
    responses.release(await commit(early));
    clock.now += (WINDOW_SECONDS - 1) * 1000;
    responses.release(await commit(late));
    clock.now += 1000;
    assert.equal(await idempotency.findReplay(early), undefined);
    assert.notEqual(await idempotency.findReplay(late), undefined);
  });

  test('after the window it is removed from the journal too, also when the same request comes before it was pruned', async (t) => {
    const { idempotency, responses, commit, clock, find } = await openIdempotency(t);
    const [request, other] = [toRequest(), toRequest({ digest: 'other' })];
    const past = await commit(request);
    responses.release(past);
    responses.release(await commit(other));
    clock.now += WINDOW_SECONDS * 1000;
    assert.equal(await idempotency.findReplay(request), undefined);
    assert.deepEqual(responses.takeDue(), [past.id], 'the transaction of the new write removes it');
    await eventually(async () => (await find(past.id)) === undefined);
  });

  test('results that are not requested within the window are removed from the journal, so a restart does not bring them back', async (t) => {
    const { responses, commit, clock, find } = await openIdempotency(t);
    const response = await commit(toRequest());
    responses.release(response);
    clock.now += WINDOW_SECONDS * 1000;
    await eventually(async () => (await find(response.id)) === undefined);
  });

  test('while it is in doubt whether it was applied, it is refused; then it gets the result', async (t) => {
    const { idempotency, commit, find } = await openIdempotency(t);
    const request = toRequest();
    const response = await commit(request);
    idempotency.addInDoubt({ ...response, digest: 'd' });
    await assert.rejects(idempotency.findReplay(request), refusal('ServiceUnavailable', /not known yet/));
    assert.equal(await idempotency.findReplay(toRequest({ digest: 'other' })), undefined);
    idempotency.endInDoubt(response.id, await find(response.id), true);
    assert.equal((await idempotency.findReplay(request))?.version, 2);
  });

  test('what a doubt of a past process comes to is replayed only when its marks are known', async (t) => {
    const { idempotency, responses, commit, find } = await openIdempotency(t);
    const request = toRequest();
    for (const [generation, isReplayed] of [
      [undefined, false],
      ['another', false],
      [responses.startMarks(), true],
    ] as const) {
      const response = await commit(request);
      const entry = await find(response.id);
      assert.ok(entry !== undefined);
      idempotency.addInDoubt({ ...response, digest: 'd' });
      idempotency.endInDoubt(response.id, { ...entry, generation }, false);
      assert.equal((await idempotency.findReplay(request)) !== undefined, isReplayed);
    }
  });

  test('requests of the same words at once do not wait for each other, but for one whose client has gone', async (t) => {
    const { idempotency, responses, record } = await openIdempotency(t);
    const client = new AbortController();
    const first = toRequest({ signal: client.signal });
    const events: string[] = [];
    const result = await idempotency.serializeWrite(first, undefined, async () => {
      await idempotency.serialize(toRequest(), async () => void events.push('beside it'));
      client.abort();
      return record(first);
    });
    assert.ok(result.kind === 'committed' && result.response !== undefined);
    // The client asks again before its first request is over.
    const again = idempotency.serialize(toRequest(), async () => {
      events.push('again');
      return idempotency.findReplay(toRequest());
    });
    await new Promise(setImmediate);
    assert.deepEqual(events, ['beside it']);
    responses.release(result.response);
    assert.equal((await again)?.kind, 'replayed');
  });

  test('a request is over when its response is marked, not before', async (t) => {
    const { idempotency, responses, commit } = await openIdempotency(t);
    const response = await commit(toRequest());
    assert.equal(idempotency.runningCount, 1);
    await responses.mark(response);
    assert.equal(idempotency.runningCount, 0);
  });
});

suite('a mark that cannot be written', () => {
  /** As when more responses are out than there are slots. */
  function useUp(marks: ResponseMarks): void {
    for (let index = 0; index < SLOTS; index += 1) assert.equal(marks.mark(`used-${index}`), true);
  }

  test('ends the generation: after a restart nothing of it is replayed without a key', async (t) => {
    const { idempotency, responses, commit, marks, marksFile } = await openIdempotency(t);
    const response = await commit(toRequest());
    const { generation } = marks;
    useUp(marks);
    assert.equal(responses.mark(response), undefined);
    assert.equal(marks.generation, undefined);
    await assert.rejects(access(marksFile));
    assert.equal(await idempotency.findReplay(toRequest()), undefined);
    assert.notEqual(responses.startMarks(), generation);
  });

  test('removes the entry when the generation cannot be ended either', async (t) => {
    const { idempotency, responses, commit, marks, marksFile, find } = await openIdempotency(t);
    const response = await commit(toRequest());
    useUp(marks);
    await rm(marksFile);
    await mkdir(marksFile);
    await responses.mark(response);
    assert.equal(await find(response.id), undefined);
    assert.equal(await idempotency.findReplay(toRequest()), undefined);
  });

  test('keeps the response back when not even the entry can be removed: then the next request gets the result', async (t) => {
    const failing = (journal: Journal): Journal => ({
      ...journal,
      remove: async () => Promise.reject(new Error('the disk is full')),
    });
    const { idempotency, responses, commit, marks, marksFile } = await openIdempotency(t, failing);
    const response = await commit(toRequest());
    useUp(marks);
    await rm(marksFile);
    await mkdir(marksFile);
    await assert.rejects(Promise.resolve(responses.mark(response)), refusal('ServiceUnavailable', /was applied/));
    assert.equal((await idempotency.findReplay(toRequest()))?.version, 2);
    assert.equal(await idempotency.findReplay(toRequest()), undefined);
  });

  test('is not missed where there is no generation: nothing is replayed after a restart then', async (t) => {
    const { responses, commit, marks } = await openIdempotency(t);
    marks.invalidate();
    const response = await commit(toRequest());
    assert.equal(responses.mark(response), undefined);
    assert.deepEqual(responses.takeRemovable(), [response.id]);
  });

  test('of a generation that ended is followed by the next one, but not at once again and again', async (t) => {
    const { responses, marks, marksFile, clock } = await openIdempotency(t);
    marks.invalidate();
    await mkdir(`${marksFile}.next`);
    clock.now += 1000;
    assert.equal(responses.startMarks(), undefined);
    await rm(`${marksFile}.next`, { recursive: true });
    assert.equal(responses.startMarks(), undefined, 'a full disk is not asked with each write');
    clock.now += 1000;
    assert.notEqual(responses.startMarks(), undefined);
  });
});

suite('entries that were answered', () => {
  test('go in one transaction when many wait, and free their slots', async (t) => {
    const { responses, commit, marks, journal } = await openIdempotency(t);
    const sent: ResponseRef[] = [];
    for (let index = 0; index < 500; index += 1) sent.push(await commit(toRequest({ digest: `d${index}` })));
    for (const response of sent) responses.mark(response);
    await eventually(async () => (await journal.keyless()).length === 0);
    await eventually(async () => responses.takeRemovable().length === 0);
    for (let index = 0; index < SLOTS; index += 1) assert.equal(marks.mark(`later-${index}`), true);
  });

  test('are removed at the end of the process', async (t) => {
    const { responses, commit, find } = await openIdempotency(t);
    const response = await commit(toRequest());
    await responses.mark(response);
    await responses.close();
    assert.equal(await find(response.id), undefined);
  });
});

suite('entries of writes that were not committed', () => {
  test('go with the next transaction, however few they are', async (t) => {
    const { responses, commit } = await openIdempotency(t);
    const [aborted, answered] = [await commit(toRequest()), await commit(toRequest())];
    await responses.mark(answered);
    assert.deepEqual(responses.takeDue(), []);
    responses.abort([aborted.id]);
    assert.deepEqual(responses.takeDue(), [aborted.id]);
  });

  test('are removed without another write when the catalog is back', async (t) => {
    let failures = 0;
    const failing = (journal: Journal): Journal => ({
      ...journal,
      remove: async (ids) => {
        failures += 1;
        if (failures <= 2) throw new Error('the catalog is locked');
        return journal.remove(ids);
      },
    });
    const { responses, commit, find } = await openIdempotency(t, failing);
    const { id } = await commit(toRequest({ key: 'k' }));
    responses.abort([id]);
    await eventually(async () => (await find(id)) === undefined);
    await eventually(async () => !responses.isRemovable(id));
  });
});

suite('a lost reply, and then an answered write of the same caller that removes rows', () => {
  /** A table with an insert whose reply was lost. */
  async function openLost(t: TestContext, options: WriteOptions = {}): Promise<WriteFixture> {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    const lost = await fixture.insert(toItems(2), { digest: 'd', ...options });
    assert.ok(lost.response !== undefined);
    fixture.writes.responses.release(lost.response);
    return fixture;
  }

  async function answer(fixture: WriteFixture, { response }: SucceededWrite): Promise<void> {
    assert.ok(response !== undefined);
    await fixture.writes.responses.mark(response);
  }

  const REMOVALS: Readonly<Record<string, (fixture: WriteFixture, options: WriteOptions) => Promise<SucceededWrite>>> =
    {
      delete: async (fixture, options) => fixture.delete('id < 2', options),
      overwrite: async (fixture, options) => fixture.insert(toItems(1), { ...options, mode: 'overwrite' }),
      'long overwrite': async (fixture, options) => fixture.insert(await openLong(), { ...options, mode: 'overwrite' }),
      restore: async (fixture, options) => fixture.restore(1, options),
      'merge that deletes': async (fixture, options) => fixture.merge(toItems(1), { deleteOthers: true }, options),
    };
  for (const [name, remove] of Object.entries(REMOVALS)) {
    for (const key of [undefined, 'k']) {
      const withKey = key === undefined ? '' : ' with a key';
      test(`the same insert is applied after a ${name}${withKey}, also after a crash`, async (t) => {
        const before = await openLost(t);
        await answer(before, await remove(before, key === undefined ? {} : { key }));
        const restarted = await openWriteFixture(t, { folder: before.folder });
        assert.equal(
          await restarted.writes.idempotency.findReplay(restarted.request('insert', { digest: 'd' })),
          undefined,
        );
        assert.equal(await before.writes.idempotency.findReplay(before.request('insert', { digest: 'd' })), undefined);
      });
    }
  }

  const KEPT: Readonly<Record<string, (fixture: WriteFixture) => Promise<unknown>>> = {
    'a removal that is not answered': async (fixture) => fixture.restore(1),
    'a removal by another caller': async (fixture) => answer(fixture, await fixture.restore(1, { caller: 'bob' })),
    'a delete that finds no rows': async (fixture) => answer(fixture, await fixture.delete('id = 99')),
    'an update': async (fixture) => answer(fixture, await fixture.update([['score', '2']])),
    'a merge that deletes nothing': async (fixture) => answer(fixture, await fixture.merge(toItems(1))),
    'another insert': async (fixture) => answer(fixture, await fixture.insert(toItems(1))),
    'a removal from another table': async (fixture) => {
      await fixture.create(toItems(3), 'other');
      await fixture.insert(toItems(1), { directory: 'other' });
      await fixture.insert(toItems(1), { directory: 'other' });
      await answer(fixture, await fixture.delete('id = 0', { directory: 'other' }));
    },
  };
  for (const [name, write] of Object.entries(KEPT)) {
    test(`the same insert is still replayed after ${name}`, async (t) => {
      const fixture = await openLost(t);
      await write(fixture);
      assert.equal((await fixture.insert(toItems(2), { digest: 'd' })).kind, 'replayed');
    });
  }

  test('an insert after the removal is still replayed when the removal is answered late', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    const removal = await fixture.delete('id = 0');
    const lost = await fixture.insert(toItems(2), { digest: 'd' });
    assert.ok(lost.response !== undefined);
    fixture.writes.responses.release(lost.response);
    await answer(fixture, removal);
    assert.equal((await fixture.insert(toItems(2), { digest: 'd' })).kind, 'replayed');
  });

  test('one that the process before it has left is applied too', async (t) => {
    const before = await openLost(t);
    const fixture = await openWriteFixture(t, { folder: before.folder });
    await answer(fixture, await fixture.delete('id < 2'));
    assert.equal((await fixture.insert(toItems(2), { digest: 'd' })).kind, 'committed');
  });

  test('an insert with a key is still replayed', async (t) => {
    const fixture = await openLost(t, { key: 'k' });
    await answer(fixture, await fixture.restore(1));
    assert.equal((await fixture.insert(toItems(2), { digest: 'd', key: 'k' })).kind, 'replayed');
  });
});

suite('through the write path', () => {
  test('requests with one key at once are applied once, and all get the result', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    const insert = async () => fixture.insert(toItems(2), { key: 'k', digest: 'd' });
    const results = await Promise.all(Array.from({ length: 5 }, insert));
    assert.deepEqual(results.map(({ kind }) => kind).toSorted(), ['committed', ...Array(4).fill('replayed')]);
    assert.equal(new Set(results.map(({ version, transactionId }) => `${version} ${transactionId}`)).size, 1);
    assert.equal(await countRows(t, fixture), 5);
  });

  test('another body with the key of a running request is refused when that is done', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    const [first, second] = await Promise.allSettled([
      fixture.insert(toItems(2), { key: 'k', digest: 'one' }),
      fixture.insert(toItems(9), { key: 'k', digest: 'two' }),
    ]);
    assert.equal(first?.status, 'fulfilled');
    assert.ok(second?.status === 'rejected');
    refusal('InvalidInput', /used for another request/)(second.reason);
  });

  test('equal requests without a key that are answered are all applied', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(1));
    for (let round = 0; round < 3; round += 1) {
      const { kind, response } = await fixture.insert(toItems(1), { digest: 'd' });
      assert.equal(kind, 'committed');
      assert.ok(response !== undefined);
      await fixture.writes.responses.mark(response);
    }
    assert.equal(await countRows(t, fixture), 4);
  });

  test('a client that leaves during the commit and asks again at once gets the result of its first request', async (t) => {
    const client = new AbortController();
    let isFirst = true;
    const onStep = (step: string): void => {
      if (step !== 'commit' || !isFirst) return;
      isFirst = false;
      client.abort();
    };
    const fixture = await openWriteFixture(t, { onStep });
    await fixture.create(toItems(1));
    const first = fixture.insert(toItems(1), { digest: 'd', signal: client.signal }).then(async (result) => {
      assert.ok(result.response !== undefined);
      fixture.writes.responses.release(result.response);
      return result;
    });
    while (!client.signal.aborted) await new Promise(setImmediate);
    const again = await fixture.insert(toItems(1), { digest: 'd' });
    assert.deepEqual([again.kind, again.version], ['replayed', (await first).version]);
    assert.equal(await countRows(t, fixture), 2);
  });

  test('a client that leaves while the catalog cannot be read gets the result when it asks again', async (t) => {
    const fault = { isAway: false };
    const requireCatalog = (): void => {
      if (fault.isAway) throw new Error('The catalog has gone.');
    };
    const watchCatalog = (catalog: Catalog): Catalog => {
      const find: Journal['find'] = async (id) => {
        requireCatalog();
        return catalog.journal.find(id);
      };
      return { ...catalog, journal: { ...catalog.journal, find } };
    };
    const fixture = await openWriteFixture(t, { watchCatalog });
    await fixture.create(toItems(1));
    const first = await fixture.insert(toItems(1), { digest: 'd' });
    assert.ok(first.response !== undefined);
    fault.isAway = true;
    fixture.writes.responses.release(first.response);
    fault.isAway = false;
    const again = await fixture.insert(toItems(1), { digest: 'd' });
    assert.deepEqual([again.kind, again.version], ['replayed', first.version]);
    assert.deepEqual([again.fields, again.transactionId], [first.fields, first.transactionId]);
    assert.equal(await countRows(t, fixture), 2);
  });
});
