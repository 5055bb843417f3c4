import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { assertRefused, badRequest } from '../refusal.ts';

let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await server.table({ id: 'items' });
});
after(async () => server.close());

type List = (token: string) => Promise<Answer>;

const inAddress =
  (path: string): List =>
  async (token) =>
    server.admin.get(`${path}?page_token=${encodeURIComponent(token)}`);
const inBody =
  (path: string): List =>
  async (token) =>
    server.admin.post(path, { page_token: token });

const listings: Readonly<Record<string, List>> = {
  'GET /v1/tables': inAddress('/v1/tables'),
  'GET /v1/table': inAddress('/v1/table'),
  'tables of a namespace': inAddress('/v1/namespace/$/table/list'),
  namespaces: inAddress('/v1/namespace/$/list'),
  transactions: inAddress('/v1/transaction/list'),
  versions: inBody('/v1/table/items/version/list'),
  tags: inBody('/v1/table/items/tags/list'),
  branches: inBody('/v1/table/items/branches/list'),
  indexes: inBody('/v1/table/items/index/list'),
  jobs: inBody('/v1/jobs/list'),
  'slow queries': inBody('/v1/slow_queries/list'),
  keys: inBody('/v1/access/key/list'),
  clients: inBody('/v1/access/client/list'),
  grants: inBody('/v1/access/grant/list'),
  quotas: inBody('/v1/access/quota/list'),
  databases: inBody('/v1/database/list'),
};

for (const [name, list] of Object.entries(listings)) {
  test(`a page token that no page can have given is refused: ${name}`, async () => {
    for (const junk of ['a\u0000b', 'ünï/%\\?', '../..', 'x'.repeat(5000)]) {
      assertRefused(await list(junk), badRequest());
    }
  });

  test(`an empty page token is the first page: ${name}`, async () => {
    const answer = await list('');
    assert.equal(answer.status, 200, answer.text);
  });
}

test('the token of a page whose last entry is gone goes on behind it', async () => {
  for (const tag of ['a', 'b', 'c']) await server.admin.post(`${table.at}/tags/create`, { tag, version: 1 });
  const first = await server.admin.post(`${table.at}/tags/list`, { limit: 2 });
  await server.admin.post(`${table.at}/tags/delete`, { tag: 'b' });
  const next = await server.admin.post(`${table.at}/tags/list`, { page_token: first.json.page_token });
  assert.deepEqual(Object.keys(next.json.tags), ['c']);
});
