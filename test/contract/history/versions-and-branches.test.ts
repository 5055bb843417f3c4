import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer, plainRows, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, count, streamOf } from '../contract-tables.ts';
import { analyze, planOf } from '../plan-tree.ts';
import { CODE, assertRefused, badRequest, columnNotFound } from '../refusal.ts';

const NO_VERSION = { status: 404, code: CODE.versionNotFound } as const;
const NO_BRANCH = { status: 404, code: CODE.branchNotFound } as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

/** How many of the rows have the price. */
async function withPrice(table: MadeTable, price: number, state: object = {}): Promise<number> {
  return (await planOf(server.admin, table, { filter: `price = ${price}`, ...state })).rows;
}

suite('the version of a query', () => {
  let table: MadeTable;
  before(async () => {
    table = await server.table({ stream: sampleStream(4) });
    for (const price of ['100', '200']) await updated(server.admin, table, { updates: [['price', price]] });
  });

  test('is the latest when none is given', async () => {
    assert.equal(await withPrice(table, 200), 4);
    assert.equal(await withPrice(table, 200, { version: null }), 4);
  });

  test('is any version that the table has, with the rows that it had then', async () => {
    assert.equal(await withPrice(table, 200, { version: 3 }), 4);
    assert.equal(await withPrice(table, 100, { version: 2 }), 4);
    assert.equal(await withPrice(table, 0, { version: 1 }), 1);
  });

  test('stays what it was while others read other versions', async () => {
    const prices = [0, 100, 200];
    for (let round = 0; round < 5; round += 1) {
      const rows = await Promise.all(
        count(6).map(async (each) => withPrice(table, prices[each % 3] ?? 0, { version: (each % 3) + 1 })),
      );
      assert.deepEqual(rows, [1, 4, 4, 1, 4, 4]);
    }
    assert.equal(await withPrice(table, 200), 4);
  });

  test('that the table does not have is a 404', async () => {
    for (const version of [0, 4, 99, Number.MAX_SAFE_INTEGER]) {
      assertRefused(await analyze(server.admin, table, { version }), {
        ...NO_VERSION,
        detail: new RegExp(`\\b${version}\\b`),
      });
    }
  });

  test('that is no integer from 0 is a 400', async () => {
    for (const version of [-1, 1.5, '1', true, [1], 2 ** 60]) {
      assertRefused(await analyze(server.admin, table, { version }), badRequest(/version/));
    }
  });

  test('has the schema that the table had then', async () => {
    const made = await server.table({ stream: sampleStream(2) });
    const other = streamOf({ only: { type: new Int32(), values: [1] } });
    assert.equal((await server.admin.arrow(`${made.at}/create?mode=overwrite`, other)).status, 200);
    assert.equal((await analyze(server.admin, made, { filter: 'price > 0', version: 1 })).status, 200);
    assertRefused(await analyze(server.admin, made, { filter: 'price > 0' }), columnNotFound);
    assertRefused(await analyze(server.admin, made, { filter: 'only > 0', version: 1 }), columnNotFound);
  });

  test('may be one that another process made a moment ago', async () => {
    const made = await server.table({ stream: sampleStream(4) });
    assert.equal(await withPrice(made, 777), 0);
    await (await server.embedded(made)).update({ valuesSql: { price: '777' } });
    assert.equal(await withPrice(made, 777), 4);
    assert.equal(await withPrice(made, 777, { version: 2 }), 4);
    assert.equal((await updated(server.admin, made, { updates: [['price', '0']] })).json.version, 3);
  });

  test('may be one that has a tag', async () => {
    const tags = await (await server.embedded(table)).tags();
    await tags.create('first', 1);
    assert.equal(await withPrice(table, 0, { version: await tags.getVersion('first') }), 1);
  });
});

suite('the version in a reply', () => {
  test('counts every commit of the table, whichever operation made it', async () => {
    const table = await server.table();
    const versions = [
      table.version,
      (await updated(server.admin, table, { updates: [['price', '1']] })).json.version,
      (
        await server.admin.post(`${table.at}/update_field_metadata`, {
          updates: [{ path: 'id', metadata: { a: '1' } }],
        })
      ).json.version,
      (await server.admin.arrow(`${table.at}/create?mode=overwrite`, sampleStream(1))).json.version,
      (await server.admin.arrow(`${table.at}/create?mode=exist_ok`, sampleStream(1))).json.version,
      (await updated(server.admin, table, { updates: [['price', '1']] })).json.version,
    ];
    assert.deepEqual(versions, [1, 2, 3, 4, 4, 5]);
  });
});

suite('the branch of a request', () => {
  let table: MadeTable;
  before(async () => {
    table = await server.table({ stream: sampleStream(4) });
    const branches = await (await server.embedded(table)).branches();
    await branches.create('trial');
    await branches.create('team/feature-1');
  });

  const onBranch = async (operation: string, body: object): Promise<Answer> =>
    server.admin.post(`${table.at}/${operation}`, body);

  test('is the main branch when none is given, or when it is called main', async () => {
    await updated(server.admin, table, { updates: [['price', '11']], branch: null });
    assert.equal(await withPrice(table, 11), 4);
    assert.equal(await withPrice(table, 11, { branch: 'main' }), 4);
    const { json } = await updated(server.admin, table, { updates: [['price', '12']], branch: 'main' });
    assert.equal(json.version, await (await server.embedded(table)).version());
    assert.equal(await withPrice(table, 12), 4);
  });

  test('of a write is refused when the body and the URL name different ones', async () => {
    const body = { new_columns: [{ name: 'other', data_type: 'string' }], branch: 'main' };
    for (const [operation, sent] of [
      ['add_columns', body],
      ['schema_metadata/update', { metadata: { owner: 'test' }, branch: 'main' }],
      ['index/id_idx/drop', { branch: 'main' }],
    ] as const) {
      const answer = await server.admin.post(`${table.at}/${operation}?branch=side`, sent);
      assertRefused(answer, badRequest(/different values of branch/));
    }
  });

  test('of an update is changed, and no other', async () => {
    const { json } = await updated(server.admin, table, {
      updates: [['price', '50']],
      predicate: 'id < 2',
      branch: 'trial',
    });
    assert.equal(json.updated_rows, 2);
    assert.equal(await withPrice(table, 50, { branch: 'trial' }), 2);
    assert.equal(await withPrice(table, 50), 0);
    assert.equal(await withPrice(table, 50, { branch: 'team/feature-1' }), 0);
    const branch = await (await (await server.embedded(table)).branches()).checkout('trial');
    assert.equal(await branch.version(), json.version);
    assert.deepEqual(
      (await plainRows(branch)).map((row) => row['price'] === 50),
      [true, true, false, false],
    );
  });

  test('of a field metadata update is changed, and no other', async () => {
    const updates = [{ path: 'price', metadata: { unit: 'EUR' } }];
    const { status, json } = await onBranch('update_field_metadata', { updates, branch: 'trial' });
    assert.equal(status, 200);
    assert.deepEqual(json.fields, { price: { unit: 'EUR' } });
    const main = await onBranch('update_field_metadata', { updates: [{ path: 'price', metadata: {} }] });
    assert.deepEqual(main.json.fields, { price: {} });
  });

  test('of an analysis is the one that is read, at the given version when there is one', async () => {
    const { json } = await updated(server.admin, table, { updates: [['price', '60']], branch: 'team/feature-1' });
    assert.equal(await withPrice(table, 60, { branch: 'team/feature-1' }), 4);
    assert.equal(await withPrice(table, 60, { branch: 'team/feature-1', version: json.version }), 4);
    await updated(server.admin, table, { updates: [['price', '61']], branch: 'team/feature-1' });
    assert.equal(await withPrice(table, 60, { branch: 'team/feature-1', version: json.version }), 4);
    assert.equal(await withPrice(table, 61, { branch: 'team/feature-1' }), 4);
    assertRefused(await analyze(server.admin, table, { branch: 'team/feature-1', version: 999 }), NO_VERSION);
  });

  test('may have been made, or changed, behind the back of the service a moment ago', async () => {
    const branches = await (await server.embedded(table)).branches();
    const fresh = await branches.create('fresh');
    await fresh.update({ valuesSql: { price: '70' } });
    assert.equal(await withPrice(table, 70, { branch: 'fresh' }), 4);
    await fresh.update({ valuesSql: { price: '71' } });
    assert.equal(await withPrice(table, 71, { branch: 'fresh' }), 4);
  });

  test('that is not there is a 404, and nothing is changed', async () => {
    const version = await (await server.embedded(table)).version();
    for (const branch of ['nope', 'team', 'Trial', 'trial/x']) {
      assertRefused(await onBranch('analyze_plan', { branch }), { ...NO_BRANCH, detail: new RegExp(`"${branch}"`) });
      assertRefused(await onBranch('update', { updates: [['price', '1']], branch }), NO_BRANCH);
      assertRefused(
        await onBranch('update_field_metadata', { updates: [{ path: 'price', metadata: {} }], branch }),
        NO_BRANCH,
      );
    }
    assert.equal(await (await server.embedded(table)).version(), version);
  });

  test('that is no name of a branch is a 400, and reaches no other path', async () => {
    for (const branch of [
      '',
      '..',
      '../main',
      'a/../../b',
      '/trial',
      'trial/',
      'a b',
      'a\u0000',
      'a//b',
      '%2e%2e',
      1,
      ['trial'],
      {},
    ]) {
      assertRefused(await onBranch('analyze_plan', { branch }), badRequest());
      assertRefused(await onBranch('update', { updates: [['price', '1']], branch }), badRequest());
      assertRefused(
        await onBranch('update_field_metadata', { updates: [{ path: 'price', metadata: {} }], branch }),
        badRequest(),
      );
    }
  });

  test('has its own commits in the record of transactions', async () => {
    const { json } = await updated(server.admin, table, { updates: [['price', '80']], branch: 'trial' });
    const record = await server.catalog.transactions.find(json.transaction_id);
    assert.deepEqual([record?.branch, record?.version], ['trial', json.version]);
  });
});
