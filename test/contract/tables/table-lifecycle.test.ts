import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

const LANCEDB = { 'user-agent': 'LanceDB-Node-Client/0.31.0' };
const namespaceNotFound = { status: 404, code: CODE.namespaceNotFound };
const tableExists = { status: 409, code: CODE.tableExists };

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
  await server.namespace(['sales']);
  await server.namespace(['sales', 'north']);
});
after(async () => server.close());

const at = (id: string, operation: string): string => `/v1/table/${encodeURIComponent(id)}/${operation}`;
const post = async (id: string, operation: string, body: object = {}, client = server.admin): Promise<Answer> =>
  client.post(at(id, operation), body);

suite('POST /v1/table/{id}/drop', () => {
  test('removes the table and its data, and says what it was', async () => {
    const table = await server.table({ query: { properties: '{"a":"b"}' } });
    const { status, json } = await post(table.id, 'drop', { id: [table.id] });
    assert.equal(status, 200);
    assert.deepEqual([json.id, json.location, json.properties], [[table.id], table.location, { a: 'b' }]);
    assert.equal(typeof json.transaction_id, 'string');
    assert.equal(existsSync(table.location), false);
    assertRefused(await post(table.id, 'describe'), tableNotFound);
    assertRefused(await post(table.id, 'drop'), tableNotFound);
    assert.ok(!(await server.listed()).includes(table.id));
  });

  test('answers the LanceDB client, which sends no body', async () => {
    const table = await server.table();
    const { status, json } = await server.admin.send('POST', `${table.at}/drop/`, { headers: LANCEDB });
    assert.equal(status, 200);
    assert.equal(typeof json, 'object');
  });

  test('frees the name: the next table has its own directory and starts at version 1', async () => {
    const first = await server.table();
    await post(first.id, 'update', { updates: [['id', '1']] });
    await post(first.id, 'drop');
    const second = await server.table({ id: first.id });
    assert.notEqual(second.location, first.location);
    assert.equal(second.version, 1);
    assert.equal((await post(first.id, 'describe')).json.version, 1);
  });

  test('is for owners', async () => {
    const table = await server.table();
    assertRefused(await post(table.id, 'drop', {}, await server.caller('writer', [table.id])), forbidden);
    assertRefused(await post(table.id, 'drop', {}, await server.caller('owner', ['elsewhere'])), tableNotFound);
    assertRefused(await post(table.id, 'drop', {}, server.stranger()), unauthenticated);
    assert.equal((await post(table.id, 'drop', {}, await server.caller('owner', [table.id]))).status, 200);
  });

  test('refuses unknown fields and another id', async () => {
    const table = await server.table();
    assertRefused(await post(table.id, 'drop', { force: true }), badRequest(/force/));
    assertRefused(await post(table.id, 'drop', { id: ['other'] }), badRequest(/id/));
    assert.ok(existsSync(table.location));
  });

  test('waits for the writes before it; those after it find nothing, and nothing comes back', async () => {
    const table = await server.table();
    const update = async () => post(table.id, 'update', { updates: [['id', 'id + 1']] });
    const answers = [
      ...Array.from({ length: 5 }, update),
      post(table.id, 'drop'),
      ...Array.from({ length: 5 }, update),
    ];
    for (const { status } of await Promise.all(answers)) assert.ok(status === 200 || status === 404);
    assert.equal(existsSync(table.location), false);
  });

  test('creators and droppers of one name: every create is one table, and at the end there is one or none', async () => {
    const id = server.name();
    const work = Array.from({ length: 24 }, async (_, index) =>
      index % 2 === 0 ? server.admin.arrow(at(id, 'create'), sampleStream()) : post(id, 'drop'),
    );
    const answers = await Promise.all(work);
    const created = answers.filter(({ status, json }) => status === 200 && json.version === 1).length;
    const dropped = answers.filter(({ status, json }) => status === 200 && json.version === undefined).length;
    const isThere = (await server.listed()).includes(id);
    assert.equal(created - dropped, isThere ? 1 : 0);
    if (isThere) assert.equal((await post(id, 'describe')).status, 200);
  });
});

suite('POST /v1/table/{id}/rename', () => {
  test('gives the table another name, and leaves its data where they are', async () => {
    const table = await server.table({ query: { properties: '{"a":"b"}' } });
    const renamed = server.name('renamed');
    const { status, json } = await post(table.id, 'rename', { new_table_name: renamed });
    assert.equal(status, 200);
    assert.equal(typeof json.transaction_id, 'string');
    const described = await post(renamed, 'describe');
    assert.equal(described.json.location, table.location);
    assert.deepEqual(described.json.properties, { a: 'b' });
    assertRefused(await post(table.id, 'describe'), tableNotFound);
  });

  for (const field of ['new_namespace_id', 'new_namespace']) {
    test(`moves the table to another namespace, named by ${field}, and to the root`, async () => {
      const table = await server.table();
      assert.equal((await post(table.id, 'rename', { new_table_name: 'm', [field]: ['sales', 'north'] })).status, 200);
      const listed = await server.admin.get('/v1/namespace/sales%24north/table/list');
      assert.deepEqual(listed.json.tables, ['m']);
      assert.equal((await post('sales$north$m', 'rename', { new_table_name: 'stays' })).status, 200);
      assert.equal((await post('sales$north$stays', 'rename', { new_table_name: table.id, [field]: [] })).status, 200);
      assert.equal((await post(table.id, 'describe')).json.location, table.location);
    });
  }

  test('leaves the table in its namespace for Java clients, which send an empty list in place of nothing', async () => {
    const table = await server.table();
    const java = { 'user-agent': 'OpenAPI-Generator/0.7.7/java' };
    assert.equal((await post(table.id, 'rename', { new_table_name: 'j', new_namespace_id: ['sales'] })).status, 200);
    const body = { id: [], new_table_name: 'k', new_namespace_id: [] };
    const answer = await server.admin.post('/v1/table/sales%24j/rename', body, java);
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await post('sales$k', 'describe')).json.location, table.location);
  });

  test('refuses a name that is taken, with 409 or, for the LanceDB client, 400', async () => {
    const [one, other] = [await server.table(), await server.table()];
    const body = { new_table_name: other.id };
    assertRefused(await post(one.id, 'rename', body), tableExists);
    assertRefused(await post(one.id, 'rename', { new_table_name: one.id }), tableExists);
    assertRefused(await server.admin.post(`${one.at}/rename/`, body, LANCEDB), { status: 400, code: CODE.tableExists });
  });

  test('refuses odd names, missing namespaces, and two different ones', async () => {
    const { id } = await server.table();
    for (const name of ['', 'a/b', 'a$b', '..', 'a\u0000b', 'x'.repeat(300)]) {
      assertRefused(await post(id, 'rename', { new_table_name: name }), badRequest());
    }
    assertRefused(await post(id, 'rename', {}), badRequest(/new_table_name/));
    assertRefused(await post(id, 'rename', { new_table_name: 'x', new_namespace_id: ['nowhere'] }), namespaceNotFound);
    const both = { new_table_name: 'x', new_namespace_id: ['sales'], new_namespace: ['north'] };
    assertRefused(await post(id, 'rename', both), badRequest());
    assertRefused(await post('nowhere', 'rename', { new_table_name: 'x' }), tableNotFound);
  });

  test('is for owners who may also write where the table goes', async () => {
    const { id } = await server.table();
    const body = { new_table_name: server.name(), new_namespace_id: ['sales'] };
    const owner = await server.caller('owner', [id]);
    assertRefused(await post(id, 'rename', body, owner), namespaceNotFound);
    assertRefused(await post(id, 'rename', body, await server.caller('writer')), forbidden);
    assertRefused(await post(id, 'rename', body, server.stranger()), unauthenticated);
    const key = await server.key([
      { role: 'owner', database: 'default', path: [id] },
      { role: 'reader', database: 'default', path: ['sales'] },
    ]);
    assertRefused(await post(id, 'rename', body, server.client({ key })), forbidden);
    await server.catalog.grants.add('nobody', { role: 'reader', database: 'default', path: [] });
    assert.equal((await post(id, 'rename', body, await server.caller('owner'))).status, 200);
  });

  test('of renames and creates that want one name, exactly one succeeds', async () => {
    for (let round = 0; round < 4; round += 1) {
      const name = server.name('wanted');
      const tables = await Promise.all(Array.from({ length: 4 }, async () => server.table()));
      const answers = await Promise.all([
        ...tables.map(async ({ id }) => post(id, 'rename', { new_table_name: name })),
        ...Array.from({ length: 4 }, async () => server.admin.arrow(at(name, 'create'), sampleStream())),
      ]);
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
      assert.equal((await post(name, 'describe')).status, 200);
    }
  });
});

suite('the old name of a renamed table', () => {
  const handleCall = async (id: string, client = server.admin): Promise<Answer> =>
    client.post(`${at(id, 'describe')}/`, { version: null }, LANCEDB);

  test('leads open tables of the LanceDB client to it, but no other client, and opens no table by the old name', async () => {
    const table = await server.table();
    const renamed = server.name('renamed');
    await post(table.id, 'rename', { new_table_name: renamed });
    assert.equal((await handleCall(table.id)).json.location, table.location);
    const updated = await server.admin.post(`${table.at}/update/`, { updates: [['id', '1']] }, LANCEDB);
    assert.equal(updated.status, 200);
    assertRefused(await server.admin.send('POST', `${table.at}/describe/`, { headers: LANCEDB }), tableNotFound);
    for (const operation of ['drop', 'deregister', 'exists']) {
      assertRefused(await server.admin.post(`${at(table.id, operation)}/`, {}, LANCEDB), tableNotFound);
    }
    assertRefused(await server.admin.post(`${table.at}/rename/`, { new_table_name: 'x' }, LANCEDB), tableNotFound);
    assertRefused(await post(table.id, 'describe', { version: 1 }), tableNotFound);
  });

  test('is the new table’s, when there is one', async () => {
    const table = await server.table();
    await post(table.id, 'rename', { new_table_name: server.name('renamed') });
    const second = await server.table({ id: table.id });
    assert.equal((await handleCall(table.id)).json.location, second.location);
    await post(second.id, 'drop');
    assertRefused(await handleCall(table.id), tableNotFound);
  });

  test('needs the permission at the new name', async () => {
    const table = await server.table();
    const renamed = server.name('renamed');
    await post(table.id, 'rename', { new_table_name: renamed });
    assertRefused(await handleCall(table.id, await server.caller('reader', [table.id])), tableNotFound);
    assert.equal((await handleCall(table.id, await server.caller('reader', [renamed]))).status, 200);
    const reader = await server.caller('reader', [renamed]);
    const update = await reader.post(`${table.at}/update/`, { updates: [['id', '1']] }, LANCEDB);
    assertRefused(update, forbidden);
  });

  test('leads nowhere when the setting says so', async () => {
    const strict = await ContractServer.start({ flags: ['--http-renamed-seconds=0'] });
    try {
      const table = await strict.table();
      await strict.admin.post(`${table.at}/rename`, { new_table_name: 'renamed' });
      assertRefused(await strict.admin.post(`${table.at}/describe/`, { version: null }, LANCEDB), tableNotFound);
    } finally {
      await strict.close();
    }
  });
});

suite('POST /v1/table/{id}/exists', () => {
  test('answers 200 without a body for a table, or one of its versions', async () => {
    const { id } = await server.table();
    const { status, text } = await post(id, 'exists');
    assert.deepEqual([status, text], [200, '']);
    assert.equal((await post(id, 'exists', { version: 1 })).status, 200);
    assertRefused(await post(id, 'exists', { version: 9 }), { status: 404, code: CODE.versionNotFound });
  });

  test('answers 404 for what is missing or hidden, 401 to strangers', async () => {
    const { id } = await server.table();
    assertRefused(await post('nowhere', 'exists'), tableNotFound);
    assertRefused(await post(id, 'exists', {}, await server.caller('owner', ['elsewhere'])), tableNotFound);
    assertRefused(await post(id, 'exists', {}, server.stranger()), unauthenticated);
    assertRefused(await post(id, 'exists', { versions: 1 }), badRequest(/versions/));
  });
});

suite('GET /v1/namespace/{id}/table/list and GET /v1/table', () => {
  let listing: ContractServer;
  before(async () => {
    listing = await ContractServer.start();
    await listing.namespace(['ns']);
    await listing.namespace(['ns', 'deep']);
    for (const id of ['b', 'a', 'ns$u', 'ns$t', 'ns$deep$t']) await listing.table({ id });
    await listing.admin.post('/v1/table/planned/declare', {});
  });
  after(async () => listing.close());
  const tables = async (path: string, headers = {}) => (await listing.admin.get(path, headers)).json.tables;

  test('the first lists names directly in the namespace', async () => {
    assert.deepEqual(await tables('/v1/namespace/ns/table/list'), ['t', 'u']);
    assert.deepEqual(await tables('/v1/namespace/%24/table/list'), ['a', 'b', 'planned']);
    assert.deepEqual(await tables('/v1/namespace/ns%24deep/table/list/', LANCEDB), ['t']);
  });

  test('the second lists all identifiers, or to the LanceDB client the names in the root', async () => {
    assert.deepEqual(await tables('/v1/table'), ['a', 'b', 'ns$deep$t', 'ns$t', 'ns$u', 'planned']);
    assert.deepEqual(await tables('/v1/table?delimiter=.&include_declared=false'), [
      'a',
      'b',
      'ns.deep.t',
      'ns.t',
      'ns.u',
    ]);
    assert.deepEqual(await tables('/v1/table/', LANCEDB), ['a', 'b']);
    assert.deepEqual(await tables('/v1/table/?include_declared=true', LANCEDB), ['a', 'b', 'planned']);
  });

  test('both come in pages whose token is the last name, also one that is not there', async () => {
    const first = await listing.admin.get('/v1/table/?limit=1', LANCEDB);
    assert.deepEqual([first.json.tables, first.json.page_token], [['a'], 'a']);
    assert.deepEqual(await tables('/v1/table/?page_token=a', LANCEDB), ['b']);
    assert.deepEqual(await tables('/v1/namespace/ns/table/list?page_token=tt'), ['u']);
    assert.deepEqual(await tables('/v1/table?page_token=b&limit=2'), ['ns$deep$t', 'ns$t']);
  });

  test('both show a caller what it may read, and no more', async () => {
    const reader = await listing.caller('reader', ['ns', 't']);
    assert.deepEqual((await reader.get('/v1/namespace/ns/table/list')).json.tables, ['t']);
    assert.deepEqual((await reader.get('/v1/table')).json.tables, ['ns$t']);
    assert.deepEqual((await reader.get('/v1/table/', LANCEDB)).json.tables, []);
    const deep = await listing.caller('reader', ['ns', 't', 'below']);
    assert.deepEqual((await deep.get('/v1/namespace/ns/table/list')).json.tables, []);
    assertRefused(await listing.stranger().get('/v1/table'), unauthenticated);
    assertRefused(await reader.get('/v1/namespace/ns%24deep/table/list'), namespaceNotFound);
  });

  test('refuse bad parameters and missing namespaces', async () => {
    assertRefused(await listing.admin.get('/v1/table?limit=x'), badRequest(/limit/));
    assertRefused(await listing.admin.get('/v1/table?include_declared=maybe'), badRequest(/include_declared/));
    assertRefused(await listing.admin.get('/v1/namespace/nowhere/table/list'), namespaceNotFound);
  });
});

suite('x-lancedb-database-prefix', () => {
  const PREFIX = { 'x-lancedb-database-prefix': 'sales/north' };
  test('puts every identifier below it, and shows it from there', async () => {
    const { id } = await server.table({ id: server.name(), headers: PREFIX });
    assert.ok((await server.listed()).includes(`sales$north$${id}`));
    const described = await server.admin.post(at(id, 'describe'), { id: [id] }, PREFIX);
    assert.deepEqual([described.json.table, described.json.namespace], [id, []]);
    assert.deepEqual((await server.admin.get('/v1/tables', PREFIX)).json.tables, [id]);
    assert.deepEqual((await server.admin.get('/v1/namespace/%24/table/list', PREFIX)).json.tables, [id]);
    const missing = await server.admin.post(at('nope', 'describe'), {}, PREFIX);
    assert.match(missing.json.detail, /"nope"/);
    assert.deepEqual((await server.admin.post(at(id, 'drop'), {}, PREFIX)).json.id, [id]);
  });

  test('comes from the header alone, and must be a path of names', async () => {
    const table = await server.table();
    const context = { 'header.x-lancedb-database-prefix': 'sales' };
    assert.equal((await post(table.id, 'describe', { context })).status, 200);
    for (const prefix of ['..', 'a/../b', 'a$b', 'a%2fb']) {
      const headers = { 'x-lancedb-database-prefix': prefix };
      assertRefused(await server.admin.post(at(table.id, 'describe'), {}, headers), badRequest());
    }
    const nowhere = { 'x-lancedb-database-prefix': 'nowhere' };
    assertRefused(await server.admin.post(at(table.id, 'describe'), {}, nowhere), tableNotFound);
    assertRefused(await server.admin.arrow(at('t', 'create'), sampleStream(), nowhere), namespaceNotFound);
  });

  test('shows the jobs of tables below it, by their names from there', async () => {
    const [inside, outside] = [server.name(), server.name()];
    const jobs = [];
    for (const [id, headers] of [
      [inside, PREFIX],
      [outside, {}],
    ] as const) {
      await server.table({ id, headers });
      const { json } = await server.admin.post(at(id, 'create_index'), { column: 'id', index_type: 'BTREE' }, headers);
      jobs.push(json.job_id);
    }
    const listed = (await server.admin.post('/v1/jobs/list', {}, PREFIX)).json.jobs;
    assert.deepEqual(
      listed.map(({ table, job_id }: { table: string; job_id: string }) => [table, job_id]),
      [[inside, jobs[0]]],
    );
    const described = await server.admin.post('/v1/jobs/describe', { job_id: jobs[0] }, PREFIX);
    assert.equal(described.json.table, inside);
    assert.equal((await server.admin.post('/v1/jobs/describe', { job_id: jobs[1] }, PREFIX)).status, 404);
    await server.admin.post(at(inside, 'drop'), {}, PREFIX);
  });

  test('gives no right that the path does not', async () => {
    await server.table({ id: 'sales$north$secret' });
    const caller = await server.caller('owner', ['secret']);
    assertRefused(await caller.post(at('secret', 'describe'), {}, PREFIX), tableNotFound);
  });
});

suite('a table in a namespace that does not exist', () => {
  for (const operation of ['describe', 'exists', 'drop', 'deregister', 'count_rows', 'stats', 'version/list']) {
    test(`is refused for its namespace, as by a create: ${operation}`, async () => {
      assertRefused(await post('nowhere$t', operation), { ...namespaceNotFound, detail: /The namespace "nowhere" / });
      assertRefused(await post('sales$nowhere', operation), tableNotFound);
    });
  }

  test('looks the same to a caller who may not see the namespace', async () => {
    const { id } = await server.table({ id: 'sales$hidden' });
    const other = await server.caller('reader', ['other']);
    for (const each of [id, 'sales$absent', 'nowhere$t']) {
      assertRefused(await post(each, 'describe', {}, other), namespaceNotFound);
    }
    const beside = await server.caller('reader', ['sales', 'north']);
    for (const each of [id, 'sales$absent']) assertRefused(await post(each, 'describe', {}, beside), tableNotFound);
  });
});
