import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/refusal.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { checkConditionalRemoval, checkObjects, checkTables } from './store-checks.ts';
import { collect, openStore, toObjectSettings } from './test-stores.ts';

test('S3 holds objects under any key, and tables', async (t) => {
  const emulator = await S3Emulator.start(t);
  await checkObjects(openStore(emulator), 'bucket');
  await checkConditionalRemoval(openStore(emulator));
  await checkTables(t, 's3://bucket/root', toObjectSettings(emulator));
});

test('lists are complete beyond a page, and end at a limit', async (t) => {
  const emulator = await S3Emulator.start(t);
  const keys = Array.from({ length: 2500 }, (_, index) => `many/${String(index).padStart(5, '0')}`);
  for (const key of keys) emulator.objects.put(`bucket/${key}`, Buffer.from('x'));
  emulator.objects.put('bucket/other', Buffer.from('x'));
  const store = openStore(emulator);
  assert.deepEqual(
    (await collect(store.list('many/'))).map(({ key }) => key),
    keys,
  );
  assert.equal((await collect(store.list('many/', 1200))).length, 1200);
  emulator.log.length = 0;
  assert.equal((await collect(store.list('many/', 1))).length, 1);
  assert.equal(emulator.log.length, 1);
  await store.remove(keys);
  assert.deepEqual(emulator.objects.paths(), ['bucket/other']);
});

test('an object that is too large for one request is copied in parts, from another bucket too', async (t) => {
  const emulator = await S3Emulator.start(t, { copyBytesMax: 1000 });
  const store = openStore(emulator, { copyBytesMax: 1000 });
  const content = Buffer.from(Array.from({ length: 4321 }, (_, index) => index % 251));
  emulator.objects.put('elsewhere/large', content);
  await store.copy({ bucket: 'elsewhere', key: 'large', bytes: content.length }, 'copy');
  assert.ok((await store.get('copy'))?.equals(content));
  emulator.faults.add('error-before', { method: 'PUT', path: /failed/ }, 100);
  const failing = store.copy({ bucket: 'elsewhere', key: 'large', bytes: content.length }, 'failed');
  await assert.rejects(failing, refusal('ServiceUnavailable', /cannot be reached/));
  assert.deepEqual(emulator.objects.uploads(), []);
  assert.equal(await store.get('failed'), undefined);
});

test('a refusal is reported as what it is', async (t) => {
  const emulator = await S3Emulator.start(t);
  const store = openStore(emulator);
  for (const [fault, message] of [
    ['denied', 'The object store refuses access: status 403 (AccessDenied).'],
    ['expired', "The object store refuses the server's credentials (ExpiredToken)."],
    ['skewed', 'The clocks of the server and the object store differ too much (RequestTimeTooSkewed).'],
    ['no-bucket', 'The bucket does not exist in the object store (NoSuchBucket).'],
    ['wrong-region', 'The bucket is in another region than the server expects (AuthorizationHeaderMalformed).'],
  ] as const) {
    emulator.faults.clear();
    emulator.faults.add(fault, {}, 100);
    const refused = { name: 'ServiceError', kind: 'ServiceUnavailable', message };
    await assert.rejects(store.get('key'), refused);
    await assert.rejects(store.putIfAbsent('key', Buffer.from('content')), refused);
    await assert.rejects(collect(store.list('')), refused);
  }
});

test('a large object is uploaded in parts, and one whose upload fails is not there', async (t) => {
  const emulator = await S3Emulator.start(t);
  const store = openStore(emulator, { copyBytesMax: 1000 });
  const content = Buffer.from(Array.from({ length: 4321 }, (_, index) => index % 251));
  const readPart = async (start: number, length: number): Promise<Buffer> => content.subarray(start, start + length);
  await store.upload('large', { bytes: content.length, readPart });
  assert.ok((await store.get('large'))?.equals(content));
  assert.equal(
    emulator.count(({ query }) => query.includes('partNumber=')),
    5,
  );
  await assert.rejects(store.upload('short', { bytes: content.length + 1, readPart }), /changed while it was copied/);
  emulator.faults.add('error-before', { method: 'PUT', path: /failed/ }, 100);
  const failing = store.upload('failed', { bytes: content.length, readPart });
  await assert.rejects(failing, refusal('ServiceUnavailable', /cannot be reached/));
  assert.deepEqual(emulator.objects.uploads(), []);
  assert.deepEqual(emulator.objects.paths(), ['bucket/large']);
});

for (const fault of ['error-after', 'reset-after'] as const) {
  test(`a conditional write whose reply was lost is resolved by reading the object (${fault})`, async (t) => {
    const emulator = await S3Emulator.start(t);
    const store = openStore(emulator);
    emulator.faults.add(fault, { method: 'PUT' });
    assert.equal(await store.putIfAbsent('ours', Buffer.from('mine')), true);
    emulator.faults.add(fault, { method: 'PUT' }, 100);
    assert.equal(await store.putIfAbsent('late', Buffer.from('mine')), true);
    emulator.faults.clear();
    await store.put('theirs', Buffer.from('other'));
    emulator.faults.add('error-before', { method: 'PUT' });
    assert.equal(await store.putIfAbsent('theirs', Buffer.from('mine')), false);
    assert.equal(emulator.faults.left, 0);
  });
}

for (const fault of ['error-after', 'reset-after'] as const) {
  test(`a conditional change whose reply was lost is resolved by reading the object (${fault})`, async (t) => {
    const emulator = await S3Emulator.start(t);
    const store = openStore(emulator);
    for (const times of [1, 100]) {
      await store.put('key', Buffer.from('before'));
      const before = await store.find('key');
      emulator.faults.add(fault, { method: 'PUT' }, times);
      assert.equal(await store.putIf('key', Buffer.from('after'), before?.isUnchanged ?? {}), true);
      emulator.faults.clear();
      const after = await store.find('key');
      emulator.faults.add(fault, { method: 'DELETE' }, times);
      assert.equal(await store.removeIf('key', after?.isUnchanged ?? {}), true);
      emulator.faults.clear();
    }
  });
}

test('a conditional change that may have been made, and replaced, is not reported as refused', async (t) => {
  const emulator = await S3Emulator.start(t);
  const store = openStore(emulator);
  await store.put('key', Buffer.from('before'));
  const before = await store.find('key');
  emulator.faults.add('error-after', { method: 'PUT' });
  const held = emulator.faults.hold({ method: 'PUT', skip: 1 });
  const writing = store.putIf('key', Buffer.from('ours'), before?.isUnchanged ?? {});
  await held.reached;
  emulator.objects.put('bucket/key', Buffer.from('theirs'));
  held.release();
  await assert.rejects(writing, refusal('ServiceUnavailable', /cannot be reached/));
  assert.equal((await store.get('key'))?.toString(), 'theirs');
});

test('a store that knows no conditions for changes is sent the change without', async (t) => {
  const emulator = await S3Emulator.start(t, { refusesIfMatch: true });
  await checkTables(t, 's3://bucket/root', toObjectSettings(emulator));
});

test('a conditional write that never got through is not reported as refused', async (t) => {
  const emulator = await S3Emulator.start(t);
  emulator.faults.add('error-before', { method: 'PUT' }, 100);
  const writing = openStore(emulator).putIfAbsent('key', Buffer.from('mine'));
  await assert.rejects(writing, refusal('ServiceUnavailable', /cannot be reached/));
});

test('a conditional write that still runs when it is sent again is not reported as refused', async (t) => {
  const emulator = await S3Emulator.start(t);
  const store = openStore(emulator, { requestSeconds: 1 });
  const held = emulator.faults.hold({ method: 'PUT' });
  emulator.faults.add('conflict', { method: 'PUT' });
  const writing = store.putIfAbsent('key', Buffer.from('mine'));
  await assert.rejects(writing, refusal('ServiceUnavailable', /cannot be reached/));
  held.release();
  await eventually(async () => (await store.get('key'))?.toString() === 'mine');
});

for (const fault of ['error-before', 'error-after', 'reset-before', 'reset-after', 'hang'] as const) {
  test(`requests are sent again after a fault, a bounded number of times (${fault})`, async (t) => {
    const emulator = await S3Emulator.start(t);
    const store = openStore(emulator, { requestSeconds: fault === 'hang' ? 1 : 10 });
    emulator.faults.add(fault, {}, 3);
    await store.put('key', Buffer.from('content'));
    emulator.faults.add(fault, {}, 3);
    assert.equal((await store.get('key'))?.toString(), 'content');
    emulator.log.length = 0;
    emulator.faults.add(fault, {}, 100);
    await assert.rejects(store.get('key'), refusal('ServiceUnavailable', /cannot be reached/));
    assert.equal(emulator.log.length, 4);
  });
}

test('a refusal of the store is not tried again, and names its reason', async (t) => {
  const emulator = await S3Emulator.start(t);
  const options = { ...emulator.storageOptions, aws_secret_access_key: 'wrong' };
  const store = openStore(emulator, { options });
  await assert.rejects(store.get('key'), refusal('ServiceUnavailable', /credentials \(SignatureDoesNotMatch\)\./));
  assert.equal(emulator.log.length, 1);
});

test('uploads that were never completed are removed when they are old', async (t) => {
  const emulator = await S3Emulator.start(t);
  emulator.objects.startUpload('bucket/table/old', new Date(Date.now() - 60_000));
  emulator.objects.startUpload('bucket/table/new');
  emulator.objects.startUpload('bucket/other/old', new Date(Date.now() - 60_000));
  assert.equal(await openStore(emulator).removeUnfinished('table/', Date.now() - 30_000), 1);
  assert.deepEqual(
    emulator.objects
      .uploads()
      .map(({ path }) => path)
      .toSorted(),
    ['bucket/other/old', 'bucket/table/new'],
  );
});

test('options may have the short names of the engine, and come from the environment', async (t) => {
  const emulator = await S3Emulator.start(t);
  const { aws_endpoint, aws_access_key_id = '', aws_secret_access_key = '' } = emulator.storageOptions;
  const options = { endpoint: aws_endpoint ?? '', aws_allow_http: 'true' };
  const environment = { AWS_ACCESS_KEY_ID: aws_access_key_id, AWS_SECRET_ACCESS_KEY: aws_secret_access_key };
  assert.equal(await openStore(emulator, { options, environment }).get('key'), undefined);
});

test('options that cannot work are refused with what would be right', async (t) => {
  const emulator = await S3Emulator.start(t);
  const { allow_http: _, ...options } = emulator.storageOptions;
  assert.throws(() => openStore(emulator, { options }), refusal('Unsupported', /allow_http/));
  const nowhere = { aws_access_key_id: 'a', aws_secret_access_key: 'b' };
  assert.throws(() => openStore(emulator, { options: nowhere }), refusal('Unsupported', /aws_region/));
  const disabled = { ...emulator.storageOptions, aws_conditional_put: 'disabled' };
  assert.throws(() => openStore(emulator, { options: disabled }), refusal('Unsupported', /aws_conditional_put/));
});
