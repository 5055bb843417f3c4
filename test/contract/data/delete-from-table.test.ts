import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { nestedStream } from '../contract-tables.ts';
import {
  CODE,
  assertRefused,
  badRequest,
  columnNotFound,
  forbidden,
  tableNotFound,
  unauthenticated,
} from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

async function remove(table: Pick<MadeTable, 'at'>, body: object, client: Client = server.admin): Promise<Answer> {
  return client.post(`${table.at}/delete`, body);
}

async function ids(table: MadeTable): Promise<readonly number[]> {
  return (await server.rows(table)).map((row) => row['id']);
}

suite('a delete', () => {
  test('answers with the number of rows, the version and the record of the commit', async () => {
    const table = await server.table({ stream: sampleStream(10) });
    const answer = await remove(table, { predicate: 'id >= 7' });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(Object.keys(answer.json).toSorted(), ['context', 'num_deleted_rows', 'transaction_id', 'version']);
    assert.deepEqual([answer.json.num_deleted_rows, answer.json.version], [3, 2]);
    const record = await server.catalog.transactions.find(answer.json.transaction_id);
    assert.deepEqual([record?.operation, record?.version], ['delete_from_table', 2]);
    assert.deepEqual(await ids(table), [0, 1, 2, 3, 4, 5, 6]);
  });

  test('of no row is a 200', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    assert.equal((await remove(table, { predicate: 'id > 100' })).json.num_deleted_rows, 0);
  });

  test('leaves the other rows as they were, null structs too', async () => {
    const table = await server.table({ stream: nestedStream(12) });
    const before = await server.rows(table);
    await remove(table, { predicate: 'id % 3 = 0' });
    assert.deepEqual(
      await server.rows(table),
      before.filter((row) => row['id'] % 3 !== 0),
    );
  });

  test('may name nested fields', async () => {
    const table = await server.table({ stream: nestedStream(12) });
    assert.equal((await remove(table, { predicate: 'place.x > 3' })).json.num_deleted_rows, 3);
  });

  test('of a branch leaves the main one alone', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    await (await (await server.embedded(table)).branches()).create('trial');
    assert.equal((await remove(table, { predicate: 'true', branch: 'trial' })).json.num_deleted_rows, 4);
    assert.equal((await ids(table)).length, 4);
    assertRefused(await remove(table, { predicate: 'true', branch: 'none' }), {
      status: 404,
      code: CODE.branchNotFound,
    });
  });

  test('answers the LanceDB family, whose newer releases add fields', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    const answer = await server.admin.post(`${table.at}/delete/`, { predicate: 'id = 1', novelty: 1 });
    assert.deepEqual([answer.status, answer.json.num_deleted_rows], [200, 1]);
    const missing = await server.admin.post(`${table.at}/delete/`, { predicate: 'nothing = 1' });
    assertRefused(missing, { status: 400, code: CODE.columnNotFound });
  });
});

suite('a delete is refused and changes nothing', () => {
  const BODIES: Readonly<Record<string, readonly [object, Parameters<typeof assertRefused>[1]]>> = {
    'without a predicate': [{}, badRequest(/predicate/)],
    'with a predicate that is null': [{ predicate: null }, badRequest(/predicate/)],
    'with an empty predicate': [{ predicate: ' ' }, badRequest(/predicate/)],
    'with a misspelt field': [{ predicat: 'id = 1' }, badRequest(/predicat/)],
    'with text behind the condition': [{ predicate: 'id = 1; drop table t' }, badRequest(/predicate/)],
    'with a condition that escapes its parentheses': [{ predicate: 'id = 1) OR (true' }, badRequest(/predicate/)],
    'with a sub-query': [{ predicate: 'id IN (SELECT id FROM t)' }, badRequest(/predicate/)],
    'with what is no condition': [{ predicate: 'id + 1' }, badRequest()],
    'with an unknown column': [{ predicate: 'nothing = 1' }, columnNotFound],
  };
  for (const [name, [body, expected]] of Object.entries(BODIES)) {
    test(name, async () => {
      const table = await server.table({ stream: sampleStream(3) });
      assertRefused(await remove(table, body), expected);
      assert.deepEqual(await ids(table), [0, 1, 2]);
      assert.equal(await (await server.embedded(table)).version(), 1);
    });
  }

  test('without a credential, without the permission, where it is hidden or absent', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const body = { predicate: 'true' };
    assertRefused(await remove(table, body, server.stranger()), unauthenticated);
    assertRefused(await remove(table, body, await server.caller('reader')), forbidden);
    assertRefused(await remove(table, body, await server.caller('writer', ['elsewhere'])), tableNotFound);
    assertRefused(await remove({ at: '/v1/table/absent' }, body), tableNotFound);
    assert.deepEqual(await ids(table), [0, 1, 2]);
  });
});
