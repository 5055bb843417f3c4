import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { UNSUPPORTED } from '../../../src/operations/unsupported.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { CODE, assertRefused, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

interface Case {
  readonly operation: string;
  readonly body: object;
  /** The least role that may do it, and one that may not. */
  readonly roles: readonly ['reader', undefined] | readonly ['writer', 'reader'] | readonly ['owner', 'writer'];
}

const READ = ['reader', undefined] as const;
const WRITE = ['writer', 'reader'] as const;
const MANAGE = ['owner', 'writer'] as const;

/** In an order in which each succeeds after those before it. */
const CASES: readonly Case[] = [
  { operation: 'version/list', body: {}, roles: READ },
  { operation: 'version/describe', body: { version: 1 }, roles: READ },
  { operation: 'diff', body: { from: { version: 1 } }, roles: READ },
  { operation: 'stats', body: {}, roles: READ },
  { operation: 'tags/create', body: { tag: 't', version: 1 }, roles: WRITE },
  { operation: 'tags/update', body: { tag: 't', version: 2 }, roles: WRITE },
  { operation: 'tags/version', body: { tag: 't' }, roles: READ },
  { operation: 'tags/list', body: {}, roles: READ },
  { operation: 'tags/delete', body: { tag: 't' }, roles: WRITE },
  { operation: 'branches/create', body: { name: 'b' }, roles: WRITE },
  { operation: 'branches/list', body: {}, roles: READ },
  { operation: 'branches/delete', body: { name: 'b' }, roles: WRITE },
  { operation: 'schema_metadata/update', body: { a: 'b' }, roles: WRITE },
  { operation: 'restore', body: { version: 1 }, roles: WRITE },
  { operation: 'version/delete', body: { ranges: [{ start_version: 1, end_version: 2 }] }, roles: MANAGE },
];

suite('the history of a table', () => {
  let table: MadeTable;
  let clients: Readonly<Record<'reader' | 'writer' | 'owner', Client>>;
  let elsewhere: Client;
  before(async () => {
    table = await server.table();
    await updated(server.admin, table, { updates: [['price', '1']] });
    clients = {
      reader: await server.caller('reader', [table.id]),
      writer: await server.caller('writer', [table.id]),
      owner: await server.caller('owner', [table.id]),
    };
    elsewhere = await server.caller('owner', [(await server.table()).id]);
  });

  for (const { operation, body, roles } of CASES) {
    test(`${operation} is for those who may, and says to the others no more than they may know`, async () => {
      const [enough, less] = roles;
      assertRefused(await server.stranger().post(`${table.at}/${operation}`, body), unauthenticated);
      assertRefused(await elsewhere.post(`${table.at}/${operation}`, body), tableNotFound);
      assertRefused(await server.admin.post(`/v1/table/nowhere/${operation}`, body), tableNotFound);
      assertRefused(await server.admin.post(`/v1/table/nowhere/${operation}/`, body), tableNotFound);
      if (less !== undefined) assertRefused(await clients[less].post(`${table.at}/${operation}`, body), forbidden);
      const answer = await clients[enough].post(`${table.at}/${operation}`, body);
      assert.equal(answer.status, 200, answer.text);
    });
  }
});

test('a client that asks for a buffer in front of a table hears that there is none', async () => {
  const { at } = await server.table();
  const reader = await server.caller('reader');
  for (const [operation, member] of [
    ['get_lsm_write_spec', 'lsm_write_spec'],
    ['get_lsm_stats', 'lsm_stats'],
    ['get_rte_spec', 'rte_spec'],
    ['get_rte_stats', 'rte_stats'],
  ] as const) {
    for (const address of [`${at}/${operation}`, `${at}/${operation}/`]) {
      const answer = await reader.send('POST', address, {});
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.json, { [member]: null });
      assertRefused(await server.stranger().post(address, {}), unauthenticated);
    }
    assertRefused(await server.admin.post(`/v1/table/nowhere/${operation}`, {}), tableNotFound);
  }
});

suite('what is not offered', () => {
  const notOffered = { status: 406, code: CODE.unsupported } as const;
  let table: MadeTable;
  let reader: Client;
  before(async () => {
    table = await server.table();
    reader = await server.caller('reader');
  });

  for (const { id, path, methods, permission, reason, about = 'table' } of UNSUPPORTED) {
    const send = async (client: Client, address: string, body: object = {}): Promise<Answer> =>
      methods?.[0] === 'GET' ? client.get(address) : client.post(address, body);

    test(`${id} is refused with the reason, after the caller is known and permitted`, async () => {
      const at = path.replace(':id', about === 'namespace' ? '$' : table.id);
      for (const address of [at, `${at}/`]) {
        assertRefused(await send(server.stranger(), address), unauthenticated);
        const answer = await send(server.admin, address, { id: [table.id], whatever: 1 });
        assertRefused(answer, notOffered);
        assert.ok(answer.json.detail.includes(reason));
        assertRefused(await send(reader, address), permission === 'read' ? notOffered : forbidden);
      }
      const missing = path.replace(':id', 'nowhere');
      if (about === 'table') assertRefused(await send(server.admin, missing), tableNotFound);
      if (about === 'new-table') assertRefused(await send(server.admin, missing), notOffered);
    });
  }
});
