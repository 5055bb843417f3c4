import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ApiClient } from '../../../src/client/api-client.ts';
import { listIndexes, describeNamespace, describeTable } from '../../../src/client/tables.ts';
import { countRows, openQuery } from '../../../src/client/rows.ts';
import type { DescribeTableReply } from '../../../src/wire/tables.ts';
import { Client } from '../../support/client.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { runCliOn } from '../../support/run-cli.ts';
import { ADMIN_KEY, startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

let server: TestServer;
let folder: string;

before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-backup-'));
  const client = new Client(server.url);
  await client.post('/v1/namespace/eu/create', { properties: { region: 'west' } });
  await client.arrow('/v1/table/eu$orders/create?properties=%7B%22owner%22%3A%22ada%22%7D', sampleStream(300));
  await client.arrow('/v1/table/people/create', sampleStream(3));
  await client.arrow('/v1/table/empty/create', sampleStream(0));
  await client.post('/v1/table/eu$orders/update_field_metadata', {
    updates: [{ path: 'id', metadata: { unit: 'piece' } }],
  });
  await client.post('/v1/table/eu$orders/schema_metadata/update', { metadata: { source: 'shop' } });
  await client.post('/v1/table/eu$orders/create_index', { column: 'id', index_type: 'BTREE', name: 'by_id' });
  await client.post('/v1/table/eu$orders/tags/create', { tag: 'first', version: 1 });
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const cli = async (...argv: readonly string[]) => runCliOn(server.url, argv);

test('a database comes back from its backup: namespaces, tables, metadata, indexes', async () => {
  const place = join(folder, 'whole');
  const made = await cli('backup', 'default', place);
  assert.equal(made.code, 0, made.err);
  assert.match(made.out, /^Backed up 3 tables of default with 303 rows /);
  const manifest = JSON.parse(await readFile(join(place, 'manifest.json'), 'utf8'));
  assert.equal(manifest.complete, true);
  const orders = manifest.tables.find(({ path }: { path: string[] }) => path.join('/') === 'eu/orders');
  assert.deepEqual(orders.tags, { first: 1 });
  assert.deepEqual(orders.indexes, [{ name: 'by_id', columns: ['id'], type: 'BTREE', parameters: {} }]);

  const restored = await cli('restore', place, 'copy');
  assert.equal(restored.code, 0, restored.err);
  const [from, to] = ['default', 'copy'].map(
    (database) => new ApiClient({ url: server.url, key: ADMIN_KEY, database }),
  );
  assert.ok(from !== undefined && to !== undefined);
  assert.equal((await describeNamespace(to, ['eu'])).properties['region'], 'west');
  for (const table of [['eu', 'orders'], ['people'], ['empty']] as const) {
    assert.equal(await countRows(to, table), await countRows(from, table));
    const asked = { load_detailed_metadata: true } as const;
    const before_: DescribeTableReply = await describeTable(from, table, asked);
    const after_: DescribeTableReply = await describeTable(to, table, asked);
    assert.deepEqual(after_.schema, before_.schema, table.join('/'));
    assert.deepEqual(after_.metadata, before_.metadata);
    assert.deepEqual(after_.properties, before_.properties);
    const left: Response = await openQuery(from, table, {});
    const right: Response = await openQuery(to, table, {});
    assert.deepEqual(Buffer.from(await right.arrayBuffer()), Buffer.from(await left.arrayBuffer()));
  }
  assert.deepEqual(
    (await listIndexes(to, ['eu', 'orders'])).map((each) => each.index_name),
    ['by_id'],
  );
});

test('a restore leaves existing tables alone, unless it may replace them', async () => {
  const place = join(folder, 'again');
  assert.equal((await cli('backup', 'default', place)).code, 0);
  const refused = await cli('restore', place, 'default');
  assert.equal(refused.code, 2);
  assert.match(refused.err, /The table \S+ exists\..*--replace/);
  const client = new Client(server.url);
  await client.post('/v1/table/people/delete', { predicate: 'true' });
  const replaced = await cli('restore', place, 'default', '--replace');
  assert.equal(replaced.code, 0, replaced.err);
  assert.equal(await countRows(new ApiClient({ url: server.url, key: ADMIN_KEY }), ['people']), 3);
  const resumed = await cli('restore', place, 'default', '--resume', '--json');
  assert.deepEqual([resumed.code, JSON.parse(resumed.out).tables], [0, 0]);
  assert.match(
    (await cli('restore', place, 'default', '--resume')).out,
    /^Restored 0 tables .*\d tables existed already/,
  );
});

test('a resumed restore adds the indexes and metadata that tables still lack, and leaves whole ones as they are', async () => {
  const place = join(folder, 'resumed');
  assert.equal((await cli('backup', 'default', place, '--json')).code, 0);
  assert.equal((await cli('restore', place, 'resumed')).code, 0);
  const client = new Client(server.url, { headers: { 'x-service-database': 'resumed' } });
  const to = new ApiClient({ url: server.url, key: ADMIN_KEY, database: 'resumed' });
  const orders = ['eu', 'orders'] as const;
  await client.post('/v1/table/eu$orders/schema_metadata/update', { metadata: {} });
  assert.equal((await client.post('/v1/table/eu$orders/index/by_id/drop', {})).status, 200);
  const resumed = await cli('restore', place, 'resumed', '--resume');
  assert.equal(resumed.code, 0, resumed.err);
  assert.match(resumed.out, /^Restored 0 tables .* 3 tables existed already; 1 table lacked indexes or metadata\.$/m);
  const { metadata, version } = await describeTable(to, orders, { load_detailed_metadata: true });
  assert.deepEqual(metadata, { source: 'shop' });
  assert.deepEqual(
    (await listIndexes(to, orders)).map((each) => each.index_name),
    ['by_id'],
  );
  const again = await cli('restore', place, 'resumed', '--resume', '--json');
  assert.deepEqual([again.code, JSON.parse(again.out).completed], [0, 0]);
  assert.equal((await describeTable(to, orders)).version, version);
});

test('a backup to where no folder can be created says so', { skip: process.platform !== 'linux' }, async () => {
  const { code, err } = await cli('backup', 'default', '/proc/tiltyard');
  assert.deepEqual([code, err], [1, 'tiltyard: no folder can be created in /proc\n']);
});

test('a backup whose files were changed is not restored', async () => {
  const place = join(folder, 'damaged');
  assert.equal((await cli('backup', 'default', place)).code, 0);
  const [first = ''] = await readdir(join(place, 'tables'));
  await truncate(join(place, 'tables', first), 100);
  const { code, err } = await cli('restore', place, 'elsewhere');
  assert.equal(code, 2);
  assert.match(err, /missing, incomplete or changed since the backup/);
});

test('a backup that did not finish goes on, and is not restored before', async () => {
  const place = join(folder, 'half');
  assert.equal((await cli('backup', 'default', place)).code, 0);
  assert.equal((await cli('backup', 'default', place)).code, 2, 'a whole backup is not written over');
  const path = join(place, 'manifest.json');
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...manifest, complete: false, tables: manifest.tables.slice(0, 1) }));
  assert.match((await cli('restore', place, 'half')).err, /did not finish/);
  assert.match((await cli('backup', 'default', place)).err, /--resume/);
  assert.equal((await cli('backup', 'default', place, '--resume')).code, 0);
  assert.equal(JSON.parse(await readFile(path, 'utf8')).tables.length, 3);
  assert.equal((await cli('restore', place, 'half')).code, 0);
  assert.equal((await cli('restore', join(folder, 'nothing'), 'half')).code, 2);
  assert.match((await cli('backup', 'no-such', join(folder, 'none'))).err, /no-such/);
});

test('Ctrl-C during a backup leaves no part of a file, and the backup can go on', async (t) => {
  const place = join(folder, 'interrupted');
  const proxy = await TcpProxy.start(Number(new URL(server.url).port));
  t.after(() => proxy.close());
  let stop = (): void => assert.fail('no signal is handled');
  let queries = 0;
  proxy.onSent = (piece) => {
    if (!piece.includes('/query')) return;
    queries += 1;
    if (queries < 2) return;
    proxy.pause();
    stop();
  };
  const { code, out, err } = await runCliOn(proxy.url, ['backup', 'default', place], {
    onInterrupt: (act) => {
      stop = act;
      return () => {};
    },
  });
  assert.equal(code, 130, err);
  assert.equal(out, '');
  assert.equal(err, `Interrupted. The backup in ${place} is not complete: continue it with --resume.\n`);
  assert.deepEqual(await readdir(join(place, 'tables')), ['000001.arrows']);
  assert.equal((await cli('backup', 'default', place, '--resume')).code, 0);
  assert.equal((await readdir(join(place, 'tables'))).length, 3);
});

test('indexes come back with what they were built with, and the backup says what will differ', async () => {
  const client = new Client(server.url);
  const name = 'indexed';
  await client.arrow(`/v1/table/${name}/create`, sampleStream(600));
  const build = async (body: object) => client.post(`/v1/table/${name}/create_index`, body);
  const wanted = [
    { name: 'pq', column: 'vec', index_type: 'IVF_PQ', distance_type: 'cosine', num_partitions: 2, num_sub_vectors: 2 },
    { name: 'hnsw', column: 'vec', index_type: 'IVF_HNSW_SQ', m: 10, ef_construction: 60, num_partitions: 1 },
    { name: 'words', column: 'name', index_type: 'FTS', with_position: true, language: 'German', stem: false },
    { name: 'grams', column: 'name', index_type: 'FTS', base_tokenizer: 'ngram', min_ngram_length: 2 },
  ];
  for (const body of wanted) assert.equal((await build(body)).status, 200, body.name);
  await client.post(`/v1/table/${name}/tags/create`, { tag: 'now', version: 1 });
  await client.post(`/v1/table/${name}/branches/create`, { name: 'trial' });

  const place = join(folder, 'indexes');
  const made = await cli('backup', 'default', place);
  assert.equal(made.code, 0, made.err);
  assert.match(made.out, /^indexed: branches are not in the backup: trial\.$/m);
  assert.match(made.out, /^indexed: tags are not restored: now\.$/m);
  assert.match(made.out, /^indexed: the index pq is rebuilt; its number of partitions follows/m);
  assert.doesNotMatch(made.out, /the index words/);

  const restored = await cli('restore', place, 'again', '--only', name);
  assert.equal(restored.code, 0, restored.err);
  assert.match(restored.out, /^Restored 1 table with 600 rows into again/);
  const [from, to] = await Promise.all(
    ['default', 'again'].map(async (database) => {
      const found = await listIndexes(new ApiClient({ url: server.url, key: ADMIN_KEY, database }), [name]);
      return found.map((each) => [each.index_name, each.index_type, each.columns, each.index_details]).toSorted();
    }),
  );
  assert.deepEqual(to, from);
});

test('one table of a backup is restored beside tables that went on', async () => {
  const place = join(folder, 'one');
  assert.equal((await cli('backup', 'default', place)).code, 0);
  assert.equal((await cli('drop', 'people', '--yes')).code, 0);
  assert.equal((await cli('restore', place, 'default')).code, 2);
  const restored = await cli('restore', place, 'default', '--only', 'people');
  assert.equal(restored.code, 0, restored.err);
  assert.match(restored.out, /^Restored 1 table with 3 rows/);
  const wrong = await cli('restore', place, 'default', '--only', 'peopel');
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /The backup has no table peopel\. Did you mean "?people"?\?/);
});

test('a materialized view comes back as a plain table, unless it exists; the tables after it come back too', async () => {
  const client = new Client(server.url, { headers: { 'x-service-database': 'views' } });
  assert.equal((await client.post('/v1/database/create', { name: 'views' })).status, 200);
  for (const name of ['a', 'c']) await client.arrow(`/v1/table/${name}/create`, sampleStream(3));
  const query = { kind: 'query', source_query: 'SELECT id FROM a' };
  assert.equal((await client.post('/v1/materialized_view/b/create', query)).status, 201);

  const place = join(folder, 'views');
  const made = await cli('backup', 'views', place);
  assert.equal(made.code, 0, made.err);
  assert.match(made.out, /^b: the materialized view is restored as a plain table\.$/m);
  const restored = await cli('restore', place, 'plain');
  assert.equal(restored.code, 0, restored.err);
  assert.match(restored.out, /^Restored 3 tables with 6 rows into plain/);
  const to = new ApiClient({ url: server.url, key: ADMIN_KEY, database: 'plain' });
  assert.deepEqual((await describeTable(to, ['b'])).properties, {});
  const replaced = await cli('restore', place, 'views', '--replace');
  assert.equal(replaced.code, 0, replaced.err);
  assert.match(replaced.out, /^Restored 2 tables .* 1 table existed already/);
});

test('a table whose data are gone is named, and all others are saved and restored', async () => {
  const client = new Client(server.url, { headers: { 'x-service-database': 'torn' } });
  assert.equal((await client.post('/v1/database/create', { name: 'torn' })).status, 200);
  for (const name of ['a', 'b', 'c']) await client.arrow(`/v1/table/${name}/create`, sampleStream(3));
  const { location } = (await client.post('/v1/table/b/describe', {})).json;
  await rename(location, `${location}.away`);

  const counted = await cli('tables', '--rows', '--database', 'torn');
  assert.equal(counted.code, 1, counted.err);
  assert.match(counted.out, /^a +3\nb +The data of the table was not found\.\nc +3$/m);
  const place = join(folder, 'torn');
  const made = await cli('backup', 'torn', place);
  assert.equal(made.code, 1, made.out);
  assert.match(made.err, /^b is not in the backup: The data of the table was not found\.$/m);
  assert.match(made.out, /^Backed up 2 tables of torn with 6 rows /);
  assert.match((await cli('backup', 'torn', place)).err, /lacks tables .*--resume/);

  const restored = await cli('restore', place, 'whole');
  assert.equal(restored.code, 1, restored.out);
  assert.match(restored.err, /^b is not in the backup: The data of the table was not found\.$/m);
  assert.match(restored.out, /^Restored 2 tables with 6 rows into whole/);
  assert.match((await cli('restore', place, 'whole', '--only', 'b')).err, /b is not in the backup/);
  assert.equal((await cli('restore', place, 'whole', '--only', 'c', '--replace')).code, 0);

  await rename(`${location}.away`, location);
  const third = await stat(join(place, 'tables', '000003.arrows'));
  const resumed = await cli('backup', 'torn', place, '--resume', '--json');
  assert.deepEqual([resumed.code, JSON.parse(resumed.out).failed], [0, []]);
  assert.equal((await stat(join(place, 'tables', '000003.arrows'))).ino, third.ino, 'it was kept');
  const again = await cli('restore', place, 'whole', '--resume');
  assert.equal(again.code, 0, again.err);
  assert.match(again.out, /^Restored 1 table with 3 rows into whole\. 2 tables existed already/);
});
