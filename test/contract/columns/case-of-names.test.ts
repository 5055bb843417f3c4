import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, streamOf } from '../contract-tables.ts';
import { assertRefused, badRequest, columnNotFound } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const stream = (): Uint8Array => {
  const column = (...values: readonly number[]) => ({ type: new Int32(), values });
  return streamOf({ Id: column(1, 2), iD: column(2, 1), Other: column(5, 6) });
};

type Send = (table: MadeTable, condition: string) => Promise<Answer>;

const post =
  (operation: string, toBody: (condition: string) => object): Send =>
  async ({ at }, condition) =>
    server.admin.post(`${at}/${operation}`, toBody(condition), { accept: 'application/json' });

const merge =
  (parameter: string): Send =>
  async ({ at }, condition) => {
    const query = { on: 'Other', when_matched_update_all: 'true', when_not_matched_by_source_delete: 'true' };
    const filter = parameter === 'when_matched_update_all_filt' ? `target.${condition}` : condition;
    return server.admin.arrow(
      `${at}/merge_insert?${new URLSearchParams({ ...query, [parameter]: filter }).toString()}`,
      stream(),
    );
  };

const ways: Readonly<Record<string, Send>> = {
  'the filter of a query': post('query', (filter) => ({ k: 9, filter })),
  'a column of a query': post('query', (x) => ({ k: 9, columns: { column_aliases: { x } } })),
  'the filter of an analysis': async ({ at }, filter) => server.admin.post(`${at}/analyze_plan`, { k: 9, filter }),
  'a count': post('count_rows', (predicate) => ({ predicate })),
  'a delete': post('delete', (predicate) => ({ predicate })),
  'the predicate of an update': post('update', (predicate) => ({ updates: [['Other', '1']], predicate })),
  'the expression of an update': post('update', (expression) => ({
    updates: [['Other', `CASE WHEN ${expression} THEN 1 ELSE 2 END`]],
  })),
  'the expression of an update that reads a column that it sets': post('update', (expression) => ({
    updates: [
      ['Other', `CASE WHEN ${expression} THEN 1 ELSE 2 END`],
      ['iD', '3'],
    ],
  })),
  'the expression of a new column': post('add_columns', (expression) => ({ new_columns: [{ name: 'n', expression }] })),
  'the definition of a new computed column': post('add_columns', (text) => ({
    new_columns: [{ name: 'n', computed: text }],
  })),
  'the update filter of a merge': merge('when_matched_update_all_filt'),
  'the delete filter of a merge': merge('when_not_matched_by_source_delete_filt'),
};

for (const [what, send] of Object.entries(ways)) {
  test(`a name that several columns have in another case is refused with all of them, and changes nothing: ${what}`, async () => {
    const table = await server.table({ stream: stream() });
    const refused = badRequest(/The name "ID" matches several columns: "Id", "iD"/);
    assertRefused(await send(table, 'ID = 1'), refused);
    assert.equal(await (await server.embedded(table)).version(), table.version);
  });

  test(`a name as its column is written is that column: ${what}`, async () => {
    const table = await server.table({ stream: stream() });
    for (const condition of ['iD = 1', '`iD` = 1']) {
      if (what.includes('merge') && condition.startsWith('`')) continue;
      if (what.includes('of a new') && condition.startsWith('`')) continue;
      const answer = await send(table, condition);
      assert.equal(answer.status, 200, answer.text);
    }
  });
}

test('a bare name in another case finds the only column that it can mean; in backticks it does not', async () => {
  const table = await server.table({ stream: stream() });
  const count = async (predicate: string) => server.admin.post(`${table.at}/count_rows`, { predicate });
  assert.equal((await count('OTHER = 5')).json, 1);
  assertRefused(await count('`OTHER` = 5'), columnNotFound);
  assertRefused(await count('`ID` = 1'), columnNotFound);
});

test('paths of fields are case-sensitive', async () => {
  const table = await server.table({ stream: stream() });
  const send = async (operation: string, body: object) => server.admin.post(`${table.at}/${operation}`, body);
  assertRefused(await send('update', { updates: [['other', '1']] }), columnNotFound);
  assertRefused(await send('query', { k: 1, columns: { column_names: ['other'] } }), columnNotFound);
  assertRefused(await send('drop_columns', { columns: ['other'] }), columnNotFound);
  assertRefused(await send('create_index', { column: 'other', index_type: 'BTREE' }), columnNotFound);
});
