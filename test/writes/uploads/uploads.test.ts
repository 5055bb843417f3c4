import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckedStream } from '../../../src/arrow/stream/checked-stream.ts';
import { NotOwner, ServiceError } from '../../../src/errors/service-error.ts';
import type { TableLocation } from '../../../src/model/table.ts';
import type { RowsWrite } from '../../../src/writes/uploads/inserts.ts';
import { Uploads } from '../../../src/writes/uploads/uploads.ts';
import type { SucceededWrite, WriteResult } from '../../../src/writes/write.ts';
import { refusal } from '../../support/refusal.ts';

const PLACE: TableLocation = { kind: 'listed', root: '/data', directory: 'table' };
const TARGET = { location: PLACE, branch: undefined };
const APPEND = { mode: 'append', name: undefined } as const;

const WRITE: Omit<RowsWrite, 'mode'> = {
  request: {
    operation: 'complete_multipart_write',
    caller: 'ann',
    requestId: 'request',
    key: undefined,
    expectedVersion: undefined,
    digest: () => 'd',
    signal: () => new AbortController().signal,
  },
  table: { id: 't1', databaseId: 'db', path: ['table'], location: PLACE, properties: {}, heldVersion: undefined },
  branch: undefined,
  recordedAs: 'insert_into_table',
  toFields: () => ({}),
};

/** A stream that is spooled to this path. */
function stream(path: string): CheckedStream {
  const metadata = new Map([['path', path]]);
  return { schema: { fields: [], metadata }, chunks: (async function* () {})() };
}

/** Uploads of one caller, with a clock that the test moves; `inserted` has the paths of each commit, and its result. */
function openUploads(limits = {}) {
  const clock = { now: 0 };
  const discarded: string[] = [];
  const inserted: { readonly paths: (readonly string[])[]; result: WriteResult } = { paths: [], result: OUTCOME };
  const replay: { result?: SucceededWrite } = {};
  const claim: { error?: Error } = {};
  const uploads = new Uploads({
    limits: {
      uploadSessionsMax: 2,
      uploadSessionsPerCallerMax: 2,
      uploadPartsMax: 3,
      uploadIdleSeconds: 10,
      ...limits,
    },
    inserts: {
      receivePart: async (_target, { schema }) => {
        const path = schema.metadata.get('path') ?? '';
        return { schema, chunks: [{ path, bytes: 1, rows: 1, batches: 1, caller: 'ann' }] };
      },
      insertParts: async (_write, parts) => {
        inserted.paths.push(parts.flatMap(({ chunks }) => chunks.map(({ path }) => path)));
        return inserted.result;
      },
    },
    spool: { remove: async (chunks) => void discarded.push(...chunks.map(({ path }) => path)) },
    idempotency: { findReplay: async () => replay.result },
    claim: async () => {
      if (claim.error !== undefined) throw claim.error;
    },
    now: () => clock.now,
  });
  const begin = async () => ({
    id: await uploads.begin({ owner: 'ann', target: TARGET }),
    owner: 'ann',
    target: TARGET,
  });
  return { uploads, clock, discarded, begin, inserted, replay, claim };
}

const OUTCOME: SucceededWrite = {
  kind: 'committed',
  version: 7,
  transactionId: 'x',
  properties: {},
  fields: { num_inserted_rows: 3 },
  response: undefined,
};

test('commits all parts once, however often it is asked to complete', async () => {
  const { uploads, begin, discarded, inserted } = openUploads();
  const key = await begin();
  await uploads.addPart(key, async () => stream('one'), APPEND);
  await uploads.addPart(key, async () => stream('two'), APPEND);
  const outcomes = await Promise.all([uploads.complete(key, WRITE), uploads.complete(key, WRITE)]);
  assert.deepEqual([...outcomes, await uploads.complete(key, WRITE)], [OUTCOME, OUTCOME, OUTCOME]);
  assert.deepEqual(inserted.paths, [['one', 'two']]);
  assert.deepEqual(discarded, ['one', 'two']);
});

test('may be completed again after the commit failed', async () => {
  const { uploads, begin, discarded, inserted } = openUploads();
  const key = await begin();
  await uploads.addPart(key, async () => stream('one'), APPEND);
  const error = new ServiceError('ServiceUnavailable', 'The queue is full.');
  for (const kind of ['refused', 'in-doubt'] as const) {
    inserted.result = { kind, error };
    assert.deepEqual(await uploads.complete(key, WRITE), { kind, error });
  }
  assert.deepEqual(discarded, []);
  inserted.result = OUTCOME;
  assert.deepEqual(await uploads.complete(key, WRITE), OUTCOME);
});

test('stays open while its node may not write to the table, and can then be completed', async () => {
  const { uploads, begin, discarded, inserted, claim } = openUploads();
  const key = await begin();
  await uploads.addPart(key, async () => stream('one'), APPEND);
  claim.error = new NotOwner();
  await assert.rejects(uploads.complete(key, WRITE), NotOwner);
  assert.deepEqual([inserted.paths, discarded], [[], []]);
  delete claim.error;
  assert.deepEqual(await uploads.complete(key, WRITE), OUTCOME);
  assert.deepEqual(inserted.paths, [['one']]);
});

test('is over when its rows turn out to be in the table, and does not add them again', async () => {
  const { uploads, begin, discarded, inserted, replay } = openUploads();
  const key = await begin();
  await uploads.addPart(key, async () => stream('one'), APPEND);
  replay.result = OUTCOME;
  assert.deepEqual(await uploads.complete(key, WRITE), OUTCOME);
  delete replay.result;
  assert.deepEqual(await uploads.complete(key, WRITE), OUTCOME);
  assert.deepEqual([inserted.paths, discarded], [[], ['one']]);
  await assert.rejects(uploads.abort(key), refusal('InvalidInput', /completed/));
});

test('takes nothing after its end, and aborting twice is fine', async () => {
  const { uploads, begin, discarded } = openUploads();
  const aborted = await begin();
  await uploads.addPart(aborted, async () => stream('one'), APPEND);
  await uploads.abort(aborted);
  await uploads.abort(aborted);
  assert.deepEqual(discarded, ['one']);
  await assert.rejects(
    uploads.addPart(aborted, async () => stream('late'), APPEND),
    refusal('InvalidInput', /aborted/),
  );
  await assert.rejects(uploads.complete(aborted, WRITE), refusal('InvalidInput', /aborted/));
  const completed = await begin();
  await uploads.complete(completed, WRITE);
  await assert.rejects(
    uploads.addPart(completed, async () => stream('x'), APPEND),
    refusal('InvalidInput', /completed/),
  );
  await assert.rejects(uploads.abort(completed), refusal('InvalidInput', /completed/));
});

test('a part that is still arriving when the upload is aborted is refused and dropped', async () => {
  const { uploads, begin, discarded } = openUploads();
  const key = await begin();
  const open = async (): Promise<CheckedStream> => {
    await uploads.abort(key);
    return stream('straggler');
  };
  const arriving = uploads.addPart(key, open, APPEND);
  await assert.rejects(arriving, refusal('InvalidInput', /aborted/));
  assert.deepEqual(discarded, ['straggler']);
});

test('is not completed while a part is arriving', async () => {
  const { uploads, begin } = openUploads();
  const key = await begin();
  const open = async (): Promise<CheckedStream> => {
    await assert.rejects(uploads.complete(key, WRITE), refusal('InvalidInput', /still being received/));
    return stream('one');
  };
  await uploads.addPart(key, open, APPEND);
  assert.deepEqual(await uploads.complete(key, WRITE), OUTCOME);
});

test('a part that fails leaves the upload as it was', async () => {
  const { uploads, begin, inserted } = openUploads();
  const key = await begin();
  const failure = new Error('the sender went away');
  await assert.rejects(
    uploads.addPart(key, async () => Promise.reject(failure), APPEND),
    failure,
  );
  await uploads.complete(key, WRITE);
  assert.deepEqual(inserted.paths, [[]]);
});

test('a part that fails does not decide the mode, unless another is arriving', async () => {
  const { uploads, begin } = openUploads();
  const key = await begin();
  const overwrite = { mode: 'overwrite', name: undefined } as const;
  const failure = new Error('the sender went away');
  const fail = async () => uploads.addPart(key, async () => Promise.reject(failure), overwrite);
  await assert.rejects(fail(), failure);
  assert.equal(uploads.modeOf(key), 'append');
  const open = async (): Promise<CheckedStream> => {
    await assert.rejects(fail(), failure);
    assert.equal(uploads.modeOf(key), 'overwrite');
    throw failure;
  };
  await assert.rejects(uploads.addPart(key, open, overwrite), failure);
  await uploads.addPart(key, async () => stream('one'), APPEND);
});

test('a part that comes again under its name replaces the first', async () => {
  const { uploads, begin, discarded, inserted } = openUploads();
  const key = await begin();
  await uploads.addPart(key, async () => stream('first'), { mode: 'append', name: 'p' });
  await uploads.addPart(key, async () => stream('second'), { mode: 'append', name: 'p' });
  assert.deepEqual(discarded, ['first']);
  await uploads.complete(key, WRITE);
  assert.deepEqual(inserted.paths, [['second']]);
});

test('that of another caller, table or branch looks like none', async () => {
  const { uploads, begin } = openUploads();
  const key = await begin();
  const others = [
    { ...key, id: 'nothing' },
    { ...key, owner: 'bob' },
    { ...key, target: { ...TARGET, branch: 'trial' } },
    { ...key, branchId: 'created again' },
    { ...key, target: { ...TARGET, location: { ...PLACE, directory: 'other' } } },
  ];
  for (const other of others) {
    await assert.rejects(uploads.abort(other), refusal('InvalidInput', /no such upload/));
    await assert.rejects(uploads.complete(other, WRITE), refusal('InvalidInput', /no such upload/));
    await assert.rejects(
      uploads.addPart(other, async () => stream('x'), APPEND),
      refusal('InvalidInput', /no such upload/),
    );
  }
  await uploads.abort({ ...key, target: { ...TARGET, branch: 'main' } });
});

test('all parts have one mode', async () => {
  const { uploads, begin } = openUploads();
  const key = await begin();
  await uploads.addPart(key, async () => stream('one'), { mode: 'overwrite', name: undefined });
  await assert.rejects(
    uploads.addPart(key, async () => stream('two'), APPEND),
    refusal('InvalidInput', /overwrite/),
  );
});

test('uploads and parts have bounds', async () => {
  const { uploads, begin } = openUploads();
  const key = await begin();
  await begin();
  await assert.rejects(begin(), refusal('ServiceUnavailable'));
  for (const name of ['a', 'b', 'c']) await uploads.addPart(key, async () => stream(name), { mode: 'append', name });
  await assert.rejects(
    uploads.addPart(key, async () => stream('d'), APPEND),
    refusal('InvalidInput', /3 parts/),
  );
  await uploads.addPart(key, async () => stream('a again'), { mode: 'append', name: 'a' });
  await uploads.abort(key);
  await begin();
});

test('an idle one is dropped with its data; one that is receiving a part is not', async () => {
  const { uploads, clock, discarded, begin } = openUploads();
  const forgotten = await begin();
  await uploads.addPart(forgotten, async () => stream('one'), APPEND);
  const busy = await begin();
  const open = async (): Promise<CheckedStream> => {
    clock.now += 10_001;
    await uploads.expire();
    return stream('two');
  };
  await uploads.addPart(busy, open, APPEND);
  assert.deepEqual(discarded, ['one']);
  await assert.rejects(uploads.complete(forgotten, WRITE), refusal('InvalidInput', /no such upload/));
  assert.deepEqual(await uploads.complete(busy, WRITE), OUTCOME);
});

test('bounds the uploads of each caller first, so that one cannot take those of others', async () => {
  const { uploads, begin } = openUploads({ uploadSessionsMax: 3, uploadSessionsPerCallerMax: 2 });
  const first = await begin();
  await begin();
  await assert.rejects(begin(), /2 uploads of this caller are already open/);
  await uploads.begin({ owner: 'bob', target: TARGET });
  await assert.rejects(uploads.begin({ owner: 'cid', target: TARGET }), /3 uploads are already open/);
  await uploads.abort(first);
  await begin();
});

test('remembers as many ended uploads as may be open, and forgets those of their own caller first', async () => {
  const { uploads, clock, begin } = openUploads({ uploadSessionsMax: 3, uploadSessionsPerCallerMax: 2 });
  const end = async (owner: string) => {
    const key = { id: await uploads.begin({ owner, target: TARGET }), owner, target: TARGET };
    clock.now += 1;
    await uploads.abort(key);
    return key;
  };
  const others = await end('bob');
  const [oldest, kept] = [await end('ann'), await end('ann')];
  await begin();
  await assert.rejects(uploads.abort(oldest), refusal('InvalidInput', /no such upload/));
  await uploads.abort(kept);
  await uploads.abort(others);
});
