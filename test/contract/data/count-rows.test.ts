import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { assertRefused, badRequest, columnNotFound, tableNotFound, unauthenticated } from '../refusal.ts';

let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await server.table();
});
after(async () => server.close());

suite('a count', () => {
  test('is a bare number, asked for by POST or GET, in both dialects', async () => {
    for (const at of [`${table.at}/count_rows`, `${table.at}/count_rows/`]) {
      assert.equal((await server.admin.post(at, {})).text, '10');
      assert.equal((await server.admin.post(at, { version: null })).text, '10');
      assert.equal((await server.admin.get(at)).text, '10');
    }
  });

  test('counts the rows of a predicate', async () => {
    const answer = await server.admin.post(`${table.at}/count_rows`, { predicate: 'id >= 7 OR point.x = 0' });
    assert.equal(answer.text, '4');
    assert.equal((await server.admin.post(`${table.at}/count_rows`, { predicate: 'point IS NULL' })).text, '3');
  });

  test('tells the version that was counted, also of an earlier one', async () => {
    const changed = await server.table();
    await server.admin.post(`${changed.at}/update`, { updates: [['price', '-1']], predicate: 'id < 4' });
    const count = async (body: object): Promise<readonly unknown[]> => {
      const answer = await server.admin.post(`${changed.at}/count_rows`, { predicate: 'price < 0', ...body });
      return [answer.json, answer.headers.get('x-lancedb-version')];
    };
    assert.deepEqual(await count({}), [4, '2']);
    assert.deepEqual(await count({ version: 1 }), [0, '1']);
  });

  test('counts a branch', async () => {
    const branched = await server.table();
    const branch = await (await (await server.embedded(branched)).branches()).create('draft');
    await branch.delete('id > 2');
    assert.equal((await server.admin.post(`${branched.at}/count_rows`, { branch: 'draft' })).json, 3);
    assert.equal((await server.admin.post(`${branched.at}/count_rows`, {})).json, 10);
  });

  test('is refused for a predicate that is none', async () => {
    for (const predicate of ['id =', 'id = 1; drop', 'id + 1']) {
      assertRefused(await server.admin.post(`${table.at}/count_rows`, { predicate }), badRequest());
    }
    assertRefused(await server.admin.post(`${table.at}/count_rows`, { predicat: 'id = 1' }), badRequest(/predicat/));
  });

  test('is refused for what is not there', async () => {
    assertRefused(await server.admin.post(`${table.at}/count_rows`, { predicate: 'nope = 1' }), columnNotFound);
    assertRefused(await server.admin.post(`${table.at}/count_rows`, { version: 77 }), { status: 404, code: 11 });
    assertRefused(await server.admin.get('/v1/table/none/count_rows'), tableNotFound);
  });

  test('is refused without a credential, and hides what the caller may not see', async () => {
    assertRefused(await server.stranger().get(`${table.at}/count_rows`), unauthenticated);
    const other = await server.caller('reader', ['elsewhere']);
    assertRefused(await other.post(`${table.at}/count_rows`, {}), tableNotFound);
    const reader = await server.caller('reader');
    assert.equal((await reader.post(`${table.at}/count_rows`, {})).json, 10);
  });
});
