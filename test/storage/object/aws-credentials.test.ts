import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/refusal.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { openStore } from './test-stores.ts';

/** A store that accepts the emulator's key, which the environment alone leads to. */
async function openScene(t: TestContext) {
  const emulator = await S3Emulator.start(t);
  const { aws_endpoint = '', aws_access_key_id: id = '', aws_secret_access_key: secret = '' } = emulator.storageOptions;
  const folder = await makeFolder(t);
  const requireAccess = async (environment: Readonly<Record<string, string>>): Promise<void> => {
    const absent = { AWS_SHARED_CREDENTIALS_FILE: join(folder, 'absent') };
    const options = { aws_endpoint, allow_http: 'true' };
    const store = openStore(emulator, { options, environment: { ...absent, ...environment } });
    await store.put('key', Buffer.from('content'));
    assert.equal((await store.get('key'))?.toString(), 'content');
  };
  return { id, secret, folder, requireAccess };
}

async function serve(t: TestContext, answer: (request: IncomingMessage) => string) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.end(answer(request));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

test('credentials are read from a profile of the shared file', async (t) => {
  const { id, secret, folder, requireAccess } = await openScene(t);
  const file = join(folder, 'credentials');
  const other = '[default]\naws_access_key_id = other\naws_secret_access_key = other\n';
  await writeFile(file, `${other}[work]\naws_access_key_id = ${id}\naws_secret_access_key=${secret}\n[last]\n`);
  await requireAccess({ AWS_SHARED_CREDENTIALS_FILE: file, AWS_PROFILE: 'work' });
  await assert.rejects(requireAccess({ AWS_SHARED_CREDENTIALS_FILE: file }), /InvalidAccessKeyId/);
  const missing = refusal('ServiceUnavailable', /^The server cannot get its credentials for the object store\. $/);
  await assert.rejects(requireAccess({ AWS_SHARED_CREDENTIALS_FILE: file, AWS_PROFILE: 'absent' }), missing);
});

test('credentials that cannot be fetched are reported as what they are', async (t) => {
  const { requireAccess } = await openScene(t);
  const { url, requests } = await serve(t, () => '{}');
  const missing = refusal('ServiceUnavailable', /^The server cannot get its credentials for the object store\. $/);
  await assert.rejects(requireAccess({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url }), missing);
  assert.equal(requests.length, 4);
});

test('credentials of a container are fetched once, with its token, while they last', async (t) => {
  const { id, secret, requireAccess } = await openScene(t);
  const Expiration = new Date(Date.now() + 3_600_000).toISOString();
  const reply = JSON.stringify({ AccessKeyId: id, SecretAccessKey: secret, Token: 'session', Expiration });
  const { url, requests } = await serve(t, () => reply);
  await requireAccess({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'container' });
  assert.deepEqual(
    requests.map(({ headers }) => headers.authorization),
    ['container'],
  );
});

test('credentials that cannot be renewed are used until they expire', async (t) => {
  const { id, secret, requireAccess } = await openScene(t);
  let replies = 0;
  const { url, requests } = await serve(t, () => {
    replies += 1;
    const Expiration = new Date(Date.now() + 240_000).toISOString();
    return replies === 1 ? JSON.stringify({ AccessKeyId: id, SecretAccessKey: secret, Token: 's', Expiration }) : '{}';
  });
  await requireAccess({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url });
  await eventually(async () => requests.length === 2);
});

test('credentials that have expired, or are about to, are not used', async (t) => {
  const { id, secret, requireAccess } = await openScene(t);
  const Expiration = new Date(Date.now() + 1000).toISOString();
  const reply = JSON.stringify({ AccessKeyId: id, SecretAccessKey: secret, Token: 's', Expiration });
  const { url, requests } = await serve(t, () => (requests.length === 1 ? reply : '{}'));
  const access = requireAccess({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url });
  await assert.rejects(access, refusal('ServiceUnavailable', /cannot get its credentials/));
});

test('a web identity is exchanged for credentials', async (t) => {
  const { id, secret, folder, requireAccess } = await openScene(t);
  const file = join(folder, 'token');
  await writeFile(file, 'web token\n');
  const expiration = new Date(Date.now() + 3_600_000).toISOString();
  const { url, requests } = await serve(
    t,
    () =>
      `<Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey><SessionToken>s&amp;t</SessionToken><Expiration>${expiration}</Expiration></Credentials>`,
  );
  const role = 'arn:aws:iam::1:role/tables';
  await requireAccess({ AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role, AWS_ENDPOINT_URL_STS: url });
  assert.equal(requests.length, 1);
  const query = new URL(requests[0]?.url ?? '', url).searchParams;
  assert.deepEqual([query.get('RoleArn'), query.get('WebIdentityToken')], [role, 'web token']);
});
