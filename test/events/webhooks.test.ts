import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { ContractServer } from '../contract/contract-server.ts';
import type { MadeTable } from '../contract/contract-server.ts';
import { ok } from '../support/client.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { runCliOn } from '../support/run-cli.ts';
import { Receiver } from './receiver.ts';

suite('webhooks', () => {
  let server: ContractServer;
  let receiver: Receiver;
  const start = async (...flags: readonly string[]): Promise<ContractServer> =>
    ContractServer.start({
      flags: [
        '--webhooks-allow-http=true',
        '--webhooks-allowed-networks=127.0.0.1',
        '--webhooks-retry-seconds-max=0.1',
        '--webhooks-poll-seconds=0.05',
        '--webhooks-timeout-seconds=2',
        '--webhooks-events-max=10',
        '--webhooks-per-database-max=50',
        ...flags,
      ],
    });
  before(async () => {
    server = await start();
  });
  after(async () => server.close());

  async function create(body: object, client: Client = server.admin): Promise<any> {
    return ok(await client.post('/v1/webhook/create', { url: receiver.url, ...body }));
  }

  async function withReceiver(run: () => Promise<void>): Promise<void> {
    receiver = await Receiver.start();
    try {
      await run();
    } finally {
      await receiver.close();
    }
  }

  const describe = async (id: string): Promise<any> =>
    ok(await server.admin.post('/v1/webhook/describe', { webhook_id: id }));

  async function update(table: MadeTable, times = 1): Promise<void> {
    for (let index = 0; index < times; index += 1) {
      ok(await server.admin.post(`${table.at}/update`, { updates: [['price', `${index}.5`]], predicate: 'id = 1' }));
    }
  }

  const range = (first: number, last: number): readonly number[] =>
    Array.from({ length: last - first + 1 }, (_unused, index) => first + index);

  test('commits of a table arrive in order, signed, and the state shows it', async () =>
    withReceiver(async () => {
      const [table, other] = [await server.table(), await server.table()];
      const { webhook_id: id, secret } = await create({ table: [table.id] });
      assert.match(secret, /^whsec_[\w-]{43}$/);
      await update(table, 25);
      await update(other);
      await eventually(async () => receiver.versions.length >= 25);
      assert.deepEqual(receiver.versions, range(2, 26));
      for (const { headers, body, json } of receiver.received) {
        const [, seconds = '', signature] = /^t=(\d+),v1=(.*)$/.exec(String(headers['tiltyard-signature'])) ?? [];
        assert.equal(signature, createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'));
        assert.ok(Math.abs(Date.now() / 1000 - Number(seconds)) < 300);
        assert.equal(headers['tiltyard-delivery'], json.events.at(-1).transaction_id);
        assert.equal(json.webhook_id, id);
        assert.ok(json.events.length <= 10);
        const [{ id: path, database, caller, caller_name: name }] = json.events;
        assert.deepEqual([path, database, name], [[table.id], 'default', 'administrator']);
        assert.match(caller, /^key:/);
      }
      await eventually(async () => (await describe(id)).delivered_events === 25);
      const { state, failures, last_status: status, ...rest } = await describe(id);
      assert.deepEqual([state, failures, status], ['active', 0, 204]);
      assert.ok(rest.last_delivery_at !== undefined && !('secret' in rest));
      ok(await server.admin.post('/v1/webhook/delete', { webhook_id: id }));
    }));

  test('a delivery that fails is repeated until it arrives, and none overtakes it', async () =>
    withReceiver(async () => {
      const table = await server.table();
      let failures = 0;
      receiver.answer = (_received, response) => {
        failures += 1;
        const status = [500, 404, 302][failures % 3] ?? 500;
        void (failures <= 6 ? response.writeHead(status, { location: receiver.url }) : response.writeHead(200)).end();
      };
      const { webhook_id: id } = await create({ table: [table.id] });
      await update(table);
      await eventually(async () => (await describe(id)).failures > 0);
      const failing = await describe(id);
      assert.equal(failing.state, 'failing');
      assert.match(failing.last_error, /^The receiver (responded with status \d+|sent a redirect)/);
      assert.ok(failing.backlog >= 1);
      await update(table, 3);
      await eventually(async () => (await describe(id)).delivered_events === 4);
      const accepted = receiver.received.slice(6).flatMap(({ json }) => json.events);
      assert.deepEqual(
        accepted.map(({ version }: { version: number }) => version),
        range(2, 5),
      );
      assert.equal((await describe(id)).state, 'active');
      ok(await server.admin.post('/v1/webhook/delete', { webhook_id: id }));
    }));

  test('filters choose by operation and namespace', async () =>
    withReceiver(async () => {
      const space = server.name('space');
      await server.namespace([space]);
      const inside = await server.table({ id: `${space}$inner` });
      const outside = await server.table();
      const { webhook_id: id } = await create({ namespace: [space], operations: ['delete_from_table'] });
      await update(inside);
      ok(await server.admin.post(`${outside.at}/delete`, { predicate: 'id = 1' }));
      ok(await server.admin.post(`${inside.at}/delete`, { predicate: 'id = 1' }));
      await eventually(async () => receiver.received.length > 0);
      assert.deepEqual(
        receiver.received.flatMap(({ json }) => json.events.map((event: any) => [event.id, event.operation])),
        [[[space, 'inner'], 'delete_from_table']],
      );
      ok(await server.admin.post('/v1/webhook/delete', { webhook_id: id }));
    }));

  test('a rename arrives at the webhooks of both names, with the names that their creators may read', async () =>
    withReceiver(async () => {
      const space = server.name('space');
      await server.namespace([space]);
      const table = await server.table({ id: `${space}$inner` });
      const outer = server.name();
      const creators = [
        server.admin,
        await server.caller('owner', [space]),
        await server.caller('owner', [space, 'inner']),
        await server.caller('owner', [outer]),
      ];
      const ids: string[] = [];
      for (const [index, body] of [
        { table: [space, 'inner'] },
        { namespace: [space] },
        { table: [space, 'inner'] },
      ].entries())
        ids.push((await create(body, creators[index])).webhook_id);
      const placeholder = await server.table({ id: outer });
      ids.push((await create({ table: [outer] }, creators[3])).webhook_id);
      ok(await server.admin.post(`${placeholder.at}/drop`, {}));
      ok(await server.admin.post(`${table.at}/rename`, { new_table_name: outer, new_namespace_id: [] }));
      const renames = (id: string): readonly unknown[] =>
        receiver.received
          .filter(({ json }) => json.webhook_id === id)
          .flatMap(({ json }) => json.events)
          .filter(({ operation }) => operation === 'rename_table')
          .map((event) => [event.id, event.renamed_from]);
      for (const id of ids) await eventually(async () => renames(id).length === 1);
      const former = [space, 'inner'];
      assert.deepEqual(ids.flatMap(renames), [
        [[outer], former],
        [former, former],
        [former, former],
        [[outer], undefined],
      ]);
      for (const id of ids) ok(await server.admin.post('/v1/webhook/delete', { webhook_id: id }));
    }));

  test('after a long failure a webhook is disabled, and resumed it goes on where it stopped', async () =>
    withReceiver(async () => {
      const usual = server;
      server = await start('--webhooks-disable-seconds=1');
      const table = await server.table();
      receiver.answer = (_received, response) => void response.writeHead(500).end();
      const { webhook_id: id } = await create({ table: [table.id] });
      await update(table, 2);
      await eventually(async () => (await describe(id)).state === 'disabled');
      const attempts = receiver.received.length;
      assert.ok(attempts > 1);
      receiver.answer = (_received, response) => void response.writeHead(200).end();
      await update(table);
      const resumed = ok(await server.admin.post('/v1/webhook/resume', { webhook_id: id }));
      assert.equal(resumed.state, 'active');
      await eventually(async () => (await describe(id)).delivered_events === 3);
      const accepted = receiver.received.slice(attempts).flatMap(({ json }) => json.events);
      assert.deepEqual(
        accepted.map(({ version }: { version: number }) => version),
        range(2, 4),
      );
      await server.close();
      server = usual;
    }));

  test('a disabled webhook delivers nothing, and resumed it delivers what it missed', async () =>
    withReceiver(async () => {
      const table = await server.table();
      const { webhook_id: id } = await create({ table: [table.id] });
      const disabled = ok(await server.admin.post('/v1/webhook/disable', { webhook_id: id }));
      assert.equal(disabled.state, 'disabled');
      await update(table, 2);
      assert.equal((await describe(id)).delivered_events, 0);
      ok(await server.admin.post('/v1/webhook/resume', { webhook_id: id }));
      await eventually(async () => (await describe(id)).delivered_events === 2);
      assert.deepEqual(receiver.versions, [2, 3]);
      ok(await server.admin.post('/v1/webhook/delete', { webhook_id: id }));
    }));

  test('one that is disabled during a failing attempt stays disabled', async () =>
    withReceiver(async () => {
      const table = await server.table();
      let fail: (() => void) | undefined;
      receiver.answer = (_received, response) => {
        fail = () => void response.writeHead(500).end();
      };
      const { webhook_id: id } = await create({ table: [table.id] });
      await update(table);
      await eventually(async () => fail !== undefined);
      ok(await server.admin.post('/v1/webhook/disable', { webhook_id: id }));
      fail?.();
      await eventually(async () => (await describe(id)).failures === 1);
      assert.equal((await describe(id)).state, 'disabled');
      ok(await server.admin.post('/v1/webhook/delete', { webhook_id: id }));
    }));

  test('an update changes the address and the selected commits, and keeps the rest', async () =>
    withReceiver(async () => {
      const [table, other] = [await server.table(), await server.table()];
      const elsewhere = await Receiver.start();
      try {
        const { webhook_id: id } = await create({ table: [table.id], operations: ['delete_from_table'] });
        const change = async (body: object): Promise<any> =>
          ok(await server.admin.post('/v1/webhook/update', { webhook_id: id, ...body }));
        const moved = await change({ url: elsewhere.url });
        assert.deepEqual(
          [moved.url, moved.table, moved.operations],
          [elsewhere.url, [table.id], ['delete_from_table']],
        );
        const all = await change({ operations: [] });
        assert.deepEqual([all.table, 'operations' in all], [[table.id], false]);
        const wide = await change({ namespace: [] });
        assert.deepEqual(['table' in wide, 'namespace' in wide], [false, false]);
        await change({ table: [other.id] });
        await update(table);
        await update(other);
        await eventually(async () => elsewhere.received.length > 0);
        assert.deepEqual(elsewhere.received[0]?.json.events[0].id, [other.id]);
        assert.equal(receiver.received.length, 0);
        const refused = await server.admin.post('/v1/webhook/update', { webhook_id: id, url: 'https://10.0.0.1/' });
        assert.equal(refused.status, 400);
        const owner = await server.caller('owner', [other.id]);
        const stolen = await owner.post('/v1/webhook/update', { webhook_id: id, table: [table.id] });
        assert.equal(stolen.status, 403, stolen.text);
        ok(await server.admin.post('/v1/webhook/delete', { webhook_id: id }));
      } finally {
        await elsewhere.close();
      }
    }));

  test('a test delivery tells what the receiver answered', async () =>
    withReceiver(async () => {
      const { webhook_id: id } = await create({});
      const arrived = ok(await server.admin.post('/v1/webhook/test', { webhook_id: id }));
      assert.deepEqual([arrived.delivered, arrived.status], [true, 204]);
      assert.deepEqual([receiver.received[0]?.json.events, receiver.received[0]?.json.test], [[], true]);
      receiver.answer = (_received, response) => void response.destroy();
      const lost = ok(await server.admin.post('/v1/webhook/test', { webhook_id: id }));
      assert.equal(lost.delivered, false);
      assert.match(lost.error, /cannot be reached/);
      receiver.answer = () => undefined;
      const silent = ok(await server.admin.post('/v1/webhook/test', { webhook_id: id }));
      assert.match(silent.error, /did not respond within 2 s/);
      ok(await server.admin.post('/v1/webhook/delete', { webhook_id: id }));
    }));

  test('only owners of what a webhook is about create, see and delete it', async () =>
    withReceiver(async () => {
      const [table, other] = [await server.table(), await server.table()];
      const [owner, writer] = [await server.caller('owner', [table.id]), await server.caller('writer', [table.id])];
      const { webhook_id: id } = await create({ table: [table.id] }, owner);
      const foreign = await create({ table: [other.id] });
      const listed = ok(await owner.post('/v1/webhook/list', {})).webhooks;
      assert.deepEqual(
        listed.map((each: any) => each.webhook_id),
        [id],
      );
      for (const body of [{ table: [table.id] }, {}, { table: [other.id] }]) {
        const refused = await writer.post('/v1/webhook/create', { url: receiver.url, ...body });
        assert.equal(refused.status, 403, refused.text);
      }
      assert.equal((await owner.post('/v1/webhook/create', { url: receiver.url })).status, 403);
      assert.deepEqual(ok(await writer.post('/v1/webhook/list', {})).webhooks, []);
      for (const action of ['describe', 'update', 'test', 'disable', 'resume', 'delete']) {
        assert.equal((await writer.post(`/v1/webhook/${action}`, { webhook_id: id })).status, 404, action);
        assert.equal((await owner.post(`/v1/webhook/${action}`, { webhook_id: foreign.webhook_id })).status, 404);
        assert.equal((await owner.post(`/v1/webhook/${action}`, { webhook_id: 'x' })).status, 404);
        assert.equal((await server.stranger().post(`/v1/webhook/${action}`, { webhook_id: id })).status, 401);
      }
      ok(await owner.post('/v1/webhook/delete', { webhook_id: id }));
      assert.equal((await owner.post('/v1/webhook/describe', { webhook_id: id })).status, 404);
      ok(await server.admin.post('/v1/webhook/delete', { webhook_id: foreign.webhook_id }));
    }));

  test('a webhook whose creator may no longer manage its target is disabled, until another owner resumes it', async () =>
    withReceiver(async () => {
      const space = server.name('space');
      await server.namespace([space]);
      const grant = { role: 'owner', database: 'default', path: [space] } as const;
      const { id: databaseId = '' } = (await server.catalog.databases.find('default')) ?? {};
      const cursor = (await server.catalog.transactions.newestId()) ?? '';
      const credential = { name: 'contractor', grants: [grant] };
      const { keys, clients, webhooks } = server.catalog;
      const [revoked, stripped] = [
        await keys.create({ ...credential, digest: server.name('digest') }),
        await keys.create({ ...credential, digest: server.name('digest') }),
      ];
      const expired = await keys.create({ ...credential, digest: server.name('digest'), expiresAt: Date.now() - 1 });
      const client = await clients.create({ ...credential, digest: server.name('digest') });
      const ids: string[] = [];
      for (const createdBy of [`key:${revoked.id}`, `key:${stripped.id}`, `client:${client.id}`, `key:${expired.id}`]) {
        const scope = { namespace: [space] };
        const webhook = { databaseId, url: receiver.url, secret: 's', createdBy, cursor, scope };
        ids.push((await webhooks.create(webhook, 100)).id);
      }
      const kept = (await create({ namespace: [space] })).webhook_id;
      const table = await server.table({ id: `${space}$before` });
      await eventually(async () => receiver.received.length === 4);
      await keys.revoke(revoked.id);
      await server.catalog.grants.remove(`key:${stripped.id}`, grant);
      await clients.revoke(client.id);
      await update(table);
      for (const id of ids) await eventually(async () => (await describe(id)).state === 'disabled');
      await eventually(async () => (await describe(kept)).delivered_events === 2);
      assert.equal(receiver.received.length, 5);
      for (const id of ids) {
        assert.match((await describe(id)).last_error, /may no longer manage .*Resume it with another credential/);
      }
      const [id = ''] = ids;
      const owner = await server.caller('owner', [space]);
      const resumed = ok(await owner.post('/v1/webhook/resume', { webhook_id: id }));
      assert.deepEqual([resumed.state, resumed.last_error], ['active', undefined]);
      assert.equal(resumed.created_by, ok(await owner.get('/v1/whoami')).id);
      await eventually(async () => (await describe(id)).delivered_events === 2);
      for (const each of [...ids, kept]) ok(await server.admin.post('/v1/webhook/delete', { webhook_id: each }));
    }));

  test('an update beyond what the creator may manage makes the caller answerable for the webhook', async () =>
    withReceiver(async () => {
      const table = await server.table();
      const owner = await server.caller('owner', [table.id]);
      const { webhook_id: id, created_by: creator } = await create({ table: [table.id] }, owner);
      const change = async (body: object): Promise<any> =>
        ok(await server.admin.post('/v1/webhook/update', { webhook_id: id, ...body }));
      assert.equal((await change({ operations: ['update_table'] })).created_by, creator);
      const { created_by: administrator } = await change({ namespace: [] });
      assert.notEqual(administrator, creator);
      await update(await server.table());
      await eventually(async () => receiver.received.length > 0);
      ok(await server.admin.post('/v1/webhook/delete', { webhook_id: id }));
    }));

  test('bad input is refused', async () => {
    for (const body of [
      {},
      { url: 'ftp://example.com' },
      { url: 'https://user:secret@example.com' },
      { url: 'https://example.com/#part' },
      { url: 'https://10.0.0.1/' },
      { url: 'http://2130706434/' },
      { url: 'https://[::ffff:10.0.0.1]/' },
      { url: 'https://example.com', table: ['a'], namespace: ['b'] },
      { url: 'https://example.com', operations: ['Delete!'] },
      { url: 'https://example.com', operations: ['query_table'] },
      { url: 'https://example.com', cursor: 'x' },
    ]) {
      const answer = await server.admin.post('/v1/webhook/create', body);
      assert.equal(answer.status, 400, `${JSON.stringify(body)} ${answer.text}`);
    }
  });

  test('a cursor that is no id of an event is refused as one', async () => {
    for (const cursor of ['start', 'x']) {
      const answer = await server.admin.post('/v1/webhook/create', { url: 'https://example.com', cursor });
      assert.equal(answer.status, 400);
      assert.match(answer.text, /The cursor must be the id of an event/);
    }
  });

  test('a table or namespace that does not exist is refused, also by an update', async () =>
    withReceiver(async () => {
      const { webhook_id: id } = await create({});
      for (const body of [{ table: ['no-table'] }, { namespace: ['no-space'] }, { table: ['no-space', 'no-table'] }]) {
        for (const [action, fields] of [
          ['create', { url: receiver.url }],
          ['update', { webhook_id: id }],
        ] as const) {
          const refused = await server.admin.post(`/v1/webhook/${action}`, { ...fields, ...body });
          assert.equal(refused.status, 404, refused.text);
          assert.match(refused.text, /was not found/);
        }
      }
      ok(await server.admin.post('/v1/webhook/delete', { webhook_id: id }));
    }));

  test('the command line takes a path with slashes, and shows it so', async () =>
    withReceiver(async () => {
      const space = server.name('space');
      await server.namespace([space]);
      const run = async (...words: readonly string[]) => runCliOn(server.url, ['webhook', ...words]);
      await server.table({ id: `${space}$lamps` });
      const created = await run('create', receiver.url, '--table', `${space}/lamps`);
      assert.match(created.out, new RegExp(`commits of +${space}/lamps`), created.err);
      const absent = await run('create', receiver.url, '--table', `${space}/lmps`);
      assert.match(absent.err, new RegExp(`The table "${space}/lmps" was not found`));
    }));

  test('the command line creates, lists, describes, updates, tests, disables, resumes and deletes webhooks', async () =>
    withReceiver(async () => {
      const table = await server.table();
      const run = async (...words: readonly string[]) => runCliOn(server.url, ['webhook', ...words]);
      const created = JSON.parse((await run('create', receiver.url, '--table', table.id, '--json')).out);
      assert.match(created.secret, /^whsec_/);
      assert.match((await run('list')).out, new RegExp(created.webhook_id));
      assert.match((await run('describe', created.webhook_id)).out, /backlog/);
      assert.match((await run('test', created.webhook_id)).out, /responded with status 204/);
      const updated = await run('update', created.webhook_id, '--operation', 'delete_from_table');
      assert.match(updated.out, /: delete_from_table/);
      const kinds = ['--operation', 'insert_into_table', '--operation', 'update_table'];
      const several = await run('update', created.webhook_id, ...kinds);
      assert.match(several.out, /: insert_into_table, update_table/, several.err);
      const selective = await run('create', receiver.url, ...kinds);
      assert.match(selective.out, /: insert_into_table, update_table/, selective.err);
      assert.match((await run('disable', created.webhook_id)).out, /disabled/);
      assert.match((await run('resume', created.webhook_id)).out, /active/);
      assert.match((await run('delete', created.webhook_id)).out, /^Deleted the webhook/);
    }));
});

suite('webhooks of a server as it is installed', () => {
  let server: ContractServer;
  before(async () => {
    server = await ContractServer.start();
  });
  after(async () => server.close());

  test('http and addresses that are not public are refused', async () => {
    for (const url of ['http://example.com/', 'https://127.0.0.1/', 'https://[::1]/', 'https://169.254.169.254/']) {
      const answer = await server.admin.post('/v1/webhook/create', { url });
      assert.equal(answer.status, 400, url);
      assert.match(answer.json.detail, /An operator can allow .* with webhooks\.allow(?:Http|edNetworks)\.$/, url);
    }
  });

  test('a name that resolves to a private address is not connected to', async () => {
    const { json } = await server.admin.post('/v1/webhook/create', { url: 'https://localhost/' });
    const answer = await server.admin.post('/v1/webhook/test', { webhook_id: json.webhook_id });
    assert.deepEqual([answer.json.delivered, answer.json.error], [false, 'The address is not public.']);
  });
});
