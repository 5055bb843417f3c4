import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { toDestination } from '../../src/http/forwarding/forwarder.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { runCliOn } from '../support/run-cli.ts';
import { ADMIN_KEY, startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';
import { RawConnection, requestText } from './raw-connection.ts';

const folder = mkdtempSync(join(tmpdir(), 'tiltyard-tls-'));
const certFile = join(folder, 'cert.pem');
const keyFile = join(folder, 'key.pem');
const skip = makeCertificate() ? false : 'there is no openssl to make a certificate with';
const ca = skip === false ? readFileSync(certFile) : undefined;

let server: TestServer;

before(async () => {
  if (skip !== false) return;
  const flags = [`--tls-cert=${certFile}`, `--tls-key=${keyFile}`, '--http-headers-seconds=1'];
  server = await startServer({ flags });
});

after(async () => {
  if (skip === false) await server.close();
  rmSync(folder, { recursive: true, force: true });
});

test('serves over TLS, bodies and replies', { skip }, async () => {
  const created = await send('POST', '/v1/table/t/create', sampleStream(1000));
  assert.equal(created.status, 200, created.text);
  const listed = await send('GET', '/v1/tables');
  assert.deepEqual((JSON.parse(listed.text) as { tables: unknown }).tables, ['t']);
});

test('answers nothing to a client that does not speak TLS, and closes', { skip }, async () => {
  const plain = await RawConnection.open(server.url);
  plain.write(requestText('GET /v1/tables', { 'x-api-key': ADMIN_KEY }));
  assert.ok(!(await plain.closed()).includes('HTTP/1.1'));
});

test('closes a connection that never gets through its handshake', { skip }, async () => {
  const silent = await RawConnection.open(server.url);
  assert.equal(await silent.closed(), '');
});

test('refuses bytes that are no HTTP inside TLS with our error body', { skip }, async () => {
  const secure = connect({
    port: portOf(server.url),
    host: '127.0.0.1',
    ca: readFileSync(certFile),
    servername: 'localhost',
  });
  const connection = new RawConnection(secure);
  await once(secure, 'secureConnect');
  connection.write('nonsense\r\n\r\n');
  const reply = await connection.reply();
  assert.equal(reply.status, 400);
  assert.equal(reply.json['code'], 13);
  await connection.closed();
});

test('a node is known by the name in its address, whatever Host the client has sent', { skip }, async () => {
  const port = portOf(server.url);
  const headers = { 'x-api-key': ADMIN_KEY, host: 'tables.example.com' };
  const forward = (address: string) => request({ ...toDestination(address), path: '/v1/tables', ca, headers });
  assert.equal((await receive(forward(`https://localhost:${port}`))).status, 200);
  await assert.rejects(receive(forward(`https://127.0.0.1:${port}`)), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
});

test('the command line says which address or setting is wrong when TLS fails', { skip }, async () => {
  const plain = await startServer();
  const report = async (url: string): Promise<string> => (await runCliOn(url, ['tables'])).err;
  try {
    assert.match(
      await report(`https://127.0.0.1:${portOf(plain.url)}`),
      /did not respond: it does not speak TLS\.\nhint: Give its address with http:\/\//,
    );
  } finally {
    await plain.close();
  }
  assert.match(
    await report(`http://127.0.0.1:${portOf(server.url)}`),
    /did not respond: the connection was closed\.\nhint: .* its address begins with https:\/\//,
  );
  const untrusted = `https://localhost:${portOf(server.url)}`;
  assert.match(await report(untrusted), /its certificate is not trusted\.\nhint: .* NODE_EXTRA_CA_CERTS to a file/);
  const { out } = await runCliOn(untrusted, ['doctor', '--server', untrusted]);
  assert.match(out, /its certificate is not trusted[^]*NODE_EXTRA_CA_CERTS/);
});

async function send(method: string, path: string, body?: Uint8Array): Promise<{ status: number; text: string }> {
  const headers = { 'x-api-key': ADMIN_KEY };
  const host = { host: '127.0.0.1', port: portOf(server.url), servername: 'localhost' };
  return receive(request({ ...host, ca, method, path, headers }), body);
}

async function receive(sent: ClientRequest, body?: Uint8Array): Promise<{ status: number; text: string }> {
  sent.end(body);
  const [message] = (await once(sent, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return { status: message.statusCode ?? 0, text: Buffer.concat(pieces).toString() };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function makeCertificate(): boolean {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const options = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...subject];
  try {
    execFileSync('openssl', [...options, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
