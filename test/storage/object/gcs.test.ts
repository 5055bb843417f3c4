import assert from 'node:assert/strict';
import { createVerify, generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { parseAddress } from '../../../src/storage/object/address.ts';
import { ObjectStores } from '../../../src/storage/object/object-stores.ts';
import type { ObjectStore } from '../../../src/storage/object/object-store.ts';
import { refusal } from '../../support/refusal.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { checkConditionalRemoval, checkObjects, checkTables } from './store-checks.ts';
import { toObjectSettings } from './test-stores.ts';

/** The contents of a service account's file, with the addresses of an emulator. */
function toOptions(emulator: S3Emulator, account: object): Readonly<Record<string, string>> {
  const file = { private_key: '', private_key_id: '', client_email: '', gcs_base_url: emulator.url, ...account };
  return { google_service_account_key: JSON.stringify(file), allow_http: 'true' };
}

function open(storageOptions: Readonly<Record<string, string>>): ObjectStore {
  return new ObjectStores(toObjectSettings({ storageOptions })).open(parseAddress('gs://bucket'));
}

test('Google Cloud Storage holds objects and tables', async (t) => {
  const emulator = await S3Emulator.start(t, { google: {} });
  const options = toOptions(emulator, { disable_oauth: true });
  await checkObjects(open(options), 'bucket');
  await checkConditionalRemoval(open(options));
  await checkTables(t, 'gs://bucket/root', toObjectSettings({ storageOptions: options }));
  const commits = emulator.log.filter(({ path, method }) => method === 'PUT' && path.endsWith('.manifest'));
  assert.ok(
    commits.some(({ isConditional }) => isConditional),
    'the engine commits with the same condition',
  );
});

test('a store that ignores conditions is refused by name', async (t) => {
  const emulator = await S3Emulator.start(t, { google: {}, ignoresConditions: true });
  const stores = new ObjectStores(toObjectSettings({ storageOptions: toOptions(emulator, { disable_oauth: true }) }));
  await assert.rejects(
    stores.verify(parseAddress('gs://bucket')),
    refusal('Unsupported', /gs:\/\/bucket cannot store/),
  );
});

test('a service account signs for a token, which serves many requests', async (t) => {
  const emulator = await S3Emulator.start(t, { google: { token: 'from-the-endpoint' } });
  const { url, privateKey, counts } = await startTokenEndpoint(t, 'from-the-endpoint');
  const store = open(
    toOptions(emulator, { client_email: 'robot@example.com', private_key: privateKey, token_uri: url }),
  );
  await Promise.all([store.put('one', Buffer.from('1')), store.put('two', Buffer.from('2'))]);
  assert.equal((await store.get('one'))?.toString(), '1');
  assert.deepEqual([counts.good, counts.bad], [1, 0]);
});

test('a service account that cannot be read is refused without its contents', async (t) => {
  const file = join(await makeFolder(t), 'account.json');
  await writeFile(file, '{"private_key": "-----BEGIN PRIVATE KEY-----secret\n"}');
  for (const options of [
    { google_service_account_key: '{"private_key": SECRET}' },
    { google_service_account_key: 'null' },
    { google_service_account: file },
    { google_service_account: `${file}.absent` },
  ]) {
    assert.throws(
      () => open(options),
      (error: Error) => {
        refusal('Unsupported', /^The Google service account /)(error);
        assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /secret/i);
        return true;
      },
    );
  }
});

test('a token of the options is sent as it is, and a wrong one refused', async (t) => {
  const emulator = await S3Emulator.start(t, { google: { token: 'right' } });
  const options = { google_base_url: emulator.url, allow_http: 'true' };
  assert.equal(await open({ ...options, google_storage_token: 'right' }).get('key'), undefined);
  const wrong = open({ ...options, google_storage_token: 'wrong' });
  await assert.rejects(wrong.get('key'), refusal('ServiceUnavailable', /status 403 \(AccessDenied\)/));
});

/** Gives a token for an assertion that is signed with the key. */
async function startTokenEndpoint(t: TestContext, token: string) {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const counts = { good: 0, bad: 0 };
  const isSigned = (assertion: string): boolean => {
    const [header = '', claims = '', signature = ''] = assertion.split('.');
    const verify = createVerify('RSA-SHA256').update(`${header}.${claims}`);
    return verify.verify(keys.publicKey, Buffer.from(signature, 'base64url'));
  };
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const isGood = isSigned(new URLSearchParams(text).get('assertion') ?? '');
      counts[isGood ? 'good' : 'bad'] += 1;
      response.writeHead(isGood ? 200 : 400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ access_token: token, expires_in: 3600 }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  return { ...keys, url, counts };
}
