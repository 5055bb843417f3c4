import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { Client } from '../../support/client.ts';
import type { Answer } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { ContractServer } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

const EVERYWHERE = { role: 'reader', database: undefined, path: [] } as const;
const NO_DATABASE = { status: 404, code: CODE.namespaceNotFound } as const;
const EXISTS = { status: 409, code: 2 } as const;
const NOT_EMPTY = { status: 409, code: 3 } as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const create = async (client: Client, body: object): Promise<Answer> => client.post('/v1/database/create', body);
const drop = async (client: Client, body: object): Promise<Answer> => client.post('/v1/database/drop', body);
const list = async (client: Client, body: object = {}): Promise<Answer> => client.post('/v1/database/list', body);
const namesOf = async (client: Client): Promise<readonly string[]> => {
  const answer = await list(client);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.databases.map(({ name }: { name: string }) => name);
};

suite('create_database', () => {
  test('makes a tenant that tables can be made in, below the storage root', async () => {
    const made = await create(server.admin, { name: 'sales' });
    assert.equal(made.status, 200, made.text);
    assert.equal(made.json.name, 'sales');
    const table = await server.table({ headers: { 'x-service-database': 'sales' } });
    assert.ok(table.location.startsWith(server.folder));
    assert.ok((await namesOf(server.admin)).includes('sales'));
  });

  test('refuses a name that is taken, and names that break the rule', async () => {
    assertRefused(await create(server.admin, { name: 'default' }), EXISTS);
    for (const name of ['', '..', 'a/b', 'a$b', 'a\u0000', 'x'.repeat(256), 7]) {
      assertRefused(await create(server.admin, { name }), badRequest());
    }
    for (const name of [' lead', 'trail ', ' ']) {
      assertRefused(await create(server.admin, { name }), badRequest(/begins or ends with a space/));
    }
    assertRefused(await create(server.admin, {}), badRequest(/name/));
    assertRefused(await create(server.admin, { name: 'x', root: '/etc' }), badRequest(/root/));
  });

  test('is for administrators of the server alone', async () => {
    assertRefused(await create(server.stranger(), { name: 'x' }), unauthenticated);
    for (const client of [
      await server.caller('admin'),
      server.client({ key: await server.key([{ ...EVERYWHERE, role: 'owner' }]) }),
    ]) {
      assertRefused(await create(client, { name: 'x' }), forbidden);
    }
    assertRefused(await create(await server.caller('admin'), { name: 'default' }), forbidden);
  });
});

suite('list_databases', () => {
  test('shows only those that the caller may see, by name', async () => {
    const [one, two] = [await server.database(), await server.database()];
    assert.deepEqual(await namesOf(await server.caller('reader', ['deep', 'table'], one)), [one]);
    assert.deepEqual(await namesOf(server.client({ key: await server.key([]) })), []);
    const all = await namesOf(server.client({ key: await server.key([EVERYWHERE]) }));
    assert.ok(all.includes(one) && all.includes(two) && all.includes('default'));
    assert.deepEqual(all, all.toSorted());
    assertRefused(await list(server.stranger()), unauthenticated);
  });

  test('continues page by page', async () => {
    const all = await namesOf(server.admin);
    const found: string[] = [];
    let page_token: string | undefined;
    do {
      const { json } = await list(server.admin, { limit: 1, ...(page_token === undefined ? {} : { page_token }) });
      found.push(...json.databases.map(({ name }: { name: string }) => name));
      page_token = json.page_token;
    } while (page_token !== undefined);
    assert.deepEqual(found, all);
    assertRefused(await list(server.admin, { page_token: '!' }), badRequest(/page token/));
  });
});

suite('drop_database', () => {
  test('drops an empty one, and its name starts anew without any grant', async () => {
    await create(server.admin, { name: 'short' });
    const caller = await server.caller('admin', [], 'short');
    assert.deepEqual(await namesOf(caller), ['short']);
    const dropped = await drop(server.admin, { name: 'short' });
    assert.equal(dropped.status, 200, dropped.text);
    assert.ok(!(await namesOf(server.admin)).includes('short'));
    assertRefused(await server.admin.get('/v1/tables', { 'x-service-database': 'short' }), NO_DATABASE);
    assertRefused(await drop(server.admin, { name: 'short' }), NO_DATABASE);
    await create(server.admin, { name: 'short' });
    assert.deepEqual(await namesOf(caller), []);
    assertRefused(await caller.get('/v1/tables', { 'x-service-database': 'short' }), NO_DATABASE);
  });

  test('refuses one that is not empty, and the default one', async () => {
    const name = await server.database();
    await server.table({ headers: { 'x-service-database': name } });
    assertRefused(await drop(server.admin, { name }), NOT_EMPTY);
    const spaces = await server.database();
    await server.namespace(['a'], spaces);
    assertRefused(await drop(server.admin, { name: spaces }), NOT_EMPTY);
    assertRefused(await drop(server.admin, { name: 'default' }), badRequest(/default/));
    assertRefused(await drop(server.admin, {}), badRequest(/name/));
  });

  test('is for administrators of the server alone', async () => {
    const name = await server.database();
    assertRefused(await drop(server.stranger(), { name }), unauthenticated);
    for (const wanted of [name, 'nowhere']) {
      assertRefused(await drop(await server.caller('admin', [], name), { name: wanted }), forbidden);
    }
  });
});

test('the log names each database that is created or dropped, and who did it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-databases-'));
  const logging = await startServerProcess(folder);
  try {
    const admin = new Client(logging.url);
    assert.equal((await create(admin, { name: 'audited' })).status, 200);
    assertRefused(await create(admin, { name: 'audited' }), EXISTS);
    assert.equal((await drop(admin, { name: 'audited' })).status, 200);
    assertRefused(await drop(admin, { name: 'audited' }), NO_DATABASE);
    const { id } = (await admin.get('/v1/whoami')).json;
    const changes = () => logging.log.filter(({ event }) => event === 'access-changed');
    await eventually(async () => changes().length > 1);
    assert.deepEqual(
      changes().map(({ caller, action, principal }) => [caller, action, principal]),
      [
        [id, 'create_database', 'database:audited'],
        [id, 'drop_database', 'database:audited'],
      ],
    );
  } finally {
    await logging.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
