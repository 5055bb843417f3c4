import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { generateApiKey } from '../../../src/auth/keys/secrets.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { startIdentityProvider } from '../../support/identity-provider.ts';
import type { IdentityProvider } from '../../support/identity-provider.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { sendBytes, sendRaw } from '../raw-request.ts';
import { CODE, assertRefused, badRequest, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

const UPDATE = { updates: [['price', '1']] };
const METADATA = { updates: [{ path: 'price', metadata: {} }] };

/** All six endpoints, about one table and database. */
function endpoints(client: Client, id: string): Readonly<Record<string, () => Promise<Answer>>> {
  return {
    create: async () => client.arrow(`/v1/table/${id}/create?mode=exist_ok`, sampleStream(1)),
    analyze_plan: async () => client.post(`/v1/table/${id}/analyze_plan`, {}),
    update: async () => client.post(`/v1/table/${id}/update`, UPDATE),
    update_field_metadata: async () => client.post(`/v1/table/${id}/update_field_metadata`, METADATA),
    list: async () => client.get('/v1/tables'),
    create_named: async () => client.arrow(`/v1/tables/${id}?mode=exist_ok`, sampleStream(1)),
  };
}

suite('a request with an API key', () => {
  let server: ContractServer;
  let table: MadeTable;
  before(async () => {
    server = await ContractServer.start();
    table = await server.table();
  });
  after(async () => server.close());

  test('in x-api-key is let in at every endpoint', async () => {
    for (const [name, send] of Object.entries(endpoints(server.admin, table.id))) {
      const answer = await send();
      assert.equal(answer.status, 200, `${name}: ${answer.text}`);
    }
  });

  test('that is missing is a 401 at every endpoint, also for what is not there', async () => {
    const strangers = [server.stranger(), server.client({ key: '' })];
    for (const stranger of strangers) {
      for (const id of [table.id, 'absent', 'no$such']) {
        for (const send of Object.values(endpoints(stranger, id))) assertRefused(await send(), unauthenticated);
      }
    }
  });

  test('that is missing is a 401, whatever else is wrong with the request', async () => {
    const paths = ['analyze_plan', 'update', 'update_field_metadata'].map((operation) => `${table.at}/${operation}`);
    for (const path of paths) {
      for (const body of ['{', '[]', '{"a":1,"a":1}', '{"identity":7}', '{"identity":{"apikey":"x"}}', '{"k":-1}']) {
        assertRefused(await server.stranger().post(path, body), unauthenticated);
      }
      const plain = { headers: { 'content-type': 'text/plain' }, body: '{}' };
      assertRefused(await server.stranger().send('POST', path, plain), unauthenticated);
    }
    for (const query of ['?mode=nonsense', '?propertys={}', '?delimiter=']) {
      assertRefused(await server.stranger().arrow(`${table.at}/create${query}`, new Uint8Array()), unauthenticated);
    }
  });

  test('that is missing is a 401 for a missing database, as for an existing one', async () => {
    const [there, absent] = ['default', 'absent'].map((name) => ({ 'x-service-database': name }));
    const answers = [
      await server.stranger().get('/v1/tables', there),
      await server.stranger().get('/v1/tables', absent),
    ];
    for (const answer of answers) assertRefused(answer, unauthenticated);
    assert.equal(answers[0]?.text, answers[1]?.text);
  });

  test('that is not known, changed, revoked or expired is a 401 at every endpoint', async () => {
    const revoked = generateApiKey();
    const record = await server.catalog.keys.create({
      name: 'revoked',
      digest: revoked.digest,
      grants: [{ role: 'admin', database: undefined, path: [] }],
    });
    assert.equal((await server.client({ key: revoked.key }).get('/v1/tables')).status, 200);
    assert.ok(await server.catalog.keys.revoke(record.id));
    const expired = await server.key([{ role: 'admin', database: undefined, path: [] }], Date.now() - 1);
    for (const key of [
      generateApiKey().key,
      `${ADMIN_KEY}x`,
      ADMIN_KEY.slice(1),
      ADMIN_KEY.toUpperCase(),
      revoked.key,
      expired,
    ]) {
      for (const send of Object.values(endpoints(server.client({ key }), table.id)))
        assertRefused(await send(), unauthenticated);
    }
  });

  test('that has not expired yet is let in', async () => {
    const key = await server.key([{ role: 'reader', database: 'default', path: [] }], Date.now() + 600_000);
    assert.equal((await server.client({ key }).get('/v1/tables')).status, 200);
  });

  test('and the same key as bearer credential beside it is let in', async () => {
    const both = server.client({ headers: { authorization: `Bearer ${ADMIN_KEY}` }, key: ADMIN_KEY });
    assert.equal((await both.get('/v1/tables')).status, 200);
  });

  test('and the key of another caller beside it is a 401', async () => {
    const other = await server.key([{ role: 'reader', database: 'default', path: [] }]);
    const both = server.client({ headers: { authorization: `Bearer ${other}` }, key: ADMIN_KEY });
    assertRefused(await both.get('/v1/tables'), { ...unauthenticated, detail: /different callers/ });
  });

  test('given twice is a 400: it is ambiguous which of the two counts', async () => {
    const head = `GET /v1/tables HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ${ADMIN_KEY}\r\nx-api-key: ${ADMIN_KEY}\r\n\r\n`;
    assertRefused(await sendBytes(server.url, head), badRequest(/x-api-key/));
  });

  test('in the query is not looked at', async () => {
    assertRefused(await server.stranger().get(`/v1/tables?x-api-key=${ADMIN_KEY}`), unauthenticated);
  });

  test('never comes back in a reply', async () => {
    for (const send of Object.values(endpoints(server.admin, table.id)))
      assert.ok(!(await send()).text.includes(ADMIN_KEY));
    const bad = await server.client({ key: 'a-wrong-key-of-some-length' }).get('/v1/tables');
    assert.ok(!bad.text.includes('a-wrong-key'));
  });
});

suite('a request with an access token', () => {
  let provider: IdentityProvider;
  let server: ContractServer;
  let table: MadeTable;
  before(async () => {
    provider = await startIdentityProvider();
    const grants = [
      { claim: 'scope', value: 'tables.read', role: 'reader', database: 'default' },
      { claim: 'scope', value: 'tables.write', role: 'writer', database: 'default' },
      { claim: 'groups', value: 'north', role: 'owner', database: 'default', path: 'north' },
    ];
    const issuers = JSON.stringify([{ issuer: provider.issuer, audience: provider.audience, grants }]);
    server = await ContractServer.start({ env: { TILTYARD_AUTH_ISSUERS: issuers } });
    await server.namespace(['north']);
    table = await server.table();
  });
  after(async () => {
    await server.close();
    await provider.close();
  });

  const withToken = (token: string): Client =>
    server.client({ key: undefined, headers: { authorization: `Bearer ${token}` } });

  test('from the configured authorization server is let in at every endpoint', async () => {
    const client = withToken(await provider.token({ scope: 'tables.write' }));
    for (const [name, send] of Object.entries(endpoints(client, table.id))) {
      const answer = await send();
      assert.equal(answer.status, 200, `${name}: ${answer.text}`);
    }
  });

  test('has the grants that its claims map to by configuration', async () => {
    const reader = withToken(await provider.token({ scope: 'tables.read' }));
    assert.equal((await reader.post(`${table.at}/analyze_plan`, {})).status, 200);
    assertRefused(await reader.post(`${table.at}/update`, UPDATE), forbidden);
    const northerner = withToken(await provider.token({ claims: { groups: ['east', 'north'] } }));
    assert.equal((await northerner.arrow('/v1/table/north$t/create', sampleStream(1))).status, 200);
    assertRefused(await northerner.post(`${table.at}/analyze_plan`, {}), tableNotFound);
    assert.deepEqual((await northerner.get('/v1/tables')).json.tables, ['north$t']);
  });

  test('may name its scheme in any case', async () => {
    const token = await provider.token({ scope: 'tables.read' });
    for (const scheme of ['bearer', 'BEARER', 'Bearer ']) {
      const client = server.client({ key: undefined, headers: { authorization: `${scheme} ${token}` } });
      assert.equal((await client.get('/v1/tables')).status, 200);
    }
  });

  test('may bring it in the identity of the body', async () => {
    const auth_token = await provider.token({ scope: 'tables.read' });
    const answer = await server.stranger().post(`${table.at}/analyze_plan`, { identity: { auth_token } });
    assert.equal(answer.status, 200, answer.text);
  });

  test('that has expired, is for another audience, from another issuer, or not valid yet is a 401', async () => {
    const past = Math.floor(Date.now() / 1000) - 3600;
    for (const claims of [
      { exp: past },
      { aud: 'https://other.example.test' },
      { iss: 'https://other.example.test' },
      { nbf: past + 7200 },
    ]) {
      const client = withToken(await provider.token({ scope: 'tables.write', claims }));
      for (const send of Object.values(endpoints(client, table.id))) assertRefused(await send(), unauthenticated);
    }
  });

  test('that is changed, unsigned or no token at all is a 401', async () => {
    const token = await provider.token({ scope: 'tables.write' });
    const [head = '', body = '', signature = ''] = token.split('.');
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`;
    const raised = Buffer.from(
      JSON.stringify({ ...JSON.parse(Buffer.from(body, 'base64url').toString()), scope: 'all' }),
    ).toString('base64url');
    for (const bad of [
      unsigned,
      `${head}.${raised}.${signature}`,
      `${head}.${body}.`,
      `${head}.${body}`,
      'x',
      'a.b.c',
    ]) {
      assertRefused(await withToken(bad).get('/v1/tables'), unauthenticated);
    }
  });

  test('in another scheme, or without a token, is a 401', async () => {
    const token = await provider.token({ scope: 'tables.read' });
    for (const authorization of [
      `Basic ${Buffer.from('a:b').toString('base64')}`,
      'Bearer',
      'Bearer  ',
      token,
      `Token ${token}`,
      `Bearer ${token} x`,
    ]) {
      const answer = await sendRaw(server.url, {
        method: 'GET',
        path: '/v1/tables',
        headers: { 'x-api-key': '', authorization },
      });
      assertRefused(answer, unauthenticated);
    }
  });

  test('tells the caller by WWW-Authenticate how to get in', async () => {
    const answer = await withToken('x').get('/v1/tables');
    assert.match(answer.headers.get('www-authenticate') ?? '', /Bearer/);
  });

  test('does not change what API keys may do', async () => {
    assert.equal((await server.admin.get('/v1/tables')).status, 200);
  });
});

suite('the database of a request', () => {
  let server: ContractServer;
  before(async () => {
    server = await ContractServer.start({ flags: ['--host-suffix=tables.example.test'] });
    await server.database('sales');
    await server.table({ id: 'in-default' });
    await server.table({ id: 'in-sales', headers: { 'x-service-database': 'sales' } });
  });
  after(async () => server.close());

  const listed = async (headers: Record<string, string>): Promise<Answer> =>
    sendRaw(server.url, { method: 'GET', path: '/v1/tables', headers });

  test('is the default one when nothing names another', async () => {
    assert.deepEqual((await listed({})).json.tables, ['in-default']);
    assert.deepEqual((await listed({ 'x-service-database': 'default' })).json.tables, ['in-default']);
  });

  test('is the one that x-service-database names, or its alias', async () => {
    assert.deepEqual((await listed({ 'x-service-database': 'sales' })).json.tables, ['in-sales']);
    assert.deepEqual((await listed({ 'x-lancedb-database': 'sales' })).json.tables, ['in-sales']);
    assert.deepEqual((await listed({ 'x-service-database': 'sales', 'x-lancedb-database': 'sales' })).json.tables, [
      'in-sales',
    ]);
  });

  test('is the one that the host name has in front of the configured suffix', async () => {
    for (const host of ['sales.tables.example.test', 'SALES.Tables.Example.Test', 'sales.tables.example.test:8080']) {
      assert.deepEqual((await listed({ host })).json.tables, ['in-sales'], host);
    }
    assert.deepEqual((await listed({ host: 'tables.example.test' })).json.tables, ['in-default']);
    assert.deepEqual((await listed({ host: 'elsewhere.example' })).json.tables, ['in-default']);
  });

  test('may be named by host and header alike', async () => {
    assert.deepEqual((await listed({ host: 'sales.tables.example.test', 'x-service-database': 'sales' })).json.tables, [
      'in-sales',
    ]);
  });

  test('that two of them name differently is a 400', async () => {
    assertRefused(
      await listed({ host: 'sales.tables.example.test', 'x-service-database': 'default' }),
      badRequest(/database/),
    );
    assertRefused(
      await listed({ 'x-service-database': 'sales', 'x-lancedb-database': 'default' }),
      badRequest(/database/),
    );
  });

  test('that is not there is a 404', async () => {
    for (const headers of [
      { 'x-service-database': 'nowhere' },
      { host: 'nowhere.tables.example.test' },
      { 'x-service-database': '../default' },
    ]) {
      assertRefused(await listed(headers), { status: 404, code: CODE.namespaceNotFound });
    }
  });

  test('that the caller may not see is the same 404', async () => {
    const outsider = await server.caller('admin', [], 'default');
    const hidden = await outsider.get('/v1/tables', { 'x-service-database': 'sales' });
    const absent = await outsider.get('/v1/tables', { 'x-service-database': 'nowhere' });
    assertRefused(hidden, { status: 404, code: CODE.namespaceNotFound });
    assert.equal(hidden.text.replaceAll('sales', 'nowhere'), absent.text);
  });

  test('keeps its tables apart from those of the same name in others', async () => {
    const sales = { 'x-service-database': 'sales' };
    await server.table({ id: 'same', stream: sampleStream(1) });
    const other = await server.table({ id: 'same', stream: sampleStream(2), headers: sales });
    const answer = await server.admin.post('/v1/table/same/update', UPDATE, sales);
    assert.equal(answer.json.updated_rows, 2);
    assert.ok(other.location.startsWith(`${server.folder}/sales/`));
  });
});

test('a deployment that needs no credential takes none for the administrator, and still refuses a bad one', async (t) => {
  const server = await ContractServer.start({ flags: ['--auth-required=false'] });
  t.after(async () => server.close());
  const { id } = await server.table();
  for (const send of Object.values(endpoints(server.stranger(), id))) assert.equal((await send()).status, 200);
  assertRefused(await server.client({ key: 'bad' }).get('/v1/tables'), unauthenticated);
});

suite('a deployment that needs no credential', () => {
  const EVIL = 'evil.example:2333';

  async function startOpen(t: TestContext, ...flags: readonly string[]): Promise<ContractServer> {
    const server = await ContractServer.start({ flags: ['--auth-required=false', ...flags] });
    t.after(async () => server.close());
    return server;
  }

  /** As a browser sends it for a page. */
  async function sendAsPage(server: ContractServer, path: string, headers: Record<string, string>): Promise<Answer> {
    return sendRaw(server.url, { path, headers: { 'x-api-key': '', ...headers }, body: '{}' });
  }

  test('does not let web pages of other hosts change tables or read its metrics', async (t) => {
    const server = await startOpen(t);
    const { at } = await server.table();
    for (const origin of ['https://evil.example', `http://localhost.${EVIL}`, 'null']) {
      assertRefused(await sendAsPage(server, `${at}/drop`, { origin }), forbidden);
    }
    const rebound = { host: EVIL, origin: `http://${EVIL}` };
    assertRefused(await sendAsPage(server, `${at}/drop`, rebound), forbidden);
    assertRefused(await sendAsPage(server, `${at}/describe`, { host: EVIL }), forbidden);
    for (const path of ['/metrics', '/metrics/history']) {
      assertRefused(
        await sendRaw(server.url, { method: 'GET', path, headers: { 'x-api-key': '', ...rebound } }),
        forbidden,
      );
    }
    for (const send of [
      async () => server.stranger().post(`${at}/describe`, {}),
      async () => server.stranger().get('/metrics'),
    ]) {
      const { status, text } = await send();
      assert.equal(status, 200, text);
    }
  });

  test('accepts requests from its own pages, from pages of allowed hosts, and with a credential', async (t) => {
    const server = await startOpen(t, '--mcp-allowed-hosts=tables.example');
    const { at } = await server.table();
    const { host } = new URL(server.url);
    for (const headers of [
      { origin: server.url },
      { origin: 'http://localhost:8080' },
      { origin: 'https://tables.example', host: 'tables.example' },
      { origin: 'https://evil.example', host: EVIL, 'x-api-key': ADMIN_KEY },
    ]) {
      const { status, text } = await sendAsPage(server, `${at}/describe`, { host, ...headers });
      assert.equal(status, 200, text);
    }
  });

  test('accepts requests from its own pages under any host name on an open network', async (t) => {
    const server = await startOpen(t, '--host=0.0.0.0', '--auth-allow-open-network');
    const { at } = await server.table();
    const host = 'tables.lan:2333';
    const own = await sendAsPage(server, `${at}/describe`, { host, origin: `http://${host}` });
    assert.equal(own.status, 200, own.text);
    assertRefused(await sendAsPage(server, `${at}/drop`, { host, origin: `http://${EVIL}` }), forbidden);
  });
});
