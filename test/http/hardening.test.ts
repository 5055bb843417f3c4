import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { after, before, test } from 'node:test';
import { ADMIN_KEY, startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';
import { RawConnection, requestText } from './raw-connection.ts';
import type { RawReply } from './raw-connection.ts';

const KEY = { 'x-api-key': ADMIN_KEY };
const HEAD = `host: h\r\nx-api-key: ${ADMIN_KEY}\r\n`;
const POST = `POST /v1/table/t/describe HTTP/1.1\r\n${HEAD}content-type: application/json\r\n`;
const CHUNKED = `${POST}transfer-encoding: chunked\r\n\r\n`;

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(async () => server.close());

async function exchange(text: string): Promise<{ reply: RawReply; connection: RawConnection }> {
  const connection = await RawConnection.open(server.url);
  connection.write(Buffer.from(text, 'latin1'));
  return { reply: await connection.reply(), connection };
}

/** Every failure has the error body. */
function assertErrorBody({ status, json }: RawReply, wanted: number): void {
  assert.equal(status, wanted, JSON.stringify(json));
  assert.equal(json['status'], wanted);
  assert.ok(typeof json['detail'] === 'string' && typeof json['code'] === 'number');
}

/** What two parsers may take for different requests. */
const AMBIGUOUS: Readonly<Record<string, string>> = {
  'a space before the colon': `${POST}transfer-encoding : chunked\r\n\r\n0\r\n\r\n`,
  'an unknown transfer coding': `${POST}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`,
  'a control character in the transfer coding': `${POST}transfer-encoding: \u000bchunked\r\n\r\n0\r\n\r\n`,
  'two transfer codings': `${POST}transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n`,
  'a length and chunks': `${POST}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'chunks and a length': `${POST}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n`,
  'a list of lengths': `${POST}content-length: 2, 2\r\n\r\n{}`,
  'two equal lengths': `${POST}content-length: 2\r\ncontent-length: 2\r\n\r\n{}`,
  'a negative length': `${POST}content-length: -2\r\n\r\n{}`,
  'a length in hex': `${POST}content-length: 0x2\r\n\r\n{}`,
  'a folded header': `GET /v1/tables HTTP/1.1\r\n${HEAD}x-a: b\r\n c\r\n\r\n`,
  'a bare line feed behind a chunk size': `${CHUNKED}2\n{}\r\n0\r\n\r\n`,
  'a negative chunk size': `${CHUNKED}-2\r\n{}\r\n0\r\n\r\n`,
  'a chunk size that overflows': `${CHUNKED}fffffffffffffffff\r\n{}\r\n`,
  'a chunk extension without end': `${CHUNKED}2;a=${'b'.repeat(40_000)}\r\n{}\r\n0\r\n\r\n`,
  'a carriage return in a header': `GET /v1/tables HTTP/1.1\r\n${HEAD}x-a: b\rc: d\r\n\r\n`,
  'a NUL in a header': `GET /v1/tables HTTP/1.1\r\n${HEAD}x-a: b\u0000c\r\n\r\n`,
  'a NUL in the address': `GET /v1/table/a\u0000b/describe HTTP/1.1\r\n${HEAD}\r\n`,
  'a space in the address': `GET /v1/tables x HTTP/1.1\r\n${HEAD}\r\n`,
  'a header without a name': `GET /v1/tables HTTP/1.1\r\n${HEAD}: b\r\n\r\n`,
  'an unknown method': `BREW /v1/tables HTTP/1.1\r\n${HEAD}\r\n`,
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
};

for (const [what, text] of Object.entries(AMBIGUOUS)) {
  test(`refuses ${what} with 400, and believes nothing behind it`, async () => {
    const { reply, connection } = await exchange(`${text}GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n`);
    assertErrorBody(reply, 400);
    assert.equal(await connection.closed(), '', 'no second request was answered');
  });
}

test('takes chunks with short extensions and trailers, which change nothing', async () => {
  for (const body of ['2;a=b\r\n{}\r\n0\r\n\r\n', '2\r\n{}\r\n0\r\nx-api-key: another\r\n\r\n']) {
    const { reply, connection } = await exchange(`${CHUNKED}${body}${requestText('GET /healthz')}`);
    assertErrorBody(reply, 404);
    assert.equal((await connection.reply()).status, 200);
    connection.close();
  }
});

test('closes the connection of HTTP/1.0, with chunks or without', async () => {
  const { reply, connection } = await exchange(CHUNKED.replace('HTTP/1.1', 'HTTP/1.0') + '0\r\n\r\n');
  assertErrorBody(reply, 404);
  await connection.closed();
});

test('speaks no other protocol: an upgrade is not followed', async () => {
  for (const upgrade of ['h2c', 'websocket']) {
    const headers = { ...KEY, connection: 'Upgrade, HTTP2-Settings', upgrade, 'http2-settings': 'AAMAAABkAAQAAP__' };
    const { reply, connection } = await exchange(requestText('GET /v1/tables', headers));
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('upgrade'), undefined);
    connection.write(requestText('GET /healthz'));
    assert.equal((await connection.reply()).status, 200, 'still HTTP/1.1');
    connection.close();
  }
});

test('offers no tunnel, no trace, and no method that it does not know', async () => {
  const tunnel = await exchange(`CONNECT other.example:443 HTTP/1.1\r\n${HEAD}\r\n`);
  assertErrorBody(tunnel.reply, 405);
  assert.equal(await tunnel.connection.closed(), '');
  for (const method of METHODS.filter((each) => !['CONNECT', 'GET', 'HEAD', 'POST'].includes(each))) {
    const { reply, connection } = await exchange(requestText(`${method} /v1/tables`, KEY));
    assertErrorBody(reply, 405);
    assert.match(reply.headers.get('allow') ?? '', /GET/);
    assert.ok(!reply.text.includes(ADMIN_KEY), 'nothing of the request comes back');
    connection.close();
  }
});

test('takes an address in full only for the host that the request is for', async () => {
  assert.equal((await exchange(requestText('GET http://localhost/v1/tables', KEY))).reply.status, 200);
  for (const other of [
    'http://other.example/v1/tables',
    'http://localhost@other.example/v1/tables',
    'http:///v1/tables',
  ]) {
    assertErrorBody((await exchange(requestText(`GET ${other}`, KEY))).reply, 400);
  }
});

test('refuses more headers than the bound with 431, however short they are', async () => {
  const many = (number: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: number }, (_unused, index) => [`a${index}`, 'b']));
  assert.equal((await exchange(requestText('GET /v1/tables', { ...KEY, ...many(198) }))).reply.status, 200);
  assertErrorBody((await exchange(requestText('GET /v1/tables', { ...KEY, ...many(199) }))).reply, 431);
  assertErrorBody((await exchange(requestText('GET /v1/tables', { ...KEY, ...many(2500) }))).reply, 431);
});

test('takes the body of a GET for a body, not for the next request', async () => {
  const hidden = requestText('GET /healthz');
  const { reply, connection } = await exchange(requestText('GET /v1/tables', KEY, hidden));
  assert.equal(reply.status, 200);
  connection.write(requestText('GET /nothing', KEY));
  assertErrorBody(await connection.reply(), 404);
  connection.close();
});

test('decodes an address once, and resolves no parent directories in it', async () => {
  for (const [path, status] of [
    ['/v1/table/%252e%252e%252fetc/describe', 400],
    ['/v1/table/%2e%2e%2fetc/describe', 400],
    ['/v1/table/a%00b/describe', 400],
    ['/v1/table/%c0%ae%c0%ae/describe', 400],
    ['/v1/../v1/tables', 404],
    ['/v1/%2e%2e/v1/tables', 404],
    ['/v1/tables/..%2f..%2fetc', 400],
  ] as const) {
    const { reply, connection } = await exchange(requestText(`POST ${path}`, KEY, ''));
    assertErrorBody(reply, status);
    connection.close();
  }
});

test('refuses numbers that no number type holds', async () => {
  for (const k of ['1e999', '1.5', '"1"', 'NaN', '0x10', '01']) {
    const text = requestText('POST /v1/table/t/query', { ...KEY, 'content-type': 'application/json' }, `{"k":${k}}`);
    assertErrorBody((await exchange(text)).reply, 400);
  }
});
