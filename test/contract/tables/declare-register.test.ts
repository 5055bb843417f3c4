import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, mkdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import { holdVersion } from '../../catalog/temporary-catalog.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { ContractServer } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

const LANCEDB = { 'user-agent': 'LanceDB-Node-Client/0.31.0' };
const namespaceNotFound = { status: 404, code: CODE.namespaceNotFound };
const tableExists = { status: 409, code: CODE.tableExists };
const locationTaken = { status: 409, code: 19 };

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
  await server.namespace(['sales']);
});
after(async () => server.close());

const at = (id: string, operation: string): string => `/v1/table/${encodeURIComponent(id)}/${operation}`;
const post = async (id: string, operation: string, body: object = {}, client = server.admin): Promise<Answer> =>
  client.post(at(id, operation), body);

/** A table of somebody else's, in the folder of the database, that no catalog knows. */
async function foreign(...folders: readonly string[]): Promise<string> {
  const table = await server.table();
  const name = `${server.name('foreign')}.lance`;
  await mkdir(join(server.folder, ...folders), { recursive: true });
  await cp(table.location, join(server.folder, ...folders, name), { recursive: true });
  return [...folders, name].join('/');
}

/** Of a view that the service would not create. */
async function refreshViewOf(source: string): Promise<Answer> {
  const database = await server.catalog.databases.find('default');
  assert.ok(database);
  const { id: databaseId, root } = database;
  const found = await server.catalog.tables.find(databaseId, [source]);
  const refresh = { mode: 'manual' };
  const definition = { sourceId: found?.id, source: [source], columns: [['id', 'id']], refresh };
  const properties = { 'tiltyard.view': JSON.stringify(definition) };
  const view = server.name('view');
  const entry = { operation: 'declare_table', caller: 'key:test', version: 0, requestId: 'test' };
  await server.catalog.tables.declare({ databaseId, path: [view], root, location: undefined, properties }, entry);
  return server.admin.post(`/v1/materialized_view/${view}/refresh`, {});
}

suite('POST /v1/table/{id}/declare', () => {
  test('reserves a name and a location, and describes them without version and schema', async () => {
    const id = server.name();
    const { status, json } = await post(id, 'declare', { id: [id], properties: { a: 'b' } });
    assert.equal(status, 200);
    assert.ok(json.location.startsWith(server.folder));
    assert.deepEqual([json.properties, json.storage_options], [{ a: 'b' }, {}]);
    assert.equal(existsSync(json.location), false);

    const described = await post(id, 'describe', { check_declared: true });
    assert.equal(described.json.location, json.location);
    assert.equal(described.json.is_only_declared, true);
    assert.ok(!('version' in described.json) && !('schema' in described.json));
    assert.equal((await post(id, 'exists')).status, 200);
    assertRefused(await post(id, 'exists', { version: 1 }), tableNotFound);
    assertRefused(await post(id, 'describe', { version: 1 }), tableNotFound);
  });

  test('has a former name, create-empty, which old clients use', async () => {
    const id = server.name();
    const { status, json } = await post(id, 'create-empty', { id: [id], properties: { a: 'b' } });
    assert.equal(status, 200);
    assert.deepEqual(json.properties, { a: 'b' });
    assert.equal((await post(id, 'describe')).json.location, json.location);
    assertRefused(await post(id, 'declare'), tableExists);
  });

  test('is no table to the LanceDB client, nor to operations on data', async () => {
    const id = server.name();
    await post(id, 'declare');
    assertRefused(await server.admin.post(`${at(id, 'describe')}/`, { version: null }, LANCEDB), tableNotFound);
    assertRefused(await server.admin.post(`${at(id, 'exists')}/`, {}, LANCEDB), tableNotFound);
    assertRefused(await post(id, 'update', { updates: [['id', '1']] }), tableNotFound);
    assertRefused(await post(id, 'analyze_plan', { k: 1, vector: { single_vector: [1] } }), tableNotFound);
  });

  test('becomes a table when the data are written where it says', async () => {
    const id = server.name();
    const { location } = (await post(id, 'declare')).json;
    const outside = await connect(server.folder);
    const table = await outside.createTable(basename(location, '.lance'), [{ id: 1 }]);
    const { json } = await post(id, 'describe');
    assert.deepEqual([json.version, json.is_only_declared, json.schema.fields[0].name], [1, false, 'id']);
    await table.add([{ id: 2 }]);
    assert.equal((await post(id, 'describe')).json.version, 2);
    assert.equal((await post(id, 'update', { updates: [['id', 'id + 1']] })).json.version, 3);
    assertRefused(await server.admin.arrow(at(id, 'create'), sampleStream()), tableExists);
    outside.close();
  });

  test('does not serve data that refer to files of another table; it can be dropped', async () => {
    const { location: source } = await server.table();
    const id = server.name();
    const { location } = (await post(id, 'declare')).json;
    const outside = await connect(server.folder, {
      manifestEnabled: false,
      namespaceClientProperties: { manifest_enabled: 'false' },
    });
    await outside.cloneTable(basename(location, '.lance'), source);
    outside.close();
    for (const operation of ['describe', 'count_rows', 'stats', 'maintenance/run'])
      assertRefused(await post(id, operation), badRequest(/outside its directory/));
    assertRefused(await post(id, 'query', { k: 1 }), badRequest(/outside its directory/));
    const query = { kind: 'query', source_query: `SELECT id FROM ${id}` };
    const view = await server.admin.post(`/v1/materialized_view/${server.name('view')}/create`, query);
    assertRefused(view, badRequest(/outside its directory/));
    assertRefused(await refreshViewOf(id), badRequest(/outside its directory/));
    const listed = await server.admin.get('/v1/table/', LANCEDB);
    assert.equal(listed.status, 200, listed.text);
    assert.ok(!listed.json.tables.includes(id));
    assert.equal((await post(id, 'drop')).status, 200);
  });

  for (const mode of ['create', 'exist_ok', 'overwrite']) {
    test(`is filled by a create with mode ${mode}, once`, async () => {
      const id = server.name();
      await post(id, 'declare', { properties: { a: 'b' } });
      const made = await server.admin.arrow(`${at(id, 'create')}?mode=${mode}`, sampleStream());
      assert.equal(made.status, 200);
      const { json } = await post(id, 'describe');
      assert.deepEqual([json.version, json.properties, json.location], [1, { a: 'b' }, made.json.location]);
      assertRefused(await server.admin.arrow(at(id, 'create'), sampleStream()), tableExists);
    });
  }

  test('stays declared when a create fails', async () => {
    const id = server.name();
    const { location } = (await post(id, 'declare')).json;
    const cut = sampleStream().slice(0, -20);
    assert.equal((await server.admin.arrow(at(id, 'create'), cut)).status, 400);
    const { json } = await post(id, 'describe');
    assert.deepEqual([json.is_only_declared, json.location], [true, location]);
    assert.equal((await server.catalog.tables.unfinished()).reservations.length, 0);
  });

  test('of many who fill one declared table, exactly one creates it', async () => {
    const id = server.name();
    await post(id, 'declare');
    const answers = await Promise.all(
      Array.from({ length: 6 }, async () => server.admin.arrow(at(id, 'create'), sampleStream())),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers) if (answer.status !== 200) assertRefused(answer, tableExists);
  });

  test('is dropped, renamed and deregistered like any other', async () => {
    const id = server.name();
    await post(id, 'declare');
    assert.equal((await post(id, 'rename', { new_table_name: `${id}x` })).status, 200);
    assert.equal((await post(`${id}x`, 'drop')).status, 200);
    await post(id, 'declare');
    assert.equal((await post(id, 'deregister')).status, 200);
    assertRefused(await post(id, 'describe'), tableNotFound);
  });

  test('refuses what exists, a missing namespace, and callers who may not write', async () => {
    const { id } = await server.table();
    assertRefused(await post(id, 'declare'), tableExists);
    assertRefused(await post('nowhere$t', 'declare'), namespaceNotFound);
    assertRefused(await post('a$$b', 'declare'), badRequest());
    assertRefused(await post('x', 'declare', { propertys: {} }), badRequest(/propertys/));
    assertRefused(await post('sales$x', 'declare', {}, await server.caller('reader', ['sales'])), forbidden);
    assertRefused(await post('sales$x', 'declare', {}, await server.caller('owner', ['other'])), namespaceNotFound);
    assertRefused(await post('sales$x', 'declare', {}, server.stranger()), unauthenticated);
  });

  test('takes a location below the root, where the caller then writes the data', async () => {
    for (const folders of [[], ['chosen', '2026']]) {
      const id = server.name();
      const location = [...folders, `${id}.lance`].join('/');
      const declared = await post(id, 'declare', { location, properties: { a: 'b' } });
      assert.equal(declared.status, 200, declared.text);
      assert.equal(declared.json.location, join(server.folder, location));
      const empty = (await post(id, 'describe')).json;
      assert.deepEqual([empty.is_only_declared, empty.location], [true, declared.json.location]);
      const outside = await connect(join(server.folder, ...folders));
      await outside.createTable(id, [{ id: 1 }]);
      const described = (await post(id, 'describe')).json;
      assert.deepEqual([described.version, described.location], [1, declared.json.location]);
      assert.equal((await post(id, 'count_rows')).text, '1');
      assert.equal((await post(id, 'drop')).status, 200);
      assert.equal(existsSync(join(server.folder, location)), false);
    }
  });

  test('refuses a location that leads elsewhere, is in use, or is not the caller’s to give', async () => {
    const { location } = await server.table();
    const declare = async (given: string, client?: Client): Promise<Answer> =>
      post(server.name(), 'declare', { location: given }, client);
    for (const odd of [
      '/etc',
      '/etc/x.lance',
      '../x.lance',
      'x',
      '',
      'a/../x.lance',
      `${basename(location)}/x.lance`,
    ]) {
      assertRefused(await declare(odd), badRequest(/location/));
    }
    const used = { ...locationTaken, detail: /files at the location/ };
    assertRefused(await declare(basename(location)), used);
    assertRefused(await declare(await foreign()), used);
    await symlink(tmpdir(), join(server.folder, 'way-out'));
    assertRefused(await declare('way-out/x.lance'), badRequest(/link/));
    await symlink(join(tmpdir(), 'nowhere'), join(server.folder, 'dangling.lance'));
    assertRefused(await declare('dangling.lance'), used);
    const chosen = `${server.name()}.lance`;
    assert.equal((await declare(chosen)).status, 200);
    assertRefused(await declare(chosen), { ...locationTaken, detail: /another table/ });
    assertRefused(await declare(`${server.name()}.lance`, await server.caller('writer')), forbidden);
    assertRefused(await declare(basename(location), await server.caller('writer')), forbidden);
    const tenant = await server.database();
    assertRefused(await declare(`${tenant}/x.lance`), badRequest(/database/));
  });

  test('lets exactly one of many declare a name', async () => {
    const id = server.name();
    const answers = await Promise.all(Array.from({ length: 10 }, async () => post(id, 'declare')));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  });
});

suite('POST /v1/table/{id}/register', () => {
  test('makes a table of data below the root, which are served as they are', async () => {
    const location = await foreign();
    const id = server.name();
    const { status, json } = await post(id, 'register', { location, properties: { a: 'b' } });
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(json.location, join(server.folder, location));
    const described = (await post(id, 'describe')).json;
    assert.deepEqual([described.version, described.properties, described.location], [1, { a: 'b' }, json.location]);
    assert.equal((await post(id, 'update', { updates: [['id', '1']] })).json.version, 2);
  });

  test('takes a folder below the root, and a location in full', async () => {
    const location = await foreign('imported', '2026');
    const id = server.name();
    assert.equal((await post(id, 'register', { location: join(server.folder, location) })).status, 200);
    assert.equal((await post(id, 'describe')).json.location, join(server.folder, location));
    assert.equal((await post(id, 'drop')).status, 200);
    assert.equal(existsSync(join(server.folder, location)), false);
  });

  test('refuses what leaves the root, and what cannot be a table’s directory', async () => {
    const { location } = await server.table();
    for (const odd of [
      '../x.lance',
      'a/../../x.lance',
      '/etc/x.lance',
      'file:///etc/x.lance',
      's3://bucket/x.lance',
      '//x.lance',
      './x.lance',
      'x',
      'x.lance/y.lance',
      `${basename(location)}/data`,
      '.lance',
      '.hidden.lance',
      'a b.lance',
      'a\u0000.lance',
      'a%2fb.lance',
      '..',
      '',
    ]) {
      assertRefused(await post(server.name(), 'register', { location: odd }), badRequest());
    }
    assertRefused(await post(server.name(), 'register', {}), badRequest(/location/));
  });

  test('refuses links, files, empty folders and what is not there', async () => {
    const location = await foreign();
    await symlink(join(server.folder, location), join(server.folder, 'link.lance'));
    await symlink(server.folder, join(server.folder, 'folder-link'));
    await mkdir(join(server.folder, 'empty.lance'));
    for (const odd of ['link.lance', `folder-link/${location}`, 'empty.lance', 'nowhere.lance', 'tiltyard.db.lance']) {
      assertRefused(
        await post(server.name(), 'register', { location: odd }),
        badRequest(/no Lance table at the location/),
      );
    }
  });

  test('takes the location and the URI that a description gives, for a table that was deregistered', async () => {
    for (const form of ['location', 'table_uri']) {
      const table = await server.table();
      const described = (await post(table.id, 'describe', { with_table_uri: true })).json;
      await post(table.id, 'deregister');
      const answer = await post(table.id, 'register', { location: described[form] });
      assert.deepEqual([answer.status, answer.json.location], [200, table.location], answer.text);
    }
    for (const odd of ['file:///etc/x.lance', `file://elsewhere${server.folder}/x.lance`, 'file://%zz/x.lance'])
      assertRefused(await post(server.name(), 'register', { location: odd }), badRequest(/location/));
  });

  test('of a name that exists is a table that exists, also at the location that it has', async () => {
    const table = await server.table();
    assertRefused(await post(table.id, 'register', { location: basename(table.location) }), tableExists);
  });

  test('refuses a table whose files are another’s, as in a shallow clone of the engine’s', async () => {
    const { location } = await server.table();
    const outside = await connect(server.folder, {
      manifestEnabled: false,
      namespaceClientProperties: { manifest_enabled: 'false' },
    });
    const name = server.name('shallow');
    await outside.cloneTable(name, location);
    outside.close();
    const answer = await post(server.name(), 'register', { location: `${name}.lance` });
    assertRefused(answer, badRequest(/outside its directory/));
  });

  test('refuses a directory that belongs to a table, is being removed, or lies inside of another database', async () => {
    const table = await server.table();
    assertRefused(await post(server.name(), 'register', { location: basename(table.location) }), locationTaken);
    const declared = (await post(server.name(), 'declare')).json.location;
    assertRefused(
      await post(server.name(), 'register', { location: basename(declared) }),
      badRequest(/no Lance table/),
    );

    const tenant = await server.database();
    await server.table({ headers: { 'x-service-database': tenant } });
    const location = await foreign(tenant);
    assertRefused(await post(server.name(), 'register', { location }), badRequest(/database/));
    const inside = await server.admin.post(
      at('mine', 'register'),
      { location: basename(location) },
      {
        'x-service-database': tenant,
      },
    );
    assert.equal(inside.status, 200);
  });

  test('refuses a name that exists, unless it is to be replaced, which leaves the data before', async () => {
    const table = await server.table();
    const location = await foreign();
    assertRefused(await post(table.id, 'register', { location }), tableExists);
    assertRefused(await post(table.id, 'register', { location, mode: 'perhaps' }), badRequest(/perhaps/));
    assert.equal((await post(table.id, 'register', { location, mode: '"Overwrite"' })).status, 200);
    assert.equal((await post(table.id, 'describe')).json.location, join(server.folder, location));
    assert.ok(existsSync(table.location));
    const again = server.name();
    assert.equal((await post(again, 'register', { location: basename(table.location) })).status, 200);
  });

  test('is for owners of the database; what was a table before may be taken by who owned that', async () => {
    const location = await foreign();
    const owner = await server.caller('owner', ['sales']);
    assertRefused(await post('sales$x', 'register', { location }, owner), forbidden);
    assertRefused(await post('sales$x', 'register', { location: `absent-${location}` }, owner), forbidden);
    assertRefused(await post('sales$x', 'register', { location }, await server.caller('writer')), forbidden);
    assertRefused(await post('sales$x', 'register', { location }, server.stranger()), unauthenticated);
    const table = await server.table();
    await post(table.id, 'deregister');
    const released = { location: basename(table.location) };
    assertRefused(await post('sales$x', 'register', released, owner), forbidden);

    const own = await server.table({ id: 'sales$own' });
    await post('sales$own', 'deregister', {}, owner);
    assert.equal((await post('sales$x', 'register', { location: basename(own.location) }, owner)).status, 200);
    await post('sales$x', 'drop');
    assert.equal((await post('sales$x', 'register', { location }, await server.caller('owner'))).status, 200);
  });

  test('lets exactly one of many have a directory', async () => {
    const location = await foreign();
    const answers = await Promise.all(
      Array.from({ length: 8 }, async () => post(server.name(), 'register', { location })),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  });
});

suite('POST /v1/table/{id}/deregister', () => {
  test('removes the table, returns the location of its data, and keeps the data', async () => {
    const table = await server.table({ query: { properties: '{"a":"b"}' } });
    const { status, json } = await post(table.id, 'deregister');
    assert.equal(status, 200);
    assert.deepEqual([json.id, json.location, json.properties], [[table.id], table.location, { a: 'b' }]);
    assertRefused(await post(table.id, 'describe'), tableNotFound);
    assert.equal((await server.rows(table)).length > 0, true);
    assert.equal((await server.table({ id: table.id })).version, 1);
    const again = server.name();
    assert.equal((await post(again, 'register', { location: json.location })).status, 200);
    assert.equal((await post(again, 'describe')).json.location, table.location);
  });

  test('waits for a long write: until that ends it is a 503', async () => {
    const { id } = await server.table();
    const location = await foreign();
    const database = await server.catalog.databases.find('default');
    const table = await server.catalog.tables.find(database?.id ?? '', [id]);
    assert.ok(table);
    await holdVersion(server.catalog, table.id, { version: 1 });
    const isHeld = { status: 503, code: CODE.unavailable, detail: /not finished/ };
    assertRefused(await post(id, 'deregister'), isHeld);
    assertRefused(await post(id, 'register', { location, mode: 'overwrite' }), isHeld);
    await server.catalog.tables.release(table.id);
    assert.equal((await post(id, 'deregister')).status, 200);
  });

  test('is for owners', async () => {
    const { id } = await server.table();
    assertRefused(await post(id, 'deregister', {}, await server.caller('writer', [id])), forbidden);
    assertRefused(await post(id, 'deregister', {}, await server.caller('owner', ['other'])), tableNotFound);
    assertRefused(await post(id, 'deregister', {}, server.stranger()), unauthenticated);
    assertRefused(await post('nowhere', 'deregister'), tableNotFound);
    assertRefused(await post(id, 'deregister', { purge: true }), badRequest(/purge/));
  });
});

suite('a start after it', () => {
  test('adopts nothing that was deregistered, and removes what a drop has left', async (t) => {
    const folder = await makeFolder(t);
    const first = await ContractServer.start({ folder });
    const outside = await connect(folder);
    await outside.createTable('mine', [{ id: 1 }]);
    outside.close();
    await first.admin.post('/v1/table/mine/register', { location: 'mine.lance' });
    await first.admin.post('/v1/table/mine/deregister', {});
    const dropped = await first.table();
    // What a crash between the row and the data leaves.
    const database = await first.catalog.databases.find('default');
    assert.ok(database);
    const table = await first.catalog.tables.find(database.id, [dropped.id]);
    assert.ok(table);
    const entry = { operation: 'drop_table', caller: 'key:k', version: 0, requestId: 'r' };
    await first.catalog.tables.drop(table, entry);
    await rm(join(dropped.location, '_versions'), { recursive: true });
    assert.ok(existsSync(dropped.location));
    await first.close();

    const second = await ContractServer.start({ folder });
    assert.deepEqual(await second.listed(), []);
    assert.equal(existsSync(dropped.location), false);
    assert.deepEqual(await second.catalog.tables.removals(), []);
    assert.ok(existsSync(join(folder, 'mine.lance')));
    await second.close();
  });
});
