import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseAddress } from '../../../../src/storage/object/address.ts';
import type { ObjectStore } from '../../../../src/storage/object/object-store.ts';
import { ObjectStores } from '../../../../src/storage/object/object-stores.ts';
import { CredentialVending } from '../../../../src/storage/object/vending/credential-vending.ts';
import type { VendRequest, VendingSettings } from '../../../../src/storage/object/vending/credential-vending.ts';
import { S3Emulator } from '../../../support/s3/s3-emulator.ts';
import { refusal } from '../../../support/refusal.ts';
import { collect, toObjectSettings } from '../test-stores.ts';

const ROOT = 's3://bucket/root';
const TABLE = 'root/orders.lance';
const CONTENT = Buffer.from('content');
const ROLE = 'arn:aws:iam::123456789012:role/tables';

function toSettings(emulator: S3Emulator, settings: Partial<VendingSettings> = {}): VendingSettings {
  return { ...toObjectSettings(emulator), role: undefined, endpoint: undefined, seconds: 900, ...settings };
}

const REQUEST: VendRequest = {
  location: { kind: 'listed', root: ROOT, directory: 'orders' },
  root: ROOT,
  access: 'read',
  callerId: 'key:1',
};

/** The bucket as a holder of vended credentials sees it. */
async function openAs(emulator: S3Emulator, access: VendRequest['access']): Promise<ObjectStore> {
  const { storageOptions } = await new CredentialVending(toSettings(emulator)).vend({ ...REQUEST, access });
  return new ObjectStores(toObjectSettings({ storageOptions })).open(parseAddress(ROOT));
}

const denied = refusal('ServiceUnavailable', /403/);

suite('vended credentials', () => {
  test('to read get and list the files of the table, and nothing else', async (t) => {
    const emulator = await S3Emulator.start(t);
    for (const key of [`${TABLE}/data/a.lance`, 'root/orders.lance2/data/b.lance', 'root/other.lance/data/c.lance'])
      emulator.objects.put(`bucket/${key}`, CONTENT);
    const store = await openAs(emulator, 'read');
    assert.deepEqual(await store.get(`${TABLE}/data/a.lance`), CONTENT);
    assert.deepEqual(
      (await collect(store.list(`${TABLE}/`))).map(({ key }) => key),
      [`${TABLE}/data/a.lance`],
    );
    for (const key of ['root/orders.lance2/data/b.lance', 'root/other.lance/data/c.lance', 'root/orders.lance'])
      await assert.rejects(store.get(key), denied, key);
    for (const prefix of ['', 'root/', TABLE, 'root/orders.lance2/'])
      await assert.rejects(collect(store.list(prefix)), denied, prefix);
    for (const key of [`${TABLE}/data/a.lance`, `${TABLE}/data/new.lance`, 'root/orders.lance2/data/b.lance']) {
      await assert.rejects(store.put(key, Buffer.from('changed')), denied, key);
      await assert.rejects(store.remove([key]), denied, key);
    }
    const copied = { bucket: 'bucket', key: 'root/other.lance/data/c.lance', bytes: CONTENT.length };
    await assert.rejects(store.copy(copied, `${TABLE}/data/copy.lance`), denied);
    assert.equal(emulator.objects.paths().length, 3);
  });

  test('to create a table put its first version, once, and nothing else', async (t) => {
    const emulator = await S3Emulator.start(t);
    const store = await openAs(emulator, 'create');
    await store.put(`${TABLE}/data/a.lance`, CONTENT);
    await store.put(`${TABLE}/_transactions/0-x.txn`, CONTENT);
    const manifest = `${TABLE}/_versions/18446744073709551614.manifest`;
    await assert.rejects(store.put(manifest, CONTENT), denied);
    assert.equal(await store.putIfAbsent(manifest, CONTENT), true);
    assert.equal(await store.putIfAbsent(manifest, Buffer.from('other')), false);
    await assert.rejects(store.put(manifest, Buffer.from('other')), denied);
    for (const key of [
      `${TABLE}/_versions/18446744073709551613.manifest`,
      `${TABLE}/_versions/1.manifest`,
      `${TABLE}/_refs/tags/a.json`,
      `${TABLE}/tree/side/_versions/1.manifest`,
      'root/orders.lance2/data/a.lance',
    ]) {
      await assert.rejects(store.putIfAbsent(key, CONTENT), denied, key);
    }
    await assert.rejects(store.remove([manifest]), denied);
    assert.equal(emulator.objects.paths().length, 3);
  });

  test('to stage put data files and staging manifests, no final manifest, and delete nothing', async (t) => {
    const emulator = await S3Emulator.start(t);
    const store = await openAs(emulator, 'stage');
    const allowed = ['data/a.lance', '_deletions/1.arrow', '_indices/x/index.idx', '_transactions/1-x.txn'];
    for (const name of [...allowed, '_versions/18446744073709551613.manifest-6f1c'])
      await store.put(`${TABLE}/${name}`, CONTENT);
    for (const name of [
      '18446744073709551613.manifest',
      '7.manifest',
      '7.manifest-x.manifest',
      'd7.manifest',
      'hint.json',
    ])
      await assert.rejects(store.put(`${TABLE}/_versions/${name}`, CONTENT), denied, name);
    await assert.rejects(store.remove([`${TABLE}/data/a.lance`]), denied);
    assert.equal(emulator.objects.paths().length, 5);
  });

  test('have the life that was asked for, and end with it', async (t) => {
    const emulator = await S3Emulator.start(t);
    const before = Date.now();
    const vended = await new CredentialVending(toSettings(emulator, { seconds: 3600 })).vend(REQUEST);
    assert.ok(Math.abs(vended.expiresAtMilliseconds - before - 3_600_000) < 60_000);
    assert.equal(vended.storageOptions['expires_at_millis'], String(vended.expiresAtMilliseconds));
    emulator.objects.put(`bucket/${TABLE}/a`, CONTENT);
    const store = new ObjectStores(toObjectSettings(vended)).open(parseAddress(ROOT));
    assert.deepEqual(await store.get(`${TABLE}/a`), CONTENT);
    for (const session of emulator.tokens.sessions) session.expiresAt.setTime(Date.now() - 1);
    await assert.rejects(store.get(`${TABLE}/a`), refusal('ServiceUnavailable', /refuses the server's credentials/));
  });

  test('name the caller and the role to the store', async (t) => {
    const emulator = await S3Emulator.start(t);
    const callerId = `https://id.example.com/${'a'.repeat(100)}`;
    await new CredentialVending(toSettings(emulator, { role: ROLE })).vend({ ...REQUEST, callerId });
    const [session] = emulator.tokens.sessions;
    assert.equal(session?.role, ROLE);
    assert.match(session?.name ?? '', /^tiltyard-https---id\.example\.com-a+$/);
  });
});

suite('credentials are refused', () => {
  for (const [what, location] of [
    ['with a wildcard in its name', { kind: 'listed', root: ROOT, directory: 'a*' }],
    ['with a question mark in its name', { kind: 'listed', root: ROOT, directory: 'a?' }],
    ['with a variable in its name', { kind: 'listed', root: ROOT, directory: '${aws:username}' }],
    ['with a dollar sign in its name', { kind: 'namespaced', root: ROOT, directory: 'a$b', enginePath: ['a', 'b'] }],
    ['with a quote in its name', { kind: 'listed', root: ROOT, directory: 'a"' }],
    ['that leads out of the root', { kind: 'listed', root: `${ROOT}/..`, directory: 'orders' }],
    ['of another root', { kind: 'listed', root: 's3://bucket/root2', directory: 'orders' }],
    ['of another bucket', { kind: 'listed', root: 's3://bucket2/root', directory: 'orders' }],
    ['that is too long for a policy', { kind: 'listed', root: ROOT, directory: 'a'.repeat(1000) }],
  ] as const) {
    test(`for a location ${what}`, async (t) => {
      const emulator = await S3Emulator.start(t);
      const vending = new CredentialVending(toSettings(emulator));
      await assert.rejects(vending.vend({ ...REQUEST, location }), refusal('Unsupported'));
      assert.deepEqual(emulator.tokens.sessions, []);
    });
  }

  test('when STS does not respond, fails, is busy, refuses, or answers something else', async (t) => {
    const emulator = await S3Emulator.start(t);
    const vend = async (settings: Partial<VendingSettings> = {}) =>
      new CredentialVending(toSettings(emulator, { requestAttemptsMax: 2, requestSeconds: 10, ...settings })).vend(
        REQUEST,
      );
    const unavailable = refusal('ServiceUnavailable', /^Storage credentials cannot be issued: .* does not respond/);
    for (const fault of ['hang', 'error-before', 'reset-before'] as const) {
      emulator.faults.add(fault, { method: 'POST' }, 2);
      await assert.rejects(vend({ requestSeconds: fault === 'hang' ? 2 : 10 }), unavailable, fault);
      assert.equal(emulator.faults.left, 0);
    }
    emulator.tokens.role = ROLE;
    await assert.rejects(vend({ role: `${ROLE}2` }), (error: Error) => {
      refusal('Internal', /^Storage credentials cannot be issued: .* refuses this server/)(error);
      assert.match((error.cause as Error).message, /403 \(AccessDenied\) User arn:aws:iam::1:user\/server/);
      return true;
    });
    await assert.rejects(vend({ role: ROLE, endpoint: `${emulator.url}/bucket` }), refusal('Internal'));
  });

  test('that have expired already', async (t) => {
    const emulator = await S3Emulator.start(t);
    emulator.tokens.lifeSecondsMax = -1;
    await assert.rejects(
      new CredentialVending(toSettings(emulator)).vend(REQUEST),
      refusal('Internal', /^Storage credentials cannot be issued: those of the STS service have expired\. .*clock/),
    );
  });

  test('tries STS again after a fault', async (t) => {
    const emulator = await S3Emulator.start(t);
    emulator.faults.add('error-before', { method: 'POST' }, 1);
    await new CredentialVending(toSettings(emulator)).vend(REQUEST);
    assert.equal(
      emulator.count(({ method, path }) => method === 'POST' && path === ''),
      2,
    );
  });
});

suite('settings that cannot work', () => {
  const settings = (options: Record<string, string>, more: Partial<VendingSettings> = {}): VendingSettings => ({
    options,
    environment: {},
    requestSeconds: 1,
    requestAttemptsMax: 1,
    role: undefined,
    endpoint: undefined,
    seconds: 900,
    ...more,
  });
  const keys = { aws_access_key_id: 'a', aws_secret_access_key: 'b' };

  test('are refused for roots that are not on S3; folders need none', () => {
    const vending = new CredentialVending(settings({ ...keys, aws_region: 'eu-1' }, { role: ROLE }));
    for (const root of ['az://container/x', 'gs://bucket/x'])
      assert.throws(() => vending.isNeeded(root), refusal('Unsupported', /only for tables on s3:\/\/ roots/));
    assert.equal(vending.isNeeded('/srv/data'), false);
    assert.equal(vending.isNeeded('s3://bucket'), true);
  });

  for (const [what, options, more, expected] of [
    ['AWS without a role', { ...keys, aws_region: 'eu-1' }, {}, /needs a role/],
    ['unsigned requests', { aws_region: 'eu-1', aws_skip_signature: 'true' }, { role: ROLE }, /needs credentials/],
    [
      'an address without encryption',
      { ...keys, aws_region: 'eu-1' },
      { endpoint: 'http://sts:1' },
      /vendingEndpoint is not encrypted/,
    ],
    [
      'hosts of buckets and no address of STS',
      { ...keys, aws_endpoint: 'https://b.store', virtual_hosted_style_request: 'true' },
      {},
      /STS service is not known/,
    ],
  ] as const) {
    test(`are refused: ${what}`, () => {
      const vending = new CredentialVending(settings(options, more));
      assert.throws(() => vending.isNeeded('s3://bucket'), refusal('Unsupported', expected));
    });
  }
});
