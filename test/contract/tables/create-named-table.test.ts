import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { fixtureStream } from '../../support/arrow-fixtures.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import { sendRaw } from '../raw-request.ts';
import { CODE, assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

suite('POST /v1/tables/{name}', () => {
  let server: ContractServer;
  before(async () => {
    server = await ContractServer.start();
    await server.namespace(['sales']);
  });
  after(async () => server.close());

  const create = async (
    name: string,
    query = '',
    client: Client = server.admin,
    body = sampleStream(3),
  ): Promise<Answer> => client.arrow(`/v1/tables/${encodeURIComponent(name)}${query}`, body);

  test('creates a table in the root namespace, and answers as the other create does', async () => {
    const name = server.name();
    const { status, json } = await create(name);
    assert.equal(status, 200);
    const other = await server.admin.arrow(`/v1/table/${server.name()}/create`, sampleStream(3));
    assert.deepEqual(Object.keys(json), Object.keys(other.json));
    assert.equal(json.version, other.json.version);
    assert.equal((await server.rows(json)).length, 3);
    assert.ok((await server.listed()).includes(name));
    assert.equal((await server.admin.post(`/v1/table/${name}/analyze_plan`, {})).status, 200);
  });

  test('makes an empty table of a stream without batches', async () => {
    const { json } = await create(server.name(), '', server.admin, fixtureStream('zerobatch'));
    assert.deepEqual(await server.rows(json), []);
  });

  test('takes mode, properties and storage options as the other create does', async () => {
    const name = server.name();
    const properties = `properties=${encodeURIComponent('{"a":"b"}')}`;
    const options = `storage_options=${encodeURIComponent('{"timeout":"30s"}')}`;
    const created = await create(name, `?${properties}&${options}`);
    assert.deepEqual([created.json.properties, created.json.storage_options], [{ a: 'b' }, { timeout: '30s' }]);
    assert.equal((await create(name, '?mode=ExistOk')).json.version, 1);
    assert.equal((await create(name, '?mode=overwrite')).json.version, 2);
  });

  test('shares its tables with the other create', async () => {
    const name = server.name();
    assert.equal((await create(name)).status, 200);
    const again = await server.admin.arrow(`/v1/table/${name}/create`, sampleStream(1));
    assertRefused(again, { status: 409, code: CODE.tableExists });
  });

  test('never reaches into a namespace: a name that holds the delimiter is a 400', async () => {
    assertRefused(await create('sales$orders'), badRequest(/delimiter/));
    assertRefused(await create('$'), badRequest(/delimiter/));
    assertRefused(await create('sales.orders', '?delimiter=.'), badRequest(/delimiter/));
  });

  test('refuses what is no name with 400', async () => {
    for (const name of ['a/b', 'a\u0000b', 'n'.repeat(256)]) assertRefused(await create(name), badRequest());
  });

  test('refuses a table that exists with 409', async () => {
    const name = server.name();
    await create(name);
    const detail = { detail: /already exists/, instance: `/v1/tables/${name}` };
    assertRefused(await create(name), { status: 409, code: CODE.tableExists, ...detail });
  });

  test('refuses a bad stream with 400, and makes nothing', async () => {
    const name = server.name();
    assertRefused(await create(name, '', server.admin, Buffer.from('no Arrow')), badRequest());
    assertRefused(await create(name, '', server.admin, sampleStream().subarray(0, 300)), badRequest());
    assert.ok(!(await server.listed()).includes(name));
  });

  test('refuses another media type with 415', async () => {
    const answer = await sendRaw(server.url, {
      path: `/v1/tables/${server.name()}`,
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    assertRefused(answer, { status: 415, code: CODE.invalidInput });
  });

  test('refuses a stranger with 401, and a reader with 403', async () => {
    assertRefused(await create(server.name(), '', server.stranger()), unauthenticated);
    assertRefused(await create(server.name(), '', await server.caller('reader')), forbidden);
  });

  test('refuses a database that is missing with 404', async () => {
    const elsewhere = server.client({ headers: { 'x-service-database': 'nowhere' }, key: await adminKey() });
    assertRefused(await create(server.name(), '', elsewhere), { status: 404, code: CODE.namespaceNotFound });
  });

  test('exists only for POST, next to the listing', async () => {
    assertRefused(await server.admin.get(`/v1/tables/${server.name()}`), { status: 405, code: CODE.invalidInput });
    assertRefused(await server.admin.post('/v1/tables', {}), { status: 405, code: CODE.invalidInput });
  });

  const adminKey = async (): Promise<string> => server.key([{ role: 'admin', database: undefined, path: [] }]);
});
