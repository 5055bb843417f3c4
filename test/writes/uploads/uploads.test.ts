import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SpooledChunk } from '../../../src/writes/uploads/spool.ts';
import { Uploads } from '../../../src/writes/uploads/uploads.ts';
import type { UploadData, UploadPart } from '../../../src/writes/uploads/uploads.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { TableLocation } from '../../../src/model/table.ts';
import type { WriteResult } from '../../../src/writes/write.ts';
import { refusal } from '../../support/refusal.ts';

const PLACE: TableLocation = { kind: 'listed', root: '/data', directory: 'table' };
const TARGET = { location: PLACE, branch: undefined };
const SCHEMA = { fields: [], metadata: new Map<string, string>() };
const APPEND = { mode: 'append', name: undefined } as const;

/** Uploads of one caller, with a clock that the test moves. */
function openUploads(limits = {}) {
  const clock = { now: 0 };
  const discarded: string[] = [];
  const uploads = new Uploads({
    limits: { uploadSessionsMax: 2, uploadPartsMax: 3, uploadIdleSeconds: 10, ...limits },
    now: () => clock.now,
    discard: async (chunks) => void discarded.push(...chunks.map(({ path }) => path)),
  });
  const begin = async () => ({
    id: await uploads.begin({ owner: 'ann', target: TARGET }),
    owner: 'ann',
    target: TARGET,
  });
  return { uploads, clock, discarded, begin };
}

function part(path: string): UploadPart {
  const chunk: SpooledChunk = { path, bytes: 1, rows: 1, batches: 1 };
  return { schema: SCHEMA, chunks: [chunk] };
}

function paths({ parts }: UploadData): readonly string[] {
  return parts.flatMap(({ chunks }) => chunks.map(({ path }) => path));
}

const OUTCOME: WriteResult = {
  kind: 'committed',
  version: 7,
  transactionId: 'x',
  properties: {},
  fields: { num_inserted_rows: 3 },
  response: undefined,
};

test('commits all parts once, however often it is asked to complete', async () => {
  const { uploads, begin, discarded } = openUploads();
  const key = await begin();
  await uploads.addPart(key, APPEND, async () => part('one'));
  await uploads.addPart(key, APPEND, async () => part('two'));
  const commits: (readonly string[])[] = [];
  const commit = async (data: UploadData) => {
    commits.push(paths(data));
    return OUTCOME;
  };
  const outcomes = await Promise.all([uploads.complete(key, commit), uploads.complete(key, commit)]);
  assert.deepEqual([...outcomes, await uploads.complete(key, commit)], [OUTCOME, OUTCOME, OUTCOME]);
  assert.deepEqual(commits, [['one', 'two']]);
  assert.deepEqual(discarded, ['one', 'two']);
});

test('may be completed again after the commit failed', async () => {
  const { uploads, begin, discarded } = openUploads();
  const key = await begin();
  await uploads.addPart(key, APPEND, async () => part('one'));
  const error = new ServiceError('ServiceUnavailable', 'The queue is full.');
  for (const kind of ['refused', 'in-doubt'] as const) {
    assert.deepEqual(await uploads.complete(key, async () => ({ kind, error })), { kind, error });
  }
  assert.deepEqual(discarded, []);
  assert.deepEqual(await uploads.complete(key, async () => OUTCOME), OUTCOME);
});

test('takes nothing after its end, and aborting twice is fine', async () => {
  const { uploads, begin, discarded } = openUploads();
  const aborted = await begin();
  await uploads.addPart(aborted, APPEND, async () => part('one'));
  await uploads.abort(aborted);
  await uploads.abort(aborted);
  assert.deepEqual(discarded, ['one']);
  await assert.rejects(
    uploads.addPart(aborted, APPEND, async () => part('late')),
    refusal('InvalidInput', /aborted/),
  );
  await assert.rejects(
    uploads.complete(aborted, async () => OUTCOME),
    refusal('InvalidInput', /aborted/),
  );
  const completed = await begin();
  await uploads.complete(completed, async () => OUTCOME);
  await assert.rejects(
    uploads.addPart(completed, APPEND, async () => part('x')),
    refusal('InvalidInput', /completed/),
  );
  await assert.rejects(uploads.abort(completed), refusal('InvalidInput', /completed/));
});

test('a part that is still arriving when the upload is aborted is refused and dropped', async () => {
  const { uploads, begin, discarded } = openUploads();
  const key = await begin();
  const arriving = uploads.addPart(key, APPEND, async () => {
    await uploads.abort(key);
    return part('straggler');
  });
  await assert.rejects(arriving, refusal('InvalidInput', /aborted/));
  assert.deepEqual(discarded, ['straggler']);
});

test('is not completed while a part is arriving', async () => {
  const { uploads, begin } = openUploads();
  const key = await begin();
  await uploads.addPart(key, APPEND, async () => {
    await assert.rejects(
      uploads.complete(key, async () => OUTCOME),
      refusal('InvalidInput', /still arriving/),
    );
    return part('one');
  });
  assert.deepEqual(await uploads.complete(key, async () => OUTCOME), OUTCOME);
});

test('a part that fails leaves the upload as it was', async () => {
  const { uploads, begin } = openUploads();
  const key = await begin();
  const failure = new Error('the sender went away');
  await assert.rejects(
    uploads.addPart(key, APPEND, async () => Promise.reject(failure)),
    failure,
  );
  await uploads.complete(key, async (data) => {
    assert.deepEqual(paths(data), []);
    return OUTCOME;
  });
});

test('a part that comes again under its name replaces the first', async () => {
  const { uploads, begin, discarded } = openUploads();
  const key = await begin();
  await uploads.addPart(key, { mode: 'append', name: 'p' }, async () => part('first'));
  await uploads.addPart(key, { mode: 'append', name: 'p' }, async () => part('second'));
  assert.deepEqual(discarded, ['first']);
  await uploads.complete(key, async (data) => {
    assert.deepEqual(paths(data), ['second']);
    return OUTCOME;
  });
});

test('that of another caller, table or branch looks like none', async () => {
  const { uploads, begin } = openUploads();
  const key = await begin();
  const others = [
    { ...key, id: 'nothing' },
    { ...key, owner: 'bob' },
    { ...key, target: { ...TARGET, branch: 'trial' } },
    { ...key, target: { ...TARGET, location: { ...PLACE, directory: 'other' } } },
  ];
  for (const other of others) {
    await assert.rejects(uploads.abort(other), refusal('InvalidInput', /no such upload/));
    await assert.rejects(
      uploads.complete(other, async () => OUTCOME),
      refusal('InvalidInput', /no such upload/),
    );
    await assert.rejects(
      uploads.addPart(other, APPEND, async () => part('x')),
      refusal('InvalidInput', /no such upload/),
    );
  }
  await uploads.abort({ ...key, target: { ...TARGET, branch: 'main' } });
});

test('all parts have one mode', async () => {
  const { uploads, begin } = openUploads();
  const key = await begin();
  await uploads.addPart(key, { mode: 'overwrite', name: undefined }, async () => part('one'));
  await assert.rejects(
    uploads.addPart(key, APPEND, async () => part('two')),
    refusal('InvalidInput', /overwrite/),
  );
});

test('uploads and parts have bounds', async () => {
  const { uploads, begin } = openUploads();
  const key = await begin();
  await begin();
  await assert.rejects(begin(), refusal('ServiceUnavailable'));
  for (const name of ['a', 'b', 'c']) await uploads.addPart(key, APPEND, async () => part(name));
  await assert.rejects(
    uploads.addPart(key, APPEND, async () => part('d')),
    refusal('InvalidInput', /3 parts/),
  );
  await uploads.abort(key);
  await begin();
});

test('one that nobody touches is dropped with its data; one that a part is arriving for is not', async () => {
  const { uploads, clock, discarded, begin } = openUploads();
  const forgotten = await begin();
  await uploads.addPart(forgotten, APPEND, async () => part('one'));
  const busy = await begin();
  await uploads.addPart(busy, APPEND, async () => {
    clock.now += 10_001;
    await uploads.expire();
    return part('two');
  });
  assert.deepEqual(discarded, ['one']);
  await assert.rejects(
    uploads.complete(forgotten, async () => OUTCOME),
    refusal('InvalidInput', /no such upload/),
  );
  assert.deepEqual(await uploads.complete(busy, async () => OUTCOME), OUTCOME);
});
