import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ContractServer } from '../contract-server.ts';
import { documentStream } from '../contract-tables.ts';
import { assertRefused, badRequest } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const accepted: readonly (readonly [operation: string, body: object])[] = [
  ['update_field_metadata', { updates: [{ path: 'id', metadata: { a: 'b', c: null }, replace: null }], branch: null }],
  ['add_columns', { new_columns: [{ name: 'more', expression: 'id + 1', data_type: null, computed: null }] }],
  ['alter_columns', { alterations: [{ path: 'title', rename: 'heading', nullable: null, data_type: null }] }],
  ['query', { k: 1, columns: { column_names: ['id'], column_aliases: null }, filter: null, vector: null }],
  ['query', { k: 1, full_text_query: null, vector: { single_vector: [1, 2, 3, 4], multi_vector: null } }],
  ['query', { k: 1, order_by: [{ column_name: 'id', ascending: null, nulls_first: null }] }],
  ['describe', { version: null, tag: null, identity: { api_key: null, auth_token: null }, context: null }],
  ['index/list', { limit: null, page_token: null }],
];
for (const [operation, body] of accepted) {
  test(`an optional field that is null counts as absent, at any depth: ${operation} ${JSON.stringify(body)}`, async () => {
    const table = await server.table({ stream: documentStream() });
    const answer = await server.admin.post(`${table.at}/${operation}`, body);
    assert.equal(answer.status, 200, answer.text);
  });
}

test('a required field that is null is missing', async () => {
  const table = await server.table();
  const answer = await server.admin.post(`${table.at}/update_field_metadata`, {
    updates: [{ path: null, metadata: {} }],
  });
  assertRefused(answer, badRequest(/path/));
});
