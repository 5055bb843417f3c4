import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import { basename, dirname } from 'node:path';
import { generateApiKey } from '../../../src/auth/keys/secrets.ts';
import { eventually } from '../../support/eventually.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Float64, Int32, count, streamOf, vectorType } from '../contract-tables.ts';

const ROWS = 20;
const HIT = 'tiltyard; hit';
const STORED = 'tiltyard; fwd=miss; stored';
const MEDIA_TYPES = [
  'application/vnd.apache.arrow.file',
  'application/vnd.apache.arrow.stream',
  'application/json',
  'application/x-ndjson',
];

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

function stream(price: number): Uint8Array {
  return streamOf({
    id: { type: new Int32(), values: count(ROWS) },
    price: { type: new Float64(), values: count(ROWS).map(() => price) },
    vec: { type: vectorType(4), values: count(ROWS).map((row) => [row, row, row, row]) },
  });
}

async function createTable(price = 1): Promise<MadeTable> {
  return server.table({ stream: stream(price) });
}

type Headers = Readonly<Record<string, string>>;

async function send(table: Pick<MadeTable, 'at'>, body: object, headers: Headers = {}, slash = '') {
  const response = await fetch(`${server.url}${table.at}/query${slash}`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return {
    status: response.status,
    bytes,
    cache: response.headers.get('cache-status'),
    etag: response.headers.get('etag'),
    version: Number(response.headers.get('x-lancedb-version')),
    headers: response.headers,
  };
}

const ROW = { k: 1, filter: 'id = 3', columns: { column_names: ['price'] } };

/** The price of a row, as a query sees it that may be cached. */
async function price(table: MadeTable, more: object = {}): Promise<number> {
  const { status, bytes } = await send(table, { ...ROW, ...more });
  assert.equal(status, 200, bytes.toString());
  return JSON.parse(bytes.toString()).rows[0].price;
}

/** For a moment after a commit nothing is cached. */
async function becomesCached(table: Pick<MadeTable, 'at'>, body: object = ROW, headers: Headers = {}, slash = '') {
  await eventually(async () => (await send(table, body, headers, slash)).cache === HIT);
}

suite('a query that is sent again', () => {
  test('gets the same bytes from the cache, in both dialects and as every media type', async () => {
    const table = await createTable();
    await becomesCached(table);
    const body = { k: 5, vector: { single_vector: [3, 3, 3, 3] } };
    for (const slash of ['', '/']) {
      for (const accept of MEDIA_TYPES) {
        const first = await send(table, body, { accept }, slash);
        assert.equal(first.cache, STORED, accept);
        const again = await send(table, body, { accept }, slash);
        const fresh = await send(table, body, { accept, 'cache-control': 'no-store' }, slash);
        assert.equal(again.cache, HIT);
        assert.equal(again.headers.get('content-type'), fresh.headers.get('content-type'));
        assert.ok(again.bytes.equals(first.bytes) && again.bytes.equals(fresh.bytes));
        assert.deepEqual([again.etag, again.version], [first.etag, first.version]);
        assert.match(again.etag ?? '', /^"[\w-]{32}"$/);
        assert.equal(again.headers.get('cache-control'), 'private, no-cache');
        assert.equal(fresh.cache, null);
      }
    }
  });

  test('is another query when anything in it differs', async () => {
    const table = await createTable();
    await becomesCached(table);
    const search = { k: 5, vector: { single_vector: [3, 3, 3, 3] } };
    const others = [
      search,
      { ...search, k: 6 },
      { ...search, vector: { single_vector: [3, 3, 3, 4] } },
      { ...search, offset: 1 },
      { ...search, nprobes: 7 },
      { ...search, refine_factor: 2 },
      { ...search, distance_type: 'cosine' },
      { ...search, filter: 'id > 2' },
      { ...search, filter: 'id > 2', prefilter: false },
      { ...search, columns: { column_names: ['id'] } },
      { ...search, columns: { column_names: ['price', 'id'] } },
      { ...search, with_row_id: true },
      { ...search, bypass_vector_index: true },
      { ...search, version: 1 },
    ];
    for (const body of others) assert.equal((await send(table, body)).cache, STORED, JSON.stringify(body));
    for (const body of others) assert.equal((await send(table, body)).cache, HIT, JSON.stringify(body));
    assert.equal((await send(await createTable(), search)).cache?.includes('hit'), false);
  });

  test('sees a write of the service at once', async () => {
    const table = await createTable();
    for (let round = 2; round < 12; round += 1) {
      if (round % 4 === 0) await becomesCached(table);
      await updated(server.admin, table, { updates: [['price', String(round)]] });
      assert.equal(await price(table), round);
    }
  });

  test('sees a commit of another program at once', async () => {
    const table = await createTable();
    const embedded = await server.embedded(table);
    for (let round = 2; round < 12; round += 1) {
      if (round % 4 === 0) await becomesCached(table);
      await embedded.update({ values: { price: round } });
      assert.equal(await price(table), round);
    }
  });

  test('sees what a restore brings back, and its version', async () => {
    const table = await createTable(1);
    await becomesCached(table);
    await updated(server.admin, table, { updates: [['price', '2']] });
    await becomesCached(table);
    assert.equal((await server.admin.post(`${table.at}/restore`, { version: 1 })).status, 200);
    assert.equal(await price(table), 1);
    assert.equal((await send(table, ROW)).version, 3);
    await becomesCached(table);
    assert.equal((await send(table, ROW)).version, 3);
  });

  test('sees a table of the same name and version that was created in its place', async () => {
    const table = await createTable(1);
    await becomesCached(table);
    assert.equal((await server.admin.post(`${table.at}/drop`, {})).status, 200);
    assert.equal((await send(table, ROW)).status, 404);
    const again = await server.table({ id: table.id, stream: stream(2) });
    assert.equal(again.version, table.version);
    assert.equal(await price(again), 2);
  });

  test('sees a table that another program put in its place, with the same version', async () => {
    const table = await createTable(1);
    await becomesCached(table);
    const connection = await connect(dirname(table.location));
    const name = basename(table.location, '.lance');
    await connection.dropTable(name);
    await connection.createTable(name, [{ id: 3, price: 5 }]);
    assert.equal(await price(table), 5);
    connection.close();
  });

  test('sees its own branch and version, and changes to them', async () => {
    const table = await createTable(1);
    await server.admin.post(`${table.at}/branches/create`, { name: 'trial' });
    await becomesCached(table);
    await becomesCached(table, { ...ROW, branch: 'trial' });
    await updated(server.admin, table, { updates: [['price', '2']], branch: 'trial' });
    assert.equal(await price(table), 1);
    assert.equal(await price(table, { branch: 'trial' }), 2);
    await updated(server.admin, table, { updates: [['price', '3']] });
    await becomesCached(table, { ...ROW, version: 1 });
    await becomesCached(table);
    assert.equal(await price(table), 3);
    assert.equal(await price(table, { version: 1 }), 1);
    assert.equal(await price(table, { branch: 'trial' }), 2);
    assert.equal((await send(table, { ...ROW, branch: 'nowhere' })).status, 404);
    assert.equal((await send(table, { ...ROW, branch: '../..' })).status, 400);
  });

  test('is refused as soon as its caller may not read the table any more', async () => {
    const table = await createTable();
    const { key, digest } = generateApiKey();
    const grants = [{ role: 'reader', database: 'default', path: [table.id] }] as const;
    const { id } = await server.catalog.keys.create({ name: server.name('key'), digest, grants });
    const headers = { 'x-api-key': key };
    await becomesCached(table, ROW, headers);
    await server.catalog.keys.revoke(id);
    assert.equal((await send(table, ROW, headers)).status, 401);
    const other = await server.key([{ role: 'reader', database: 'default', path: ['elsewhere'] }]);
    assert.equal((await send(table, ROW, { 'x-api-key': other })).status, 404);
    assert.equal((await send(table, ROW)).cache, HIT);
  });

  test('is executed again when its values change by themselves', async () => {
    const table = await createTable();
    await becomesCached(table);
    for (const expression of ['random()', 'uuid()', 'now()', 'current_date()', 'current_timestamp', 'NOW()']) {
      const body = { ...ROW, columns: { column_aliases: { id: 'id', value: expression } } };
      const replies = [await send(table, body), await send(table, body)];
      for (const { status, cache, etag, bytes } of replies) {
        assert.equal(status, 200, `${expression}: ${bytes.toString()}`);
        assert.deepEqual([cache, etag], ['tiltyard; fwd=bypass', null], expression);
      }
      if (/random|uuid/.test(expression)) assert.notDeepEqual(replies[0]?.bytes, replies[1]?.bytes);
    }
    const filtered = { ...ROW, filter: 'price < random() + 5' };
    for (let turn = 0; turn < 2; turn += 1) assert.equal((await send(table, filtered)).cache, 'tiltyard; fwd=bypass');
  });

  test('is executed again when it failed', async () => {
    const table = await createTable();
    await becomesCached(table);
    const body = { ...ROW, columns: { column_names: ['color'] } };
    for (let turn = 0; turn < 2; turn += 1) assert.equal((await send(table, body)).status, 404);
    await server.admin.post(`${table.at}/add_columns`, { new_columns: [{ name: 'color', expression: "'red'" }] });
    assert.equal((await send(table, body)).status, 200);
  });

  test('is executed again when its result is large', async () => {
    const rows = 40_000;
    const values = count(rows);
    const table = await server.table({
      stream: streamOf({ id: { type: new Int32(), values }, price: { type: new Float64(), values } }),
    });
    await becomesCached(table);
    for (const accept of MEDIA_TYPES) {
      for (let turn = 0; turn < 2; turn += 1) {
        const { cache, etag } = await send(table, { k: rows }, { accept });
        assert.deepEqual([cache, etag], ['tiltyard; fwd=miss', null]);
      }
    }
    // More than is sent in one piece, and less than is cached.
    await becomesCached(table, { k: 7000 });
    const [cached, fresh] = [
      await send(table, { k: 7000 }),
      await send(table, { k: 7000 }, { 'cache-control': 'no-store' }),
    ];
    assert.ok(cached.bytes.length > 100_000 && cached.bytes.equals(fresh.bytes));
  });

  test('is executed again when its caller asks for that', async () => {
    const table = await createTable();
    await becomesCached(table);
    const again = await send(table, ROW, { 'cache-control': 'no-cache' });
    assert.equal(again.cache, 'tiltyard; fwd=request; stored');
  });

  test('is not answered at all when the caller has the result and says so', async () => {
    const table = await createTable();
    await becomesCached(table);
    const { etag } = await send(table, ROW);
    assert.ok(etag !== null);
    const condition = { 'if-none-match': `"other", ${etag}`, prefer: 'not-modified' };
    const unchanged = await send(table, ROW, condition);
    assert.deepEqual([unchanged.status, unchanged.bytes.length, unchanged.etag], [304, 0, etag]);
    assert.equal(unchanged.headers.get('content-type'), null);
    // On a POST the condition alone has another meaning.
    assert.equal((await send(table, ROW, { 'if-none-match': etag })).status, 200);
    assert.equal((await send(table, ROW, { ...condition, accept: MEDIA_TYPES[0] ?? '' })).status, 200);
    await updated(server.admin, table, { updates: [['price', '2']] });
    const changed = await send(table, ROW, condition);
    assert.equal(changed.status, 200);
    assert.notEqual(changed.etag, etag);
  });
});

suite('the cache of results', () => {
  test('stays within its size, and shows in the metrics', async () => {
    const small = await ContractServer.start({ flags: ['--query-cache-bytes=20KiB', '--metrics-access=everyone'] });
    try {
      const table = await small.table({ stream: stream(1) });
      const query = async (limit: number) =>
        small.admin.post(`${table.at}/query`, { ...ROW, filter: `id < ${limit}` }, { accept: 'application/json' });
      await eventually(async () => (await query(1)).headers.get('cache-status') === HIT);
      for (let limit = 0; limit < 100; limit += 1) await query(limit);
      const text = await (await fetch(`${small.url}/metrics`)).text();
      const figure = (name: string): number => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]);
      assert.ok(figure('tiltyard_result_cache_bytes') <= 20 * 1024);
      assert.ok(figure('tiltyard_result_cache_entries') > 0);
      assert.ok(figure('tiltyard_result_cache_evictions_total') > 0);
      assert.match(text, /^tiltyard_result_cache_lookups_total\{outcome="hit"\} [1-9]/m);
    } finally {
      await small.close();
    }
  });

  test('can be turned off', async () => {
    const off = await ContractServer.start({ flags: ['--query-cache-bytes=0'] });
    try {
      const table = await off.table({ stream: stream(1) });
      for (let turn = 0; turn < 2; turn += 1) {
        const { status, headers } = await off.admin.post(`${table.at}/query`, ROW);
        assert.deepEqual([status, headers.get('cache-status'), headers.get('etag')], [200, null, null]);
        assert.equal(headers.get('cache-control'), 'no-store');
      }
    } finally {
      await off.close();
    }
  });
});
