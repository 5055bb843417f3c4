import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { after, before, suite, test } from 'node:test';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, tableNotFound, unauthenticated } from '../refusal.ts';

suite('POST /v1/table/{id}/describe', () => {
  let server: ContractServer;
  let table: MadeTable;
  before(async () => {
    server = await ContractServer.start();
    table = await server.table({ query: { properties: '{"a":"b"}' } });
    const embedded = await server.embedded(table);
    await embedded.delete('id = 0 or id = 1');
    await server.admin.post(`${table.at}/tags/create`, { tag: 'begin', version: 1 });
  });
  after(async () => server.close());
  const describe = async (body: object = {}, query = '', client = server.admin): Promise<Answer> =>
    client.post(`${table.at}/describe${query}`, body);

  test('replies with name, version, schema, location and properties', async () => {
    const { json } = await describe({ id: [table.id] });
    assert.deepEqual([json.table, json.namespace, json.version], [table.id, [], 2]);
    assert.deepEqual([json.location, json.properties, json.storage_options], [table.location, { a: 'b' }, {}]);
    assert.equal(json.is_only_declared, false);
    for (const field of ['stats', 'metadata', 'table_uri']) assert.ok(!(field in json), field);
  });

  for (const [place, body, query] of [
    ['body', { with_table_uri: true }, ''],
    ['address', {}, '?with_table_uri=true'],
  ] as const) {
    test(`adds the URI when the ${place} wants it`, async () => {
      assert.equal((await describe(body, query)).json.table_uri, pathToFileURL(table.location).href);
    });
  }

  test('leaves out what is switched off', async () => {
    const off = { load_detailed_metadata: false, check_declared: false, with_table_uri: false };
    const { json } = await describe(off);
    const left = ['context', 'location', 'managed_versioning', 'properties', 'storage_options'];
    assert.deepEqual(Object.keys(json).toSorted(), left);
    assert.equal(
      (await describe({ check_declared: false, load_detailed_metadata: true })).json.is_only_declared,
      false,
    );
    assertRefused(await describe({ ...off, version: 9 }), { status: 404, code: CODE.versionNotFound });
    const toLanceDb = await server.admin.post(`${table.at}/describe/`, off, {
      'user-agent': 'LanceDB-Node-Client/0.31.0',
    });
    assert.equal(toLanceDb.json.version, 2);
  });

  for (const [place, body, query] of [
    ['body', { load_detailed_metadata: true }, ''],
    ['address', {}, '?load_detailed_metadata=true&with_table_uri=true&check_declared=true'],
  ] as const) {
    test(`adds statistics and metadata when the ${place} wants the details`, async () => {
      const { status, json } = await describe(body, query);
      assert.equal(status, 200);
      assert.equal(json.stats.num_fragments, 1);
      assert.ok(json.stats.num_deleted_rows >= 1);
      assert.equal(typeof json.metadata, 'object');
    });
  }

  test('describes a version, or the one of a tag, with its own statistics', async () => {
    const details = { load_detailed_metadata: true };
    for (const body of [{ version: 1 }, { tag: 'begin' }]) {
      const { json } = await describe({ ...body, ...details });
      assert.deepEqual([json.version, json.stats.num_deleted_rows], [1, 0]);
    }
  });

  test('answers a body of nulls, and none, and the LanceDB client with the slash', async () => {
    assert.equal((await describe({ version: null, tag: null })).status, 200);
    assert.equal((await server.admin.send('POST', `${table.at}/describe/`, {})).json.version, 2);
  });

  test('refuses a missing version or tag, both at once, odd flags, strangers and who may not read', async () => {
    assertRefused(await describe({ version: 9 }), { status: 404, code: CODE.versionNotFound });
    assertRefused(await describe({ tag: 'nope' }), { status: 404, code: 8 });
    assertRefused(await describe({ tag: 'begin', version: 1 }), badRequest(/tag/));
    assertRefused(await describe({}, '?load_detailed_metadata=perhaps'), badRequest(/load_detailed_metadata/));
    assertRefused(await describe({}, '', server.stranger()), unauthenticated);
    assertRefused(await describe({}, '', await server.caller('owner', ['other'])), tableNotFound);
  });
});
