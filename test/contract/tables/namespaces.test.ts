import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

const LANCEDB = { 'user-agent': 'LanceDB-Node-Client/0.31.0' };
const namespaceNotFound = { status: 404, code: CODE.namespaceNotFound };
const namespaceExists = { status: 409, code: 2 };
const namespaceNotEmpty = { status: 409, code: 3 };

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const at = (id: string, operation: string): string => `/v1/namespace/${encodeURIComponent(id)}/${operation}`;
const create = async (id: string, body: object = {}, client = server.admin): Promise<Answer> =>
  client.post(at(id, 'create'), body);
const drop = async (id: string, body: object = {}, client = server.admin): Promise<Answer> =>
  client.post(at(id, 'drop'), body);

async function made(properties?: Record<string, string>): Promise<string> {
  const name = server.name('ns');
  assert.equal((await create(name, properties === undefined ? {} : { properties })).status, 200);
  return name;
}

suite('POST /v1/namespace/{id}/create', () => {
  test('makes a namespace with its properties, and says which transaction did', async () => {
    const name = server.name('ns');
    const { status, json } = await create(name, { properties: { owner: 'ann' } });
    assert.equal(status, 200);
    assert.deepEqual(json.properties, { owner: 'ann' });
    assert.equal(typeof json.transaction_id, 'string');
    const described = await server.admin.post(at(name, 'describe'), { id: [name] });
    assert.deepEqual(described.json.properties, { owner: 'ann' });
  });

  test('makes one inside of another, named in the body too', async () => {
    const name = await made();
    assert.equal((await create(`${name}$inner`, { id: [name, 'inner'] })).status, 200);
    assert.equal((await server.admin.post(at(`${name}$inner`, 'exists'), {})).status, 200);
  });

  for (const mode of ['create', 'CREATE', '"Create"', undefined]) {
    test(`refuses what exists with 409 (mode ${mode ?? 'absent'})`, async () => {
      const name = await made();
      assertRefused(await create(name, mode === undefined ? {} : { mode }), namespaceExists);
    });
  }

  for (const mode of ['exist_ok', 'ExistOk', 'EXISTOK', '"ExistOk"']) {
    test(`keeps what exists with mode ${mode}`, async () => {
      const name = await made({ a: 'b' });
      const { status, json } = await create(name, { mode, properties: { c: 'd' } });
      assert.equal(status, 200);
      assert.deepEqual(json.properties, { a: 'b' });
    });
  }

  test('replaces what exists with mode overwrite, and all that is inside', async () => {
    const name = await made({ a: 'b' });
    const table = await server.table({ id: `${name}$t` });
    const { status, json } = await create(name, { mode: 'Overwrite', properties: { c: 'd' } });
    assert.equal(status, 200);
    assert.deepEqual(json.properties, { c: 'd' });
    assert.equal(existsSync(table.location), false);
    assert.deepEqual((await server.admin.get(at(name, 'table/list'))).json.tables, []);
    assert.equal((await create(server.name('ns'), { mode: 'overwrite' })).status, 200);
  });

  test('lets a writer make namespaces, but not replace them', async () => {
    const name = await made();
    const writer = await server.caller('writer', [name]);
    assert.equal((await create(`${name}$a`, {}, writer)).status, 200);
    assertRefused(await create(`${name}$a`, { mode: 'overwrite' }, writer), forbidden);
    assert.equal((await create(`${name}$new`, { mode: 'overwrite' }, writer)).status, 200);
    assertRefused(await create(`${name}$b`, {}, await server.caller('reader', [name])), forbidden);
    assertRefused(await create(`${name}$b`, {}, await server.caller('owner', ['elsewhere'])), namespaceNotFound);
    assertRefused(await create(`${name}$b`, {}, server.stranger()), unauthenticated);
  });

  test('refuses a missing parent, the root, odd names, modes, properties and fields', async () => {
    assertRefused(await create('nowhere$ns'), namespaceNotFound);
    assertRefused(await create('$'), namespaceExists);
    assertRefused(await create('a/b'), badRequest());
    assertRefused(await create('a$$b'), badRequest(/empty/));
    assertRefused(await create('ns', { mode: 'perhaps' }), badRequest(/perhaps/));
    assertRefused(await create('ns', { properties: { a: 1 } }), badRequest());
    assertRefused(await create('ns', { proprties: {} }), badRequest(/proprties/));
    assertRefused(await create('ns', { id: ['other'] }), badRequest(/id/));
  });

  test('lets exactly one of many make a namespace', async () => {
    const name = server.name('ns');
    const answers = await Promise.all(Array.from({ length: 12 }, async () => create(name)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, ...Array.from({ length: 11 }, () => 409)]);
  });
});

suite('GET /v1/namespace/{id}/list', () => {
  test('lists the names directly below, in order, and in pages', async () => {
    const name = await made();
    for (const child of ['c', 'a', 'b']) await create(`${name}$${child}`);
    await create(`${name}$a$deep`);
    const list = async (query = '') => (await server.admin.get(at(name, 'list') + query)).json;
    assert.deepEqual((await list()).namespaces, ['a', 'b', 'c']);
    const first = await list('?limit=2');
    assert.deepEqual([first.namespaces, first.page_token], [['a', 'b'], 'b']);
    const second = await list(`?limit=2&page_token=${first.page_token}`);
    assert.deepEqual([second.namespaces, second.page_token], [['c'], undefined]);
    assert.deepEqual((await list('?page_token=aa')).namespaces, ['b', 'c']);
  });

  test('shows a caller what it may see, and no more', async () => {
    const name = await made();
    for (const child of ['a', 'b', 'c']) await create(`${name}$${child}`);
    await create(`${name}$c$deep`);
    const key = await server.key([
      { role: 'reader', database: 'default', path: [name, 'a'] },
      { role: 'reader', database: 'default', path: [name, 'c', 'deep', 'table'] },
    ]);
    const client = server.client({ key });
    assert.deepEqual((await client.get(at(name, 'list'))).json.namespaces, ['a', 'c']);
    assert.deepEqual((await client.get(at('$', 'list'))).json.namespaces, [name]);
    assertRefused(await client.get(at(`${name}$b`, 'list')), namespaceNotFound);
    assertRefused(await server.stranger().get(at(name, 'list')), unauthenticated);
  });

  test('takes an address without the root for the root, which a delimiter of one dot makes of it', async () => {
    const name = await made();
    for (const headers of [{}, LANCEDB]) {
      const { status, json } = await server.admin.get('/v1/namespace/list?delimiter=.', headers);
      assert.equal(status, 200);
      assert.ok(json.namespaces.includes(name));
    }
    assert.equal((await server.admin.post('/v1/namespace/describe?delimiter=.', {})).status, 200);
    assert.equal((await server.admin.post('/v1/namespace/exists?delimiter=.', {})).status, 200);
  });

  test('refuses a missing namespace, a bad limit and an unknown parameter', async () => {
    assertRefused(await server.admin.get(at('nowhere', 'list')), namespaceNotFound);
    assertRefused(await server.admin.get(at('$', 'list') + '?limit=0'), badRequest(/limit/));
    assertRefused(await server.admin.get(at('$', 'list') + '?limits=1'), badRequest(/limits/));
  });
});

suite('POST /v1/namespace/{id}/describe and exists', () => {
  test('know the root, which has no properties', async () => {
    assert.deepEqual((await server.admin.post(at('$', 'describe'), {})).json.properties, {});
    const { status, text } = await server.admin.post(at('$', 'exists'), { id: [] });
    assert.deepEqual([status, text], [200, '']);
  });

  test('answer without a body too', async () => {
    const name = await made();
    for (const operation of ['describe', 'exists']) {
      assert.equal((await server.admin.send('POST', at(name, operation), {})).status, 200);
    }
  });

  test('answer 404 for what is missing or hidden, 401 to strangers', async () => {
    const name = await made();
    const other = await server.caller('owner', ['elsewhere']);
    for (const operation of ['describe', 'exists']) {
      assertRefused(await server.admin.post(at('nowhere', operation), {}), namespaceNotFound);
      assertRefused(await other.post(at(name, operation), {}), namespaceNotFound);
      assertRefused(await server.stranger().post(at(name, operation), {}), unauthenticated);
    }
  });
});

suite('POST /v1/namespace/{id}/drop', () => {
  test('drops an empty namespace, once', async () => {
    const name = await made({ a: 'b' });
    const { status, json } = await drop(name);
    assert.equal(status, 200);
    assert.deepEqual(json.properties, { a: 'b' });
    assert.ok(Array.isArray(json.transaction_id));
    assertRefused(await drop(name), namespaceNotFound);
    assertRefused(await server.admin.post(at(name, 'describe'), {}), namespaceNotFound);
  });

  for (const mode of ['skip', 'Skip', '"Skip"']) {
    test(`answers an object for one that is not there, with mode ${mode}`, async () => {
      const { status, json } = await drop('nowhere', { mode });
      assert.equal(status, 200);
      assert.equal(typeof json, 'object');
      assert.equal((await drop('nowhere$deeper', { mode })).status, 200);
    });
  }

  test('refuses one that holds a table, a declared one, or a namespace, unless all is to go', async () => {
    const name = await made();
    const table = await server.table({ id: `${name}$t` });
    assertRefused(await drop(name), namespaceNotEmpty);
    assertRefused(await drop(name, { behavior: '"Restrict"' }), namespaceNotEmpty);
    await create(`${name}$in`);
    const inner = await server.table({ id: `${name}$in$t` });
    await server.admin.post(`/v1/table/${name}%24in%24planned/declare`, {});
    const { status } = await drop(name, { behavior: '"Cascade"' });
    assert.equal(status, 200);
    for (const { location } of [table, inner]) assert.equal(existsSync(location), false);
    for (const id of [name, `${name}$in`])
      assertRefused(await server.admin.post(at(id, 'exists'), {}), namespaceNotFound);
    assert.ok(!(await server.listed()).some((id) => id.startsWith(`${name}$`)));
  });

  test('leaves a table beside it that has the same name', async () => {
    const name = await made();
    await server.table({ id: name });
    assert.equal((await drop(name, { behavior: 'cascade' })).status, 200);
    assert.ok((await server.listed()).includes(name));
  });

  test('refuses the root, unknown words, and callers who do not own it', async () => {
    const name = await made();
    assertRefused(await drop('$', { behavior: 'cascade' }), badRequest(/root/));
    assertRefused(await drop(name, { behavior: 'perhaps' }), badRequest(/perhaps/));
    assertRefused(await drop(name, { mode: 'perhaps' }), badRequest(/perhaps/));
    assertRefused(await drop(name, {}, await server.caller('writer', [name])), forbidden);
    assertRefused(await drop(name, {}, await server.caller('owner', ['elsewhere'])), namespaceNotFound);
    assertRefused(await drop(name, { mode: 'skip' }, await server.caller('owner', ['elsewhere'])), namespaceNotFound);
    assertRefused(await drop(name, {}, server.stranger()), unauthenticated);
    assert.equal((await drop(name, {}, await server.caller('owner', [name]))).status, 200);
  });

  test('leaves nothing of creates that run against it: each table is refused, or gone with its namespace', async () => {
    for (let round = 0; round < 4; round += 1) {
      const name = await made();
      const tables = Array.from({ length: 6 }, async (_, index) =>
        server.admin.arrow(`/v1/table/${name}%24t${index}/create`, sampleStream()),
      );
      const dropped = drop(name, { behavior: 'cascade' });
      for (const { status, json } of await Promise.all(tables)) {
        assert.ok(
          status === 200 || json.code === CODE.namespaceNotFound || json.code === CODE.concurrentModification,
          JSON.stringify(json),
        );
      }
      assert.equal((await dropped).status, 200);
      assert.ok(!(await server.listed()).some((id) => id.startsWith(`${name}$`)));
    }
  });
});
