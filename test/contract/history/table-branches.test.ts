import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, suite, test } from 'node:test';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { ok } from '../../support/client.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { count } from '../contract-tables.ts';
import { planOf } from '../plan-tree.ts';
import { CODE, assertRefused, badRequest } from '../refusal.ts';

const NO_VERSION = { status: 404, code: CODE.versionNotFound } as const;
const NO_BRANCH = { status: 404, code: CODE.branchNotFound } as const;
const EXISTS = { status: 409, code: CODE.branchExists } as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

/** Three versions, each with one price for all of its four rows: the original ones, 2, and 3. */
async function pricedTable(): Promise<MadeTable> {
  const table = await server.table({ stream: sampleStream(4) });
  for (const price of ['2', '3']) await updated(server.admin, table, { updates: [['price', price]] });
  return table;
}

async function ask(table: MadeTable, operation: string, body: unknown = {}): Promise<Answer> {
  return server.admin.post(`${table.at}/${operation}`, body);
}

async function done(table: MadeTable, operation: string, body: object): Promise<void> {
  assert.match(ok(await ask(table, operation, body)).transaction_id, /./);
}

async function withPrice(table: MadeTable, price: number, branch?: string): Promise<number> {
  return (await planOf(server.admin, table, { filter: `price = ${price}`, branch })).rows;
}

async function names(table: MadeTable): Promise<readonly string[]> {
  return Object.keys((await ask(table, 'branches/list')).json.branches);
}

suite('a new branch', () => {
  test('starts at the latest version of the main branch', async () => {
    const table = await pricedTable();
    await done(table, 'branches/create', { name: 'trial' });
    assert.equal(await withPrice(table, 3, 'trial'), 4);
    const { trial } = (await ask(table, 'branches/list')).json.branches;
    assert.equal(trial.parentVersion, 3);
    assert.equal('parentBranch' in trial, false);
    assert.ok(trial.manifestSize > 0);
    assert.ok(Math.abs(trial.createAt - Date.now() / 1000) < 600);
  });

  test('starts at a version, or at another branch, or at a version of it', async () => {
    const table = await pricedTable();
    await done(table, 'branches/create', { name: 'second', from_version: 2 });
    assert.equal(await withPrice(table, 2, 'second'), 4);
    await updated(server.admin, table, { updates: [['price', '20']], branch: 'second' });
    await done(table, 'branches/create', { name: 'child', from_branch: 'second' });
    await done(table, 'branches/create', { name: 'early/child', from_branch: 'second', from_version: 2 });
    await done(table, 'branches/create', { name: 'plain', from_branch: 'main', from_version: 1 });
    assert.equal(await withPrice(table, 20, 'child'), 4);
    assert.equal(await withPrice(table, 2, 'early/child'), 4);
    const { branches } = (await ask(table, 'branches/list')).json;
    assert.deepEqual([branches.child.parentBranch, branches.child.parentVersion], ['second', 3]);
    assert.deepEqual([branches['early/child'].parentBranch, branches['early/child'].parentVersion], ['second', 2]);
    assert.deepEqual([branches.plain.parentBranch, branches.plain.parentVersion], [undefined, 1]);
  });

  const skip = readEngineRelease().isFallback && 'seen in the main engine';
  test('of a branch cannot use an index that both inherited, until it is built there again', { skip }, async () => {
    const table = await pricedTable();
    await done(table, 'create_scalar_index', { column: 'id', index_type: 'BTREE' });
    await done(table, 'branches/create', { name: 'child' });
    await done(table, 'branches/create', { name: 'grandchild', from_branch: 'child' });
    const where = { branch: 'grandchild', predicate: 'id = 1' };
    const requests = [
      ['query', { branch: 'grandchild', filter: 'id = 1', k: 1, vector: [] }],
      ['count_rows', where],
      ['update', { ...where, updates: [['price', '5']] }],
      ['delete', where],
    ] as const;
    for (const [operation, body] of requests) {
      const answer = await ask(table, operation, body);
      const detail = /cannot read an index of this branch.* Build the index again on the branch/;
      assertRefused(answer, { status: 406, code: CODE.unsupported, detail });
    }
    assert.equal((await ask(table, 'delete', { ...where, branch: 'child' })).status, 200);
    await done(table, 'create_scalar_index', { column: 'id', index_type: 'BTREE', branch: 'grandchild' });
    for (const [operation, body] of requests) assert.equal((await ask(table, operation, body)).status, 200, operation);
  });

  test('of a branch can replace or drop inherited indexes of every kind', { skip }, async () => {
    const table = await server.table({ stream: sampleStream(300) });
    const indexes = [
      { column: 'vec', index_type: 'IVF_FLAT' },
      { column: 'name', index_type: 'FTS' },
    ];
    for (const index of indexes) await done(table, 'create_index', index);
    await done(table, 'branches/create', { name: 'child' });
    for (const branch of ['replaced', 'dropped']) {
      await done(table, 'branches/create', { name: branch, from_branch: 'child' });
      const search = { branch, vector: { single_vector: [1, 2, 3, 4] }, k: 1 };
      const match = { branch, full_text_query: { string_query: { query: '7', columns: ['name'] } }, vector: [], k: 1 };
      for (const body of [search, match]) assert.equal((await ask(table, 'query', body)).status, 406);
      for (const { column, index_type } of indexes) {
        if (branch === 'replaced') await done(table, 'create_index', { column, index_type, branch });
        else await done(table, `index/${column}_idx/drop?branch=${branch}`, {});
      }
      assert.equal((await ask(table, 'query', search)).status, 200);
      const left = (await ask(table, 'index/list', { branch })).json.indexes.length;
      assert.equal(left, branch === 'replaced' ? 2 : 0);
      if (branch === 'replaced') assert.equal((await ask(table, 'query', match)).status, 200);
      else assert.equal((await ask(table, `index/name_idx/drop?branch=${branch}`)).status, 404);
    }
  });

  test('changes without the main branch, and the main branch without it', async () => {
    const table = await pricedTable();
    await done(table, 'branches/create', { name: 'trial' });
    await updated(server.admin, table, { updates: [['price', '30']], branch: 'trial' });
    await updated(server.admin, table, { updates: [['price', '40']] });
    assert.deepEqual([await withPrice(table, 30, 'trial'), await withPrice(table, 40)], [4, 4]);
    assert.equal(await withPrice(table, 40, 'main'), 4);
  });

  test('that exists is a 409 to every client, whatever version it starts at', async () => {
    const table = await pricedTable();
    await done(table, 'branches/create', { name: 'trial' });
    for (const body of [{ name: 'trial' }, { name: 'trial', from_version: 1 }, { name: 'main' }]) {
      for (const slash of ['', '/']) {
        assertRefused(await ask(table, `branches/create${slash}`, body), { ...EXISTS, detail: /already exists/ });
      }
    }
    assert.equal(await withPrice(table, 3, 'trial'), 4);
  });

  test('of one name is made once, however many ask', async () => {
    const table = await pricedTable();
    const answers = await Promise.all(count(8).map(async () => ask(table, 'branches/create', { name: 'race' })));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((one, other) => one - other),
      [200, ...count(7).map(() => 409)],
    );
  });

  test('needs an existing source, and leaves nothing without one', async () => {
    const table = await pricedTable();
    const files = await readdir(table.location, { recursive: true });
    assertRefused(await ask(table, 'branches/create', { name: 'x', from_branch: 'nowhere' }), {
      ...NO_BRANCH,
      detail: /nowhere/,
    });
    assertRefused(await ask(table, 'branches/create', { name: 'x', from_version: 99 }), NO_VERSION);
    assert.deepEqual(await readdir(table.location, { recursive: true }), files);
  });

  test('has a name that is safe: nothing is written for another', async () => {
    const table = await pricedTable();
    const files = await readdir(server.folder, { recursive: true });
    for (const name of [
      '',
      '.',
      '..',
      '../x',
      'a/../../x',
      'a//b',
      '/a',
      'a/',
      'a b',
      'é',
      'a\\b',
      '%2e%2e',
      'x.lock',
      'data',
      'a/_versions',
      'x\u0000',
      'a'.repeat(201),
    ]) {
      assertRefused(await ask(table, 'branches/create', { name }), badRequest(/branch|name/));
      assertRefused(await ask(table, 'branches/delete', { name }), NO_BRANCH);
    }
    assert.deepEqual(await readdir(server.folder, { recursive: true }), files);
  });

  test('needs a name', async () => {
    const table = await pricedTable();
    for (const body of [{}, { name: 1 }, { name: 'a', from_version: -1 }, { name: 'a', from: 'b' }]) {
      assertRefused(await ask(table, 'branches/create', body), badRequest(/name|from/));
    }
    assertRefused(await ask(table, 'branches/delete', {}), badRequest(/name/));
  });
});

suite('a branch that is deleted', () => {
  test('is gone, and may be made again with other contents', async () => {
    const table = await pricedTable();
    await done(table, 'branches/create', { name: 'trial', from_version: 2 });
    await updated(server.admin, table, { updates: [['price', '20']], branch: 'trial' });
    assert.equal(await withPrice(table, 20, 'trial'), 4);
    await done(table, 'branches/delete', { name: 'trial' });
    assertRefused(await ask(table, 'describe', { branch: 'trial' }), NO_BRANCH);
    assertRefused(await ask(table, 'update', { updates: [['price', '1']], branch: 'trial' }), NO_BRANCH);
    assert.deepEqual(await names(table), []);
    await done(table, 'branches/create', { name: 'trial', from_version: 2 });
    assert.equal(await withPrice(table, 20, 'trial'), 0);
    assert.equal(await withPrice(table, 2, 'trial'), 4);
    await updated(server.admin, table, { updates: [['price', '21']], branch: 'trial' });
    assert.equal(await withPrice(table, 21, 'trial'), 4);
    assert.equal((await ask(table, 'describe', { branch: 'trial' })).json.version, 3);
  });

  test('must be there, and cannot be the main one', async () => {
    const table = await pricedTable();
    assertRefused(await ask(table, 'branches/delete', { name: 'nowhere' }), { ...NO_BRANCH, detail: /nowhere/ });
    assertRefused(await ask(table, 'branches/delete', { name: 'main' }), badRequest(/main branch/));
  });

  test('may not be one that others started at: a 409, and a 400 for the client that repeats after one', async () => {
    const table = await pricedTable();
    await done(table, 'branches/create', { name: 'parent' });
    await done(table, 'branches/create', { name: 'child', from_branch: 'parent' });
    assertRefused(await ask(table, 'branches/delete', { name: 'parent' }), { status: 409, code: CODE.tableState });
    assertRefused(await ask(table, 'branches/delete/', { name: 'parent' }), { status: 400, code: CODE.tableState });
    await done(table, 'branches/delete', { name: 'child' });
    await done(table, 'branches/delete', { name: 'parent' });
  });

  test('leaves those whose names lie below its own', async () => {
    const table = await pricedTable();
    for (const name of ['team', 'team/one', 'team/one/a']) await done(table, 'branches/create', { name });
    await done(table, 'branches/delete', { name: 'team' });
    await done(table, 'branches/delete', { name: 'team/one' });
    assert.equal(await withPrice(table, 3, 'team/one/a'), 4);
  });

  test('is gone in all respects, also if the name of another lies below its own', async () => {
    const table = await pricedTable();
    for (const name of ['team', 'team/one']) await done(table, 'branches/create', { name, from_version: 2 });
    for (const branch of ['team', 'team/one'])
      await updated(server.admin, table, { updates: [['price', '20']], branch });
    await done(table, 'branches/delete', { name: 'team' });
    assertRefused(await ask(table, 'describe', { branch: 'team' }), NO_BRANCH);
    assertRefused(await ask(table, 'count_rows', { branch: 'team', version: 2 }), NO_BRANCH);
    assertRefused(await ask(table, 'update', { updates: [['price', '1']], branch: 'team' }), NO_BRANCH);
    assertRefused(await server.admin.arrow(`${table.at}/insert?branch=team`, sampleStream(1)), NO_BRANCH);
    assertRefused(await ask(table, 'tags/create', { tag: 'old', branch: 'team', version: 3 }), NO_BRANCH);
    assertRefused(await ask(table, 'branches/delete', { name: 'team' }), NO_BRANCH);
    await done(table, 'branches/create', { name: 'team', from_version: 1 });
    assert.equal(await withPrice(table, 20, 'team'), 0);
    assert.equal((await ask(table, 'count_rows', { branch: 'team' })).json, 4);
    await done(table, 'branches/delete', { name: 'team' });
    assert.equal(await withPrice(table, 20, 'team/one'), 4);
  });

  test('takes no writes, and can be created again, after its deletion was interrupted', async () => {
    const table = await pricedTable();
    for (const name of ['team', 'team/one']) await done(table, 'branches/create', { name });
    // The engine removes it from the list of branches, and no more.
    await (await (await server.embedded(table)).branches()).delete('team');
    assertRefused(await ask(table, 'update', { updates: [['price', '1']], branch: 'team' }), NO_BRANCH);
    await done(table, 'branches/create', { name: 'team', from_version: 2 });
    assert.equal(await withPrice(table, 2, 'team'), 4);
    assert.equal(await withPrice(table, 3, 'team/one'), 4);
  });
});

suite('the list of branches', () => {
  test('comes in pages, by GET and by POST', async () => {
    const table = await pricedTable();
    assert.deepEqual(await names(table), []);
    for (const name of ['c', 'a', 'b']) await done(table, 'branches/create', { name });
    assert.deepEqual(await names(table), ['a', 'b', 'c']);
    const first = await server.admin.get(`${table.at}/branches/list?limit=2`);
    assert.deepEqual([Object.keys(first.json.branches), first.json.page_token], [['a', 'b'], 'b']);
    const second = await ask(table, 'branches/list?limit=2&page_token=b');
    assert.deepEqual([Object.keys(second.json.branches), second.json.page_token], [['c'], undefined]);
    assert.deepEqual(Object.keys((await ask(table, 'branches/list/', 'null')).json.branches), ['a', 'b', 'c']);
  });

  test('has what another process made a moment ago', async () => {
    const table = await pricedTable();
    const branches = await (await server.embedded(table)).branches();
    await branches.create('outside');
    assert.deepEqual(await names(table), ['outside']);
    await branches.delete('outside');
    assert.deepEqual(await names(table), []);
  });
});
