import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { OPERATIONS } from '../../src/operations/registry.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';
import { RawConnection, requestText } from './raw-connection.ts';
import type { RawReply } from './raw-connection.ts';

const MiB = 1024 * 1024;
const KEY = { 'x-api-key': ADMIN_KEY };
const JSON_TYPE = { 'content-type': 'application/json' };
const ARROW_TYPE = { 'content-type': 'application/vnd.apache.arrow.stream' };

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer({ flags: ['--http-json-bytes-max=64KiB'] });
  client = new Client(server.url);
  const created = await client.arrow('/v1/table/t/create', sampleStream());
  assert.equal(created.status, 200, created.text);
});

after(async () => server.close());

/** One request on a connection of its own. */
async function exchange(text: string, url = server.url): Promise<RawReply> {
  const connection = await RawConnection.open(url);
  connection.write(text);
  const reply = await connection.reply({ hasBody: !text.startsWith('HEAD') });
  connection.close();
  return reply;
}

/** Our error body, whole, and the headers that every reply has. */
function assertRefused(reply: RawReply, status: number, says: RegExp): void {
  assert.equal(reply.status, status, reply.text);
  const names = ['code', 'detail', 'error', 'instance', 'status', 'title', 'type'];
  assert.deepEqual(Object.keys(reply.json).toSorted(), names, reply.text);
  assert.equal(reply.json['status'], status);
  assert.match(String(reply.json['detail']), says);
  assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.match(reply.headers.get('x-request-id') ?? '', /./);
}

test('answers an address where nothing is with 404', async () => {
  for (const path of ['/', '/v1', '/v1/nothing', '/v1/table/t', '/v2/tables', '/V1/tables', '/v1/table/t/create/x']) {
    assertRefused(await exchange(requestText(`GET ${path}`, KEY)), 404, /route does not exist/);
  }
});

test('answers a wrong method with 405 and the right ones', async () => {
  const create = await exchange(requestText('GET /v1/table/t/create', KEY));
  assertRefused(create, 405, /does not support the method GET. Use POST/);
  assert.equal(create.headers.get('allow'), 'POST');
  const list = await exchange(requestText('DELETE /v1/tables/', KEY));
  assertRefused(list, 405, /Use GET or HEAD/);
  assert.equal(list.headers.get('allow'), 'GET, HEAD');
  assertRefused(await exchange(requestText('POST /healthz', KEY, '')), 405, /Use GET or HEAD/);
  for (const path of ['/ui', '/ui/', '/ui/icon.svg', '/metrics/history', '/oauth/jwks']) {
    const reply = await exchange(requestText(`POST ${path}`, KEY, ''));
    assertRefused(reply, 405, /Use GET or HEAD/);
    assert.equal(reply.headers.get('allow'), 'GET, HEAD');
  }
  assertRefused(await exchange(requestText('GET /oauth/token', KEY)), 405, /Use POST/);
  assertRefused(await exchange(requestText('GET /ui/nothing.js', KEY)), 404, /route does not exist/);
  assertRefused(await exchange(requestText('OPTIONS /v1/table/t/update', KEY)), 405, /Use POST/);
});

test('names the address of a refusal without its query', async () => {
  const reply = await exchange(requestText('GET /v1/nothing?api_key=secret', KEY));
  assert.equal(reply.json['instance'], '/v1/nothing');
  assert.ok(!reply.text.includes('secret'));
});

test('answers HEAD like GET, without the body', async () => {
  for (const path of ['/v1/tables', '/healthz', '/readyz', '/docs', '/openapi.json']) {
    const head = await exchange(requestText(`HEAD ${path}`, KEY));
    const get = await exchange(requestText(`GET ${path}`, KEY));
    assert.equal(head.status, 200, path);
    assert.equal(head.headers.get('content-type'), get.headers.get('content-type'));
    assert.equal(head.text, '');
  }
  assert.equal((await exchange(requestText('HEAD /v1/tables'))).status, 401);
});

test('serves each address with and without a slash at its end, and with doubled slashes', async () => {
  for (const path of ['/v1/tables', '/v1/tables/', '//v1/tables', '/v1//tables//']) {
    assert.equal((await exchange(requestText(`GET ${path}`, KEY))).status, 200, path);
  }
  for (const path of ['/v1/table/t/describe', '/v1/table/t/describe/', '//v1/table/t/describe/']) {
    assert.equal((await exchange(requestText(`POST ${path}`, { ...KEY, ...JSON_TYPE }, '{}'))).status, 200, path);
  }
});

test('refuses an address whose escapes are malformed', async () => {
  for (const path of [
    '/v1/table/%/describe',
    '/v1/table/%zz/describe',
    '/v1/table/%ff/describe',
    '/v1/table/%c3/describe',
  ]) {
    assertRefused(await exchange(requestText(`POST ${path}`, { ...KEY, ...JSON_TYPE }, '{}')), 400, /malformed/);
  }
  assertRefused(await exchange(requestText('GET /v1/tables?limit=%zz', KEY)), 400, /percent-encoded/);
});

test('refuses names that hide a path or a control character in an escape', async () => {
  for (const name of ['a%2fb', '%00', 'a%5cb', '%2e%2e', 'a%0d%0aSet-Cookie:x']) {
    const reply = await exchange(requestText(`POST /v1/table/${name}/describe`, { ...KEY, ...JSON_TYPE }, '{}'));
    assertRefused(reply, 400, /The name /);
  }
});

test('refuses headers that may not come twice', async () => {
  for (const name of ['x-api-key', 'authorization', 'x-service-database', 'x-lancedb-database']) {
    const text = requestText('GET /v1/tables', { [name]: 'a' }).replace(
      '\r\n\r\n',
      `\r\n${name.toUpperCase()}: a\r\n\r\n`,
    );
    assertRefused(await exchange(text), 400, new RegExp(`The header ${name} is given twice`));
  }
  const hosts = requestText('GET /v1/tables', KEY).replace('\r\n\r\n', '\r\nHost: other\r\n\r\n');
  assertRefused(await exchange(hosts), 400, /The header host is given twice/);
});

test('refuses a request without a host', async () => {
  assertRefused(await exchange(`GET /v1/tables HTTP/1.1\r\nx-api-key: ${ADMIN_KEY}\r\n\r\n`), 400, /no Host header/);
});

test('refuses headers that are too large with 431, and closes', async () => {
  const connection = await RawConnection.open(server.url);
  connection.write(requestText('GET /v1/tables', { ...KEY, 'x-large': 'a'.repeat(40_000) }));
  assertRefused(await connection.reply(), 431, /headers of the request are too large/);
  await connection.closed();
  assertRefused(await exchange(requestText(`GET /${'a'.repeat(40_000)}`)), 431, /too large/);
});

test('takes a request in which the framing is ambiguous for none', async () => {
  const smuggled = [
    'POST /v1/table/t/describe HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /v1/table/t/describe HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
    'POST /v1/table/t/describe HTTP/1.1\r\nhost: h\r\ncontent-length: +2\r\n\r\n{}',
    'POST /v1/table/t/describe HTTP/1.1\r\nhost: h\r\ntransfer-encoding: identity, chunked, x\r\n\r\n0\r\n\r\n',
    'GET /v1/tables HTTP/1.1\r\nhost: h\r\n x-folded: a\r\n\r\n',
    'GET /v1/tables HTTP/1.1\nhost: h\n\n',
    'GET /v1/tables HTTP/9.9\r\nhost: h\r\n\r\n',
  ];
  for (const text of smuggled) {
    const connection = await RawConnection.open(server.url);
    connection.write(text);
    assertRefused(await connection.reply(), 400, /not valid HTTP/);
    assert.equal(await connection.closed(), '');
  }
});

test('answers bytes that are no HTTP with 400, and closes', async () => {
  for (const bytes of [
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000',
    'SSH-2.0-OpenSSH_9.6\r\n',
    '\u0000'.repeat(100),
    'hello\r\n\r\n',
  ]) {
    const connection = await RawConnection.open(server.url);
    connection.write(bytes);
    assertRefused(await connection.reply(), 400, /not valid HTTP/);
    await connection.closed();
  }
});

test('closes after bytes that are no HTTP even when the client does not', async () => {
  const connection = await RawConnection.open(server.url);
  connection.socket.allowHalfOpen = true;
  connection.write('nonsense\r\n\r\n');
  await connection.reply();
  for (let count = 0; count < 100 && !connection.isClosed; count += 1) {
    connection.write('more');
    await sleep(50);
  }
  await connection.closed();
});

test('refuses a body of another media type, and reads every spelling of the right one', async () => {
  const send = async (type: string): Promise<RawReply> =>
    exchange(requestText('POST /v1/table/t/describe', { ...KEY, 'content-type': type }, '{}'));
  for (const type of ['text/plain', 'application/jsonx', 'application/x-www-form-urlencoded', 'json', ';', 'a/b/c']) {
    assertRefused(await send(type), 415, /Content-Type/);
  }
  for (const type of ['application/json', 'Application/JSON', 'application/json; charset=utf-8', 'application/json;']) {
    assert.equal((await send(type)).status, 200, type);
  }
  const arrow = await exchange(requestText('POST /v1/table/new/create', { ...KEY, ...JSON_TYPE }, '{}'));
  assertRefused(arrow, 415, /application\/vnd.apache.arrow.stream/);
});

test('refuses a compressed body', async () => {
  for (const encoding of ['gzip', 'br', 'identity, gzip']) {
    const headers = { ...KEY, ...JSON_TYPE, 'content-encoding': encoding };
    assertRefused(await exchange(requestText('POST /v1/table/t/describe', headers, '{}')), 415, /compressed/);
  }
  const plain = { ...KEY, ...JSON_TYPE, 'content-encoding': 'Identity' };
  assert.equal((await exchange(requestText('POST /v1/table/t/describe', plain, '{}'))).status, 200);
});

test('refuses a JSON body whose declared length is too large without reading it, and keeps the connection', async () => {
  const connection = await RawConnection.open(server.url);
  const body = `{"context":{"a":"${'x'.repeat(100_000)}"}}`;
  connection.write(requestText('POST /v1/table/t/describe', { ...KEY, ...JSON_TYPE }, body));
  assertRefused(await connection.reply(), 413, /larger than 64 KiB/);
  connection.write(requestText('GET /v1/tables', KEY));
  assert.equal((await connection.reply()).status, 200);
  connection.close();
});

test('refuses a JSON body that exceeds the limit while it is read, and keeps the connection', async () => {
  const connection = await RawConnection.open(server.url);
  connection.write(requestText('POST /v1/table/t/describe', { ...KEY, ...JSON_TYPE, 'transfer-encoding': 'chunked' }));
  const chunk = 'x'.repeat(10_000);
  for (let count = 0; count < 200; count += 1) connection.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  connection.write('0\r\n\r\n');
  assertRefused(await connection.reply(), 413, /larger than 64 KiB/);
  connection.write(requestText('GET /v1/tables', KEY));
  assert.equal((await connection.reply()).status, 200);
  connection.close();
});

test('refuses an Arrow body that is too large, declared or not, and commits nothing of it', async () => {
  const small = await startServer({ flags: ['--arrow-stream-bytes-max=4KiB'] });
  try {
    const stream = sampleStream(1000);
    for (const framing of [{ 'content-length': String(stream.length) }, { 'transfer-encoding': 'chunked' }]) {
      const connection = await RawConnection.open(small.url);
      connection.write(requestText('POST /v1/table/large/create', { ...KEY, ...ARROW_TYPE, ...framing }));
      const isChunked = 'transfer-encoding' in framing;
      if (isChunked) connection.write(`${stream.length.toString(16)}\r\n`);
      connection.write(stream);
      if (isChunked) connection.write('\r\n0\r\n\r\n');
      assertRefused(await connection.reply(), 413, /larger than 4 KiB/);
      connection.write(requestText('GET /v1/tables', KEY));
      assert.deepEqual((await connection.reply()).json['tables'], []);
      connection.close();
    }
  } finally {
    await small.close();
  }
});

test('lets a client read the refusal of a large upload, and use the connection again', async () => {
  const refusals: readonly (readonly [headers: Record<string, string>, status: number])[] = [
    [{ ...ARROW_TYPE, 'x-api-key': 'wrong' }, 401],
    [{ ...ARROW_TYPE, ...KEY, 'x-service-database': 'nowhere' }, 404],
    [{ ...JSON_TYPE, ...KEY }, 415],
    [{ ...ARROW_TYPE, ...KEY }, 400],
  ];
  const body = Buffer.alloc(8 * MiB, 1);
  for (const [headers, status] of refusals) {
    const connection = await RawConnection.open(server.url);
    const sent = { ...headers, 'content-length': String(body.length) };
    connection.write(requestText('POST /v1/table/new/create', sent));
    connection.write(body);
    assert.equal((await connection.reply()).status, status);
    connection.write(requestText('GET /v1/tables', KEY));
    assert.equal((await connection.reply()).status, 200);
    connection.close();
  }
  assert.deepEqual((await client.get('/v1/tables')).json.tables, ['t']);
});

test('disconnects an upload that continues after its refusal', async () => {
  const connection = await RawConnection.open(server.url);
  connection.write(requestText('POST /v1/nothing', { ...KEY, ...ARROW_TYPE, 'content-length': String(1024 * MiB) }));
  assert.equal((await connection.reply()).status, 404);
  const piece = Buffer.alloc(4 * MiB);
  for (let count = 0; count < 256 && !connection.isClosed; count += 1) {
    connection.write(piece);
    await sleep(1);
  }
  await connection.closed();
});

test('answers pipelined requests one after another, in order', async () => {
  const connection = await RawConnection.open(server.url);
  const ids = ['one', 'two', 'three', 'four'];
  const texts = ids.map((id, index) => {
    const headers = { ...KEY, 'x-request-id': id };
    return index % 2 === 0
      ? requestText('GET /v1/tables', headers)
      : requestText('POST /v1/table/t/describe', { ...headers, ...JSON_TYPE }, '{}');
  });
  connection.write(texts.join(''));
  for (const id of ids) {
    const reply = await connection.reply();
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('x-request-id'), id);
  }
  connection.close();
});

test('asks for a body that waits to be asked for', async () => {
  const connection = await RawConnection.open(server.url);
  const headers = { ...KEY, ...JSON_TYPE, expect: '100-continue', 'content-length': '2' };
  connection.write(requestText('POST /v1/table/t/describe', headers));
  assert.equal((await connection.reply()).status, 100);
  connection.write('{}');
  assert.equal((await connection.reply()).status, 200);
  connection.close();
});

test('ignores an unknown expectation', async () => {
  assert.equal((await exchange(requestText('GET /v1/tables', { ...KEY, expect: 'a-pony' }))).status, 200);
});

test('repeats a request id that is safe to log, and replaces any other', async () => {
  const idOf = async (sent: string): Promise<string | undefined> =>
    (await exchange(requestText('GET /v1/tables', { ...KEY, 'x-request-id': sent }))).headers.get('x-request-id');
  for (const sane of ['a', '7d2b6e4e-1111-4222-8333-444455556666', 'trace:1.2_3-4', 'x'.repeat(128)]) {
    assert.equal(await idOf(sane), sane);
  }
  for (const odd of ['', 'a b', 'x'.repeat(129), 'a"b', '<script>', 'é']) {
    assert.match((await idOf(odd)) ?? '', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  }
});

test('gives every reply a request id, from the probes and the docs too', async () => {
  for (const path of ['/healthz', '/readyz', '/docs', '/openapi.json', '/nothing', '/%zz']) {
    const reply = await exchange(requestText(`GET ${path}`, { 'x-request-id': 'r-1' }));
    assert.equal(reply.headers.get('x-request-id'), 'r-1', path);
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff', path);
  }
});

test('says that it is alive and ready without a credential, and no more', async () => {
  const alive = await exchange(requestText('GET /healthz'));
  assert.equal(alive.status, 200);
  assert.equal(alive.text, '{"status":"ok"}');
  const ready = await exchange(requestText('GET /readyz'));
  assert.equal(ready.status, 200);
  assert.equal(ready.text, '{"status":"ready"}');
});

test('serves its description for people and programs', async () => {
  const page = await exchange(requestText('GET /docs'));
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
  const description = await exchange(requestText('GET /openapi.json'));
  const paths = Object.values(Object(description.json['paths']) as object).flatMap(Object.values);
  assert.equal(paths.length, OPERATIONS.length);
});

test('commits nothing of an upload whose client disconnects, and releases its slot', async () => {
  const small = await startServer({ flags: ['--http-uploads-max=1'] });
  try {
    const stream = sampleStream(100);
    for (let count = 0; count < 3; count += 1) {
      const connection = await RawConnection.open(small.url);
      connection.write(
        requestText('POST /v1/table/left/create', { ...KEY, ...ARROW_TYPE, 'content-length': String(stream.length) }),
      );
      connection.write(stream.subarray(0, stream.length - 200));
      await sleep(50);
      connection.close();
      await eventually(
        async () => (await new Client(small.url).arrow('/v1/table/x/create', new Uint8Array())).status === 400,
      );
    }
    assert.deepEqual((await new Client(small.url).get('/v1/tables')).json.tables, []);
    assert.equal((await new Client(small.url).arrow('/v1/table/left/create', stream)).status, 200);
  } finally {
    await small.close();
  }
});

test('releases the slot of an upload whose framing breaks', async () => {
  const small = await startServer({ flags: ['--http-uploads-max=1'] });
  try {
    const connection = await RawConnection.open(small.url);
    connection.write(
      requestText('POST /v1/table/broken/create', { ...KEY, ...ARROW_TYPE, 'transfer-encoding': 'chunked' }),
    );
    const start = sampleStream().subarray(0, 64);
    connection.write(`${start.length.toString(16)}\r\n`);
    connection.write(start);
    connection.write('\r\nnot a length\r\n');
    assertRefused(await connection.reply(), 400, /not valid HTTP/);
    await connection.closed();
    await eventually(
      async () => (await new Client(small.url).arrow('/v1/table/x/create', sampleStream())).status === 200,
    );
  } finally {
    await small.close();
  }
});

test('refuses more uploads and requests at once than it takes, and says when to come back', async () => {
  const small = await startServer({ flags: ['--http-uploads-max=1', '--http-queue-seconds=0.05'] });
  const single = await startServer({ flags: ['--http-requests-max=1', '--http-queue-seconds=0.05'] });
  try {
    const only = await openUpload(single.url, 'a');
    const refused = await exchange(requestText('GET /v1/tables', KEY), single.url);
    assertRefused(refused, 503, /busy with 1 requests/);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.equal((await only.finish()).status, 200);
    const first = await openUpload(small.url, 'a');
    const second = await exchange(requestText('POST /v1/table/b/create', { ...KEY, ...ARROW_TYPE }, ''), small.url);
    assertRefused(second, 503, /busy with 1 uploads/);
    assert.equal(second.headers.get('retry-after'), '1');
    assert.equal(second.json['code'], 17);
    assert.equal((await exchange(requestText('GET /v1/tables', KEY), small.url)).status, 200);
    assert.equal((await first.finish()).status, 200);
    assert.equal((await exchange(requestText('GET /v1/tables', KEY), small.url)).status, 200);
  } finally {
    await single.close();
    await small.close();
  }
});

test('throttles a caller that exceeds its rate', async () => {
  const slow = await startServer({ flags: ['--http-rate-requests-per-second=3'] });
  try {
    const replies: RawReply[] = [];
    for (let count = 0; count < 10; count += 1)
      replies.push(await exchange(requestText('GET /v1/tables', KEY), slow.url));
    const refused = replies.filter(({ status }) => status === 503);
    assert.ok(replies.filter(({ status }) => status === 200).length >= 3 && refused.length > 0);
    for (const reply of refused) {
      assertRefused(reply, 503, /more than 3 requests per second/);
      assert.equal(reply.json['code'], 21);
      assert.equal(reply.json['title'], 'Slow down');
      assert.equal(reply.headers.get('retry-after'), '1');
    }
    assert.equal((await exchange(requestText('GET /readyz'), slow.url)).status, 200);
  } finally {
    await slow.close();
  }
});

test('closes connections beyond the limit, and accepts new ones when others have closed', async () => {
  const small = await startServer({ flags: ['--http-connections-max=2'] });
  try {
    const held = [await RawConnection.open(small.url), await RawConnection.open(small.url)];
    for (const connection of held) {
      connection.write(requestText('GET /healthz'));
      assert.equal((await connection.reply()).status, 200);
    }
    const refused = await RawConnection.open(small.url);
    assert.equal(await refused.closed(), '');
    held[0]?.close();
    await eventually(async () => {
      const connection = await RawConnection.open(small.url);
      connection.write(requestText('GET /healthz', { connection: 'close' }));
      return (await connection.closed()).startsWith('HTTP/1.1 200');
    });
    held[1]?.write(requestText('GET /healthz'));
    assert.equal((await held[1]?.reply())?.status, 200);
    held[1]?.close();
  } finally {
    await small.close();
  }
});

test('cuts slow headers and slow bodies, and no connection that is only quiet', async () => {
  const strict = await startServer({ flags: ['--http-headers-seconds=1', '--http-body-idle-seconds=1'] });
  try {
    const quiet = await RawConnection.open(strict.url);
    quiet.write(requestText('GET /healthz'));
    await quiet.reply();

    const headers = await RawConnection.open(strict.url);
    headers.write('GET /v1/tables HTTP/1.1\r\nhost: h\r\n');
    const silent = await RawConnection.open(strict.url);

    const json = await RawConnection.open(strict.url);
    json.write(requestText('POST /v1/table/t/describe', { ...KEY, ...JSON_TYPE, 'content-length': '10' }));
    json.write('{"a"');

    const upload = await openUpload(strict.url, 'slow');

    assertRefused(await headers.reply(), 408, /did not arrive in time/);
    await headers.closed();
    await silent.closed();
    assertRefused(await json.reply(), 408, /No data of the body arrived for 1 s/);
    const slow = await upload.connection.reply();
    assertRefused(slow, 408, /No data of the body/);
    assert.equal(slow.headers.get('retry-after'), '1');
    assert.deepEqual((await new Client(strict.url).get('/v1/tables')).json.tables, []);

    quiet.write(requestText('GET /healthz'));
    assert.equal((await quiet.reply()).status, 200);
    for (const connection of [quiet, json, upload.connection]) connection.close();
  } finally {
    await strict.close();
  }
});

test('holds no slot for a client that sends its JSON slowly, and disconnects one below the minimum rate', async () => {
  const strict = await startServer({
    flags: ['--http-requests-max=1', '--http-body-idle-seconds=1', '--http-body-bytes-per-second-min=50'],
  });
  try {
    const slow = await RawConnection.open(strict.url);
    slow.write(requestText('POST /v1/table/t/describe', { ...KEY, ...JSON_TYPE, 'content-length': '1000' }));
    const trickle = setInterval(() => slow.write(' '), 100);
    for (let count = 0; count < 3; count += 1) {
      await sleep(100);
      assert.equal((await exchange(requestText('GET /v1/tables', KEY), strict.url)).status, 200);
    }
    assertRefused(await slow.reply(), 408, /more slowly than 50 bytes per second/);
    clearInterval(trickle);
    slow.close();
  } finally {
    await strict.close();
  }
});

test('takes a body that is slow but never pauses for long', async () => {
  const strict = await startServer({ flags: ['--http-body-idle-seconds=3'] });
  try {
    const connection = await RawConnection.open(strict.url);
    const stream = sampleStream(20);
    connection.write(
      requestText('POST /v1/table/steady/create', { ...KEY, ...ARROW_TYPE, 'content-length': String(stream.length) }),
    );
    const piece = Math.ceil(stream.length / 6);
    for (let at = 0; at < stream.length; at += piece) {
      connection.write(stream.subarray(at, at + piece));
      await sleep(700);
    }
    assert.equal((await connection.reply()).status, 200);
    connection.close();
  } finally {
    await strict.close();
  }
});

test('lives below its base path, and answers probes beside it', async () => {
  const based = await startServer({ flags: ['--base-path=/lance/eu'] });
  try {
    for (const path of ['/lance/eu/v1/tables', '/lance/eu//v1/tables/', '//lance/eu/v1/tables']) {
      assert.equal((await exchange(requestText(`GET ${path}`, KEY), based.url)).status, 200, path);
    }
    for (const path of ['/healthz', '/lance/eu/readyz', '/lance/eu/docs', '/lance/eu/openapi.json']) {
      assert.equal((await exchange(requestText(`GET ${path}`), based.url)).status, 200, path);
    }
    assertRefused(await exchange(requestText('GET /v1/tables', KEY), based.url), 404, /listed at \/lance\/eu\/docs/);
    assertRefused(await exchange(requestText('POST /lance/eu/v1/tables', KEY, ''), based.url), 405, /Use GET/);
  } finally {
    await based.close();
  }
});

test('finishes what is running when it drains, says that it is not ready, and then closes everything', async () => {
  const draining = await startServer();
  const idle = await RawConnection.open(draining.url);
  idle.write(requestText('GET /healthz'));
  await idle.reply();
  const upload = await openUpload(draining.url, 'last');
  const drained = draining.app.drain();
  const ready = await exchange(requestText('GET /readyz'), draining.url);
  assert.equal(ready.status, 503);
  assert.equal(ready.text, '{"status":"not ready","reason":"shutting down"}');
  assert.equal(ready.headers.get('retry-after'), '1');
  assert.equal(ready.headers.get('connection'), 'close');
  const reply = await upload.finish();
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.get('connection'), 'close');
  await drained;
  await idle.closed();
  await upload.connection.closed();
  const again = await startServer({ folder: draining.folder });
  try {
    assert.deepEqual((await new Client(again.url).get('/v1/tables')).json.tables, ['last']);
  } finally {
    await again.close();
    await draining.close();
  }
});

test('gets the reply of the last request out whole before it closes', async () => {
  for (let count = 0; count < 5; count += 1) {
    const draining = await startServer();
    const upload = await openUpload(draining.url, 'last');
    const drained = draining.app.drain();
    const reply = await upload.finish();
    assert.equal(reply.status, 200);
    assert.equal(typeof reply.json['version'], 'number');
    await drained;
    await draining.close();
  }
});

interface OpenUpload {
  readonly connection: RawConnection;
  /** Sends what is left, and gives the reply. */
  readonly finish: () => Promise<RawReply>;
}

/** A create whose last bytes have not been sent, but which the service is already reading. */
async function openUpload(url: string, name: string): Promise<OpenUpload> {
  const stream = sampleStream();
  const connection = await RawConnection.open(url);
  const length = { 'content-length': String(stream.length), expect: '100-continue' };
  connection.write(requestText(`POST /v1/table/${name}/create`, { ...KEY, ...ARROW_TYPE, ...length }));
  assert.equal((await connection.reply()).status, 100);
  connection.write(stream.subarray(0, -8));
  return {
    connection,
    async finish() {
      connection.write(stream.subarray(-8));
      return connection.reply();
    },
  };
}
