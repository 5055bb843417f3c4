import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { sendRaw } from '../raw-request.ts';
import { assertRefused, badRequest, unauthenticated } from '../refusal.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
/** Set by the HTTP layer below the service, or about the connection alone. */
const NOT_OURS = new Set(['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding']);

/** A good body of each operation that has one, with more in it. */
function bodies(more: object): Record<string, object> {
  return {
    analyze_plan: more,
    update: { ...more, updates: [['price', 'price']] },
    update_field_metadata: { ...more, updates: [{ path: 'price', metadata: {} }] },
  };
}

suite('the context of a request', () => {
  let server: ContractServer;
  let table: MadeTable;
  before(async () => {
    server = await ContractServer.start();
    table = await server.table();
  });
  after(async () => server.close());

  /** Without any header that the test does not give: `fetch` always sends an Accept of its own. */
  const analyze = async (context: object, headers: Record<string, string> = {}): Promise<Answer> =>
    sendRaw(server.url, {
      path: `${table.at}/analyze_plan`,
      headers: { ...JSON_TYPE, ...headers },
      body: JSON.stringify({ context }),
    });

  test('is a map from strings to any values, on every operation with a JSON body', async () => {
    const context = { tenant: 'x', trace: 7, flags: [true, null], nested: { a: { b: 1 } } };
    for (const [operation, body] of Object.entries(bodies({ context }))) {
      const answer = await server.admin.post(`${table.at}/${operation}`, body);
      assert.equal(answer.status, 200, answer.text);
    }
  });

  test('is refused when it is no map', async () => {
    for (const context of ['x', 1, true, ['header.accept']]) {
      assertRefused(await server.admin.post(`${table.at}/analyze_plan`, { context }), badRequest(/context/));
    }
  });

  test('stands in for a header that was not sent', async () => {
    assert.match((await analyze({})).headers.get('content-type') ?? '', /^application\/json/);
    const plain = await analyze({ 'header.accept': 'text/plain' });
    assert.match(plain.headers.get('content-type') ?? '', /^text\/plain/);
    assert.match((await analyze({ 'header.Accept': 'text/plain' })).headers.get('content-type') ?? '', /^text\/plain/);
  });

  test('gives the request its id when the headers give none', async () => {
    assert.equal(
      (await analyze({ 'header.x-request-id': 'from-context' })).headers.get('x-request-id'),
      'from-context',
    );
    const both = await analyze({ 'header.x-request-id': 'from-context' }, { 'x-request-id': 'from-header' });
    assert.equal(both.headers.get('x-request-id'), 'from-header');
    const unsafe = await analyze({ 'header.x-request-id': 'a\nb' });
    assert.notEqual(unsafe.headers.get('x-request-id'), 'a\nb');
  });

  test('gives the id to a refusal of that request too', async () => {
    const body = { context: { 'header.x-request-id': 'refused-1' }, k: -1 };
    const answer = await server.admin.post(`${table.at}/analyze_plan`, body);
    assertRefused(answer, badRequest());
    assert.equal(answer.headers.get('x-request-id'), 'refused-1');
  });

  test('does not override a header that was sent', async () => {
    const answer = await analyze({ 'header.accept': 'text/plain' }, { accept: 'application/json' });
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  });

  test('means nothing in an entry without the prefix, or whose value is no text', async () => {
    for (const context of [
      { accept: 'text/plain' },
      { 'header.accept': ['text/plain'] },
      { 'headers.accept': 'text/plain' },
    ]) {
      assert.match((await analyze(context)).headers.get('content-type') ?? '', /^application\/json/);
    }
  });

  test('never carries a credential', async () => {
    for (const name of ['x-api-key', 'X-Api-Key', 'authorization']) {
      const value = name === 'authorization' ? `Bearer ${ADMIN_KEY}` : ADMIN_KEY;
      const body = { context: { [`header.${name}`]: value } };
      assertRefused(await server.stranger().post(`${table.at}/analyze_plan`, body), unauthenticated);
    }
  });

  test('never replaces the credential of the headers', async () => {
    assert.equal((await analyze({ 'header.x-api-key': 'nobody', 'header.authorization': 'Bearer x' })).status, 200);
  });

  test('never chooses the database', async () => {
    for (const name of ['x-service-database', 'x-lancedb-database', 'host']) {
      assert.equal((await analyze({ [`header.${name}`]: 'elsewhere' })).status, 200);
    }
  });

  test('never speaks about the connection or the form of the body', async () => {
    const context = {
      'header.transfer-encoding': 'chunked',
      'header.content-encoding': 'gzip',
      'header.content-type': 'text/csv',
      'header.content-length': '1',
      'header.connection': 'close',
      'header.expect': '100-continue',
    };
    assert.equal((await analyze(context)).status, 200);
  });
});

function assertMirrors({ headers, json, text }: Answer): void {
  const ours = [...headers].filter(([name]) => !NOT_OURS.has(name));
  assert.ok(ours.length >= 2, text);
  assert.deepEqual(json.context, Object.fromEntries(ours.map(([name, value]) => [`header.${name}`, value])));
}

suite('the context of a reply', () => {
  let server: ContractServer;
  let table: MadeTable;
  before(async () => {
    server = await ContractServer.start();
    table = await server.table();
  });
  after(async () => server.close());

  test('of a create holds every header of the reply as header.<name>', async () => {
    assertMirrors(await server.admin.arrow(`/v1/table/${server.name()}/create`, sampleStream(1)));
    assertMirrors(await server.admin.arrow(`/v1/tables/${server.name()}`, sampleStream(1)));
  });

  test('of an update holds every header of the reply as header.<name>', async () => {
    assertMirrors(await server.admin.post(`${table.at}/update`, { updates: [['price', '1']] }));
  });

  test('of a field metadata update holds every header of the reply as header.<name>', async () => {
    const body = { updates: [{ path: 'price', metadata: { unit: 'EUR' } }] };
    assertMirrors(await server.admin.post(`${table.at}/update_field_metadata`, body));
  });

  test('of a listing holds every header of the reply as header.<name>', async () => {
    assertMirrors(await server.admin.get('/v1/tables', { 'x-request-id': 'mirrored' }));
  });

  test('of an analysis as a tree holds every header of the reply as header.<name>', async () => {
    const accept = { accept: 'application/vnd.tiltyard.plan+json' };
    assertMirrors(await server.admin.post(`${table.at}/analyze_plan`, {}, accept));
  });

  test('never repeats what the caller put into the context of the request', async () => {
    const body = { updates: [['price', '1']], context: { secret: 'do-not-return', 'header.x-note': 'do-not-return' } };
    assert.ok(!(await server.admin.post(`${table.at}/update`, body)).text.includes('do-not-return'));
  });
});

suite('the identity in a body', () => {
  let server: ContractServer;
  let table: MadeTable;
  before(async () => {
    server = await ContractServer.start();
    table = await server.table();
  });
  after(async () => server.close());

  test('lets a caller in by api_key when the headers carry no credential', async () => {
    for (const [operation, body] of Object.entries(bodies({ identity: { api_key: ADMIN_KEY } }))) {
      const answer = await server.stranger().post(`${table.at}/${operation}`, body);
      assert.equal(answer.status, 200, answer.text);
    }
  });

  test('lets a caller in by auth_token when the headers carry no credential', async () => {
    const token = await server.key([{ role: 'writer', database: 'default', path: [] }]);
    for (const [operation, body] of Object.entries(bodies({ identity: { auth_token: token } }))) {
      const answer = await server.stranger().post(`${table.at}/${operation}`, body);
      assert.equal(answer.status, 200, answer.text);
    }
  });

  test('that is not valid is a 401', async () => {
    for (const identity of [{ api_key: 'nobody' }, { auth_token: 'nobody' }, { api_key: '' }, {}, null]) {
      for (const [operation, body] of Object.entries(bodies({ identity }))) {
        assertRefused(await server.stranger().post(`${table.at}/${operation}`, body), unauthenticated);
      }
    }
  });

  test('counts for nothing beside a credential in the headers, good or bad', async () => {
    const asBad = server.client({ key: 'not-a-key' });
    assertRefused(await asBad.post(`${table.at}/analyze_plan`, { identity: { api_key: ADMIN_KEY } }), unauthenticated);
    const good = await server.admin.post(`${table.at}/analyze_plan`, { identity: { api_key: 'nobody' } });
    assert.equal(good.status, 200, good.text);
    const reader = await server.caller('reader');
    const raised = await reader.post(`${table.at}/update`, {
      updates: [['price', '1']],
      identity: { api_key: ADMIN_KEY },
    });
    assert.equal(raised.status, 403, raised.text);
  });

  test('may have two credentials of one caller, as the headers may', async () => {
    const identity = { api_key: ADMIN_KEY, auth_token: ADMIN_KEY };
    const byBody = await server.stranger().post(`${table.at}/analyze_plan`, { identity });
    assert.equal(byBody.status, 200, byBody.text);
    const byHeaders = await server.admin.post(`${table.at}/analyze_plan`, {}, { authorization: `Bearer ${ADMIN_KEY}` });
    assert.equal(byHeaders.status, 200, byHeaders.text);
  });

  test('with credentials of two callers is a 401 that says so, as it is in the headers', async () => {
    const other = await server.key([{ role: 'reader', database: 'default', path: [] }]);
    const identity = { api_key: ADMIN_KEY, auth_token: other };
    const refused = { ...unauthenticated, detail: /belong to different callers/ };
    assertRefused(await server.stranger().post(`${table.at}/analyze_plan`, { identity }), refused);
    const headers = { authorization: `Bearer ${other}` };
    assertRefused(await server.admin.post(`${table.at}/analyze_plan`, {}, headers), refused);
  });

  test('has the fields api_key and auth_token, both texts, and no other', async () => {
    for (const identity of [{ api_key: 1 }, { auth_token: {} }, { apikey: 'x' }, 'x', ['x']]) {
      assertRefused(await server.admin.post(`${table.at}/analyze_plan`, { identity }), badRequest(/identity/));
    }
  });

  test('is in no reply and in no log line, whether it is good or bad', async (t) => {
    const lines: string[] = [];
    const seen = t.mock.method(process.stderr, 'write', (chunk: string | Uint8Array) => {
      lines.push(String(chunk));
      return true;
    });
    const logging = await ContractServer.start({ flags: ['--log-level=debug', '--log-format=json'] });
    try {
      const made = await logging.table();
      for (const secret of [ADMIN_KEY, 'a-bad-key-that-must-stay-secret']) {
        for (const identity of [{ api_key: secret }, { auth_token: secret }]) {
          const answer = await logging.stranger().post(`${made.at}/analyze_plan`, { identity });
          assert.ok(!answer.text.includes(secret));
        }
      }
    } finally {
      await logging.close();
      seen.mock.restore();
    }
    assert.ok(lines.length > 0, 'nothing was logged');
    for (const line of lines)
      assert.ok(!line.includes(ADMIN_KEY) && !line.includes('a-bad-key'), 'a secret was logged');
  });
});
