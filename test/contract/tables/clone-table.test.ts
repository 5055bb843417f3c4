import assert from 'node:assert/strict';
import { cp, rm, stat, symlink } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

let server: ContractServer;
let source: MadeTable;
before(async () => {
  server = await ContractServer.start();
  await server.namespace(['sales']);
  source = await server.table({ query: { properties: '{"a":"b"}' } });
  await server.admin.post(`${source.at}/update`, { updates: [['id', 'id + 100']] });
});
after(async () => server.close());

const clone = async (id: string, body: object, client = server.admin): Promise<Answer> =>
  client.post(`/v1/table/${encodeURIComponent(id)}/clone`, body);
const from = (table: MadeTable, more: object = {}): object => ({
  source_location: table.location,
  is_shallow: true,
  ...more,
});
const ids = async (table: { readonly location: string }): Promise<readonly unknown[]> =>
  (await server.rows(table)).map((row) => row['id']);

suite('POST /v1/table/{id}/clone', () => {
  for (const isShallow of [true, false, undefined]) {
    test(`makes a table of the latest version (is_shallow ${isShallow ?? 'absent'})`, async () => {
      const id = server.name('clone');
      const body = { source_location: source.location, ...(isShallow === undefined ? {} : { is_shallow: isShallow }) };
      const { status, json } = await clone(id, body);
      assert.equal(status, 200);
      assert.deepEqual([json.version, json.properties], [2, { a: 'b' }]);
      assert.notEqual(json.location, source.location);
      assert.deepEqual(await ids(json), await ids(source));
      assert.equal((await server.admin.post(`/v1/table/${id}/describe`, {})).json.version, 2);
    });
  }

  test('makes one of an earlier version, of a tag, and from the URI of the source', async () => {
    const first = await clone(server.name('clone'), from(source, { source_version: 1 }));
    assert.equal(first.json.version, 1);
    await server.admin.post(`${source.at}/tags/create`, { tag: 'begin', version: 1 });
    const tagged = await clone(server.name('clone'), from(source, { source_tag: 'begin' }));
    assert.deepEqual(await ids(tagged.json), await ids(first.json));
    const { table_uri: uri } = (await server.admin.post(`${source.at}/describe`, { with_table_uri: true })).json;
    assert.equal((await clone(server.name('clone'), { source_location: uri })).status, 200);
  });

  test('shares the files with its source, and yet is changed, and dropped, without it', async () => {
    const origin = await server.table();
    const id = server.name('clone');
    const { json } = await clone(id, from(origin));
    const [file = ''] = readdirSync(join(json.location, 'data'));
    const [one, other] = await Promise.all([
      stat(join(json.location, 'data', file)),
      stat(join(origin.location, 'data', file)),
    ]);
    assert.equal(one.ino, other.ino);

    const rows = await ids(origin);
    await server.admin.post(`/v1/table/${id}/update`, { updates: [['id', '7']] });
    assert.deepEqual(await ids(origin), rows);
    const second = (await clone(server.name('clone'), from(origin))).json;
    await server.admin.post(`${origin.at}/drop`, {});
    assert.deepEqual(await ids(second), rows);
    assert.ok((await ids(json)).every((value) => value === 7));
  });

  test('makes one of a branch, with its files, the inherited ones and its indexes', async () => {
    const origin = await server.table({ stream: sampleStream(300) });
    const ask = async (operation: string, body: object): Promise<void> => {
      const answer = await server.admin.post(`${origin.at}/${operation}`, body);
      assert.equal(answer.status, 200, answer.text);
    };
    await ask('delete', { predicate: 'id = 0' });
    await ask('create_scalar_index', { column: 'id', index_type: 'BTREE' });
    await ask('branches/create', { name: 'trial' });
    await ask('update', { branch: 'trial', updates: [['id', 'id + 1000']], predicate: 'id < 10' });
    await ask('branches/create', { name: 'team/second', from_branch: 'trial' });
    // Not by the index: the engine does not find it from a branch of a branch.
    await ask('delete', { branch: 'team/second', predicate: 'id + 0 = 20' });
    await ask('tags/create', { tag: 'reviewed', branch: 'team/second', version: 5 });

    const trial = await clone(server.name('clone'), from(origin, { source_branch: 'trial' }));
    assert.equal(trial.status, 200, trial.text);
    const healed = server.name('clone');
    const second = await clone(healed, from(origin, { source_branch: 'team/second' }));
    const earlier = await clone(
      server.name('clone'),
      from(origin, { source_branch: 'team/second', source_version: 4 }),
    );
    const tagged = await clone(server.name('clone'), from(origin, { source_tag: 'reviewed' }));
    const main = await clone(server.name('clone'), from(origin, { source_branch: 'main' }));
    await ask('drop', {});
    const all = Array.from({ length: 300 }, (_, index) => index).slice(1);
    const onTrial = all.map((id) => (id < 10 ? id + 1000 : id)).toSorted((one, other) => one - other);
    const onSecond = onTrial.filter((id) => id !== 20);
    assert.deepEqual(await ids(main.json), all);
    assert.deepEqual(await ids(trial.json), onTrial);
    assert.deepEqual(await ids(earlier.json), onTrial);
    assert.deepEqual(await ids(second.json), onSecond);
    assert.deepEqual(await ids(tagged.json), onSecond);
    const searched = await server.admin.post(`/v1/table/${healed}/count_rows`, { predicate: 'id = 21' });
    assert.equal(searched.json, 1);
    assert.deepEqual([trial.json.version, second.json.version, earlier.json.version], [4, 5, 4]);
  });

  test('a clone of a branch is searched by its index, changed, and compacted like any table', async () => {
    const origin = await server.table({ stream: sampleStream(300) });
    await server.admin.post(`${origin.at}/create_scalar_index`, { column: 'id', index_type: 'BTREE' });
    await server.admin.post(`${origin.at}/branches/create`, { name: 'trial' });
    await server.admin.post(`${origin.at}/delete`, { branch: 'trial', predicate: 'id < 10' });
    const id = server.name('clone');
    const { json } = await clone(id, from(origin, { source_branch: 'trial' }));
    await server.admin.post(`${origin.at}/drop`, {});
    const ask = async (operation: string, body: object = {}): Promise<Answer> => {
      const answer = await server.admin.post(`/v1/table/${id}/${operation}`, body);
      assert.equal(answer.status, 200, answer.text);
      return answer;
    };
    assert.equal((await ask('index/list')).json.indexes.length, 1);
    assert.match((await ask('explain_plan', { query: { filter: 'id = 30', k: 1 } })).text, /ScalarIndexQuery/);
    assert.equal((await ask('count_rows', { predicate: 'id < 20' })).json, 10);
    assert.deepEqual(Object.keys((await ask('branches/list')).json.branches), []);
    assert.deepEqual(
      (await ask('version/list')).json.versions.map(({ version }: { version: number }) => version),
      [json.version],
    );
    await ask('update', { updates: [['id', 'id + 1000']], predicate: 'id < 20' });
    await ask('branches/create', { name: 'again' });
    await ask('maintenance/run');
    assert.equal((await ask('count_rows', { predicate: 'id > 1000' })).json, 10);
    assert.equal((await ids(json)).length, 290);
  });

  test('takes no file from outside of the source, whatever a branch or a link refers to', async () => {
    const origin = await server.table();
    await server.admin.post(`${origin.at}/branches/create`, { name: 'trial' });
    const copy = join(server.folder, 'copied.lance');
    await cp(origin.location, copy, { recursive: true });
    const register = await server.admin.post('/v1/table/copied/register', { location: 'copied.lance' });
    assert.equal(register.status, 200, register.text);
    // The branch of the copy still refers to the files of the original.
    const foreign = await clone('x', { source_location: copy, source_branch: 'trial' });
    assertRefused(foreign, badRequest(/files outside the table/));
    assert.equal((await clone(server.name('clone'), { source_location: copy })).status, 200);
    const [file = ''] = readdirSync(join(copy, 'data'));
    await rm(join(copy, 'data', file));
    await symlink(join(origin.location, 'data', file), join(copy, 'data', file));
    assertRefused(await clone('x', { source_location: copy }), { status: 409, code: CODE.tableState });
  });

  test('answers alike for a location that is no table’s and for one that the caller may not read', async () => {
    const caller = await server.caller('owner', ['sales']);
    const hidden = await clone('sales$x', from(source), caller);
    assertRefused(hidden, tableNotFound);
    for (const location of [
      '/etc',
      '/',
      server.folder,
      `${source.location}/data`,
      `${source.location}/../x`,
      's3://b/x',
    ]) {
      const absent = await clone('sales$x', { source_location: location }, caller);
      assertRefused(absent, tableNotFound);
      assert.equal(absent.json.detail, hidden.json.detail);
    }
    const key = await server.key([
      { role: 'owner', database: 'default', path: ['sales'] },
      { role: 'reader', database: 'default', path: [source.id] },
    ]);
    assert.equal((await clone('sales$x', from(source), server.client({ key }))).status, 200);
  });

  test('takes a table of another database, when the caller may read it', async () => {
    const tenant = await server.database();
    const theirs = await server.table({ headers: { 'x-service-database': tenant } });
    assertRefused(await clone(server.name(), from(theirs), await server.caller('owner')), tableNotFound);
    assert.equal((await clone(server.name('clone'), from(theirs))).status, 200);
  });

  test('refuses what exists, missing versions and tags, both at once, a declared source, bad bodies and callers', async () => {
    assertRefused(await clone(source.id, from(source)), { status: 409, code: CODE.tableExists });
    assertRefused(await clone('x', from(source, { source_version: 99 })), { status: 404, code: CODE.versionNotFound });
    assertRefused(await clone('x', from(source, { source_tag: 'nope' })), { status: 404, code: 8 });
    assertRefused(await clone('x', from(source, { source_tag: 'begin', source_version: 1 })), badRequest());
    assertRefused(await clone('x', from(source, { source_tag: 'begin', source_branch: 'main' })), badRequest());
    const noBranch = { status: 404, code: CODE.branchNotFound };
    assertRefused(await clone('x', from(source, { source_branch: 'nope' })), noBranch);
    for (const name of ['', '../main', 'a/../../b']) {
      assertRefused(await clone('x', from(source, { source_branch: name })), badRequest(/branch/));
    }
    const declared = (await server.admin.post('/v1/table/planned/declare', {})).json;
    assertRefused(await clone('x', { source_location: declared.location }), tableNotFound);
    assertRefused(await clone('x', {}), badRequest(/source_location/));
    assertRefused(await clone('x', from(source, { deep: true })), badRequest(/deep/));
    assertRefused(await clone('nowhere$x', from(source)), { status: 404, code: CODE.namespaceNotFound });
    assertRefused(await clone('x', from(source), await server.caller('reader')), forbidden);
    assertRefused(await clone('x', from(source), server.stranger()), unauthenticated);
    assert.ok(!(await server.listed()).includes('x'));
    assert.equal((await server.catalog.tables.unfinished()).reservations.length, 0);
  });
});
