import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ContractServer } from '../contract/contract-server.ts';
import type { MadeTable } from '../contract/contract-server.ts';
import { eventually } from '../support/eventually.ts';
import { EventStream } from './event-stream.ts';
import type { SentEvent, StreamOptions } from './event-stream.ts';

suite('events', () => {
  let server: ContractServer;
  before(async () => {
    server = await ContractServer.start({
      flags: [
        '--events-listeners-per-caller-max=6',
        '--events-listeners-max=8',
        '--events-recheck-seconds=0.1',
        '--events-heartbeat-seconds=0.2',
        '--events-buffer-max=10',
      ],
    });
  });
  after(async () => server.close());

  async function update(table: MadeTable, times = 1): Promise<void> {
    for (let index = 0; index < times; index += 1) {
      const body = { updates: [['price', `${index}.5`]], predicate: 'id = 1' };
      const { status, text } = await server.admin.post(`${table.at}/update`, body);
      assert.equal(status, 200, text);
    }
  }

  /** Of the table alone, because the tests of a suite share a server. */
  const open = async ({ id }: MadeTable, options: StreamOptions = {}): Promise<EventStream> =>
    EventStream.open(server.url, { ...options, query: { table: id, ...Object(options.query) } });

  const versions = (events: readonly SentEvent[]): readonly number[] => events.map(({ data }) => data.version);

  test('a commit is sent as it happens, with who, what, which version and when', async () => {
    const table = await server.table();
    const stream = await open(table);
    await update(table);
    const [event] = await stream.take(1);
    stream.close();
    assert.equal(event?.event, 'commit');
    assert.equal(event.id, event.data.transaction_id);
    assert.deepEqual(
      { ...event.data, transaction_id: '', request_id: '', committed_at: '', caller: '' },
      {
        transaction_id: '',
        operation: 'update_table',
        id: [table.id],
        version: 2,
        caller: '',
        caller_name: 'administrator',
        request_id: '',
        committed_at: '',
        database: 'default',
      },
    );
  });

  test('a stream goes on behind its cursor, given as parameter or header, and misses nothing', async () => {
    const table = await server.table();
    const stream = await open(table);
    await update(table, 2);
    const [, second] = await stream.take(2);
    stream.close();
    await update(table, 3);
    const byHeader = await open(table, { headers: { 'last-event-id': second?.id ?? '' } });
    assert.deepEqual(versions(await byHeader.take(3)), [4, 5, 6]);
    byHeader.close();
    const byParameter = await open(table, { query: { cursor: second?.id ?? '' } });
    assert.deepEqual(versions(await byParameter.take(3)), [4, 5, 6]);
    byParameter.close();
  });

  test('start sends everything that is recorded, then what follows', async () => {
    const table = await server.table();
    await update(table, 30);
    const stream = await open(table, { query: { cursor: 'start' } });
    const past = await stream.take(31);
    assert.deepEqual(
      versions(past),
      Array.from({ length: 31 }, (_unused, index) => index + 1),
    );
    await update(table);
    assert.deepEqual(versions(await stream.take(1)), [32]);
    stream.close();
  });

  test('a listener that falls behind what is kept in memory still gets everything in order', async () => {
    const table = await server.table();
    const slow = await open(table);
    const fast = await open(table);
    await update(table, 40);
    assert.equal((await fast.take(40)).length, 40);
    assert.deepEqual(
      versions(await slow.take(40)),
      Array.from({ length: 40 }, (_unused, index) => index + 2),
    );
    slow.close();
    fast.close();
  });

  test('heartbeats move the cursor past events of others', async () => {
    const [table, other] = [await server.table(), await server.table()];
    const stream = await open(table);
    const before = stream.cursor;
    await update(other);
    const waiting = stream.take(1);
    await eventually(async () => (stream.cursor ?? '') > (before ?? ''));
    assert.ok(stream.comments > 0);
    await update(table);
    assert.deepEqual(versions(await waiting), [2]);
    stream.close();
  });

  test('filters choose by table, by namespace and by operation', async () => {
    const space = server.name('space');
    await server.namespace([space]);
    const inside = await server.table({ id: `${space}$inner` });
    const outside = await server.table();
    const byNamespace = await EventStream.open(server.url, { query: { namespace: space } });
    const byOperation = await open(inside, { query: { operation: 'delete_from_table' } });
    await update(outside);
    await update(inside);
    assert.equal((await server.admin.post(`${inside.at}/delete`, { predicate: 'id = 3' })).status, 200);
    const seen = await byNamespace.take(2);
    assert.deepEqual(
      seen.map(({ data }) => [data.id, data.operation]),
      [
        [[space, 'inner'], 'update_table'],
        [[space, 'inner'], 'delete_from_table'],
      ],
    );
    assert.deepEqual(
      (await byOperation.take(1)).map(({ data }) => data.operation),
      ['delete_from_table'],
    );
    byNamespace.close();
    byOperation.close();
  });

  test('a rename is seen at both names, and says which table it was', async () => {
    const [from, to] = [server.name('space'), server.name('space')];
    for (const space of [from, to]) await server.namespace([space]);
    const table = await server.table({ id: `${from}$a` });
    const readers = await Promise.all(
      [from, to].map(async (space) => server.key([{ role: 'reader', database: 'default', path: [space] }])),
    );
    const follow = async (query: Record<string, string>, key?: string): Promise<EventStream> =>
      EventStream.open(server.url, { query, ...(key === undefined ? {} : { key }) });
    const [ofFrom, ofTo] = readers;
    const streams = [
      await follow({ table: table.id }),
      await follow({ namespace: from }),
      await follow({ namespace: to }),
      await follow({}, ofFrom),
      await follow({}, ofTo),
    ];
    const hidden = await follow({ namespace: from }, ofTo);
    const renamed = { new_table_name: 'b', new_namespace_id: [to] };
    const { status, text, json } = await server.admin.post(`${table.at}/rename`, renamed);
    assert.equal(status, 200, text);
    const [path, former] = [
      [to, 'b'],
      [from, 'a'],
    ];
    const seen = [];
    for (const stream of streams) {
      const [event] = await stream.take(1);
      seen.push([event?.data.operation, event?.data.id, event?.data.renamed_from]);
      stream.close();
    }
    assert.deepEqual(seen, [
      ['rename_table', path, former],
      ['rename_table', path, former],
      ['rename_table', path, former],
      ['rename_table', former, former],
      ['rename_table', path, undefined],
    ]);
    const before = hidden.cursor ?? '';
    const none = hidden.take(1);
    await eventually(async () => (hidden.cursor ?? '') > before);
    hidden.close();
    assert.deepEqual(await none, []);
    assert.ok((hidden.cursor ?? '') >= json.transaction_id);
  });

  test('a caller gets events of what it may read, in its database only', async () => {
    const [readable, hidden] = [await server.table(), await server.table()];
    const database = await server.database();
    const key = await server.key([{ role: 'reader', database: 'default', path: [readable.id] }]);
    const stream = await EventStream.open(server.url, { key });
    await update(hidden);
    const elsewhere = await server.table({ id: readable.id, headers: { 'x-service-database': database } });
    await update(readable);
    const [event] = await stream.take(1);
    assert.deepEqual([event?.data.id, event?.data.version, event?.data.database], [[readable.id], 2, 'default']);
    assert.ok(elsewhere);
    stream.close();
  });

  test('a revoked key ends its stream, and a role that is taken away hides further events', async () => {
    const table = await server.table();
    const grants = [{ role: 'reader', database: 'default', path: [table.id] }];
    const { json } = await server.admin.post('/v1/access/key/create', { name: 'listener', grants });
    const stream = await EventStream.open(server.url, { key: json.key });
    await update(table);
    assert.equal((await stream.take(1)).length, 1);
    assert.equal((await server.admin.post('/v1/access/key/revoke', { key_id: json.id })).status, 200);
    const [last, ...more] = await stream.take();
    assert.equal(last?.event, 'refused');
    assert.equal(last.data.status, 401);
    assert.deepEqual(more, []);
  });

  test('a stream ends when its database is dropped, also if another one has the name, or is hidden', async () => {
    const [dropped, replaced, hidden] = [await server.database(), await server.database(), await server.database()];
    const grant = { role: 'reader', database: hidden, path: ['a'] } as const;
    const { json } = await server.admin.post('/v1/access/key/create', { name: 'listener', grants: [grant] });
    const follow = async (database: string, options: StreamOptions = {}): Promise<EventStream> =>
      EventStream.open(server.url, { ...options, headers: { 'x-service-database': database } });
    const streams = [await follow(dropped), await follow(replaced), await follow(hidden, { key: json.key })];
    for (const name of [dropped, replaced]) {
      assert.equal((await server.admin.post('/v1/database/drop', { name })).status, 200);
    }
    assert.equal((await server.admin.post('/v1/database/create', { name: replaced })).status, 200);
    assert.equal(
      (await server.admin.post('/v1/access/grant/delete', { ...grant, principal: json.principal })).status,
      200,
    );
    for (const [index, name] of [dropped, replaced, hidden].entries()) {
      const events = (await streams[index]?.take()) ?? [];
      assert.deepEqual(
        events.map(({ event, data }) => [event, data]),
        [['refused', { error: `The database "${name}" was not found.`, status: 404 }]],
      );
    }
  });

  test('listeners are bounded per caller and in all, and a place is free when one leaves', async () => {
    const { id } = await server.table();
    const key = await server.key([{ role: 'reader', database: 'default', path: [id] }]);
    const streams = [];
    for (let index = 0; index < 6; index += 1) streams.push(await EventStream.open(server.url, { key }));
    const refused = await server.client({ key }).get('/v1/events');
    assert.equal(refused.status, 503);
    assert.match(refused.json.error, /6 event streams of this caller/);
    for (const stream of streams) stream.close();
    await eventually(async () => {
      const { status, body } = await fetch(`${server.url}/v1/events`, { headers: { 'x-api-key': key } });
      await body?.cancel();
      return status === 200;
    });
  });

  test('a wrong cursor, a wrong filter and a missing credential are refused', async () => {
    for (const query of ['cursor=x', 'table=%2F', 'operation=Insert!']) {
      assert.equal((await server.admin.get(`/v1/events?${query}`)).status, 400, query);
    }
    const unknown = await server.admin.get('/v1/events?operation=update_tabel');
    assert.equal(unknown.status, 400, unknown.text);
    assert.match(unknown.text, /No commit has the operation \\"update_tabel\\"\. Did you mean update_table\?/);
    assert.equal((await server.stranger().get('/v1/events')).status, 401);
    const head = await server.admin.send('HEAD', '/v1/events', {});
    assert.equal(head.status, 200);
  });
});
