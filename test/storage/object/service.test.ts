import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import type { Answer } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { runCliOn } from '../../support/run-cli.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { NO_OBJECT_STORES } from './test-stores.ts';

const ROOT = 's3://tables/prefix';

let emulator: S3Emulator;
let server: TestServer;
let client: Client;
before(async () => {
  if (NO_OBJECT_STORES !== false) return;
  emulator = await S3Emulator.start({ after: () => {} });
  server = await startServer({ flags: toFlags(emulator) });
  client = new Client(server.url);
});
after(async () => {
  if (NO_OBJECT_STORES !== false) return;
  await server.close();
  emulator.close();
});

function toFlags({ storageOptions }: S3Emulator, root = ROOT): readonly string[] {
  return [`--storage-root=${root}`, `--storage-options=${JSON.stringify(storageOptions)}`];
}

async function call(path: string, body: object = {}, status = 200): Promise<Answer['json']> {
  const answer = await client.post(`/v1/${path}`, body);
  assert.equal(answer.status, status, `${path}: ${answer.text}`);
  return answer.json;
}

/** A table with the ids 1 to 10. */
async function create(name: string): Promise<Answer['json']> {
  const answer = await client.arrow(`/v1/table/${name}/create`, sampleStream());
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function idsOf(name: string, more: object = {}): Promise<readonly number[]> {
  const answer = await client.post(
    `/v1/table/${name}/query`,
    { k: 1000, columns: { column_names: ['id'] }, ...more },
    { accept: 'application/json' },
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.json.rows.map(({ id }: { id: number }) => id).toSorted((one: number, other: number) => one - other);
}

suite('on an object store', () => {
  test('an insert past a size quota is refused and writes nothing', { skip: NO_OBJECT_STORES }, async () => {
    await create('limited');
    const { usage } = await call('access/usage', { database: 'default' });
    const limits = { rows: usage.rows + 5, bytes: usage.bytes + 100_000 };
    await call('access/quota/set', { database: 'default', ...limits });
    const insert = async (rows: number): Promise<Answer> =>
      client.arrow('/v1/table/limited/insert', sampleStream(rows));
    const objects = emulator.objects.paths('tables/');
    const refused = await insert(6);
    assert.equal(refused.status, 403, refused.text);
    assert.match(refused.json.detail, new RegExp(`allows ${limits.rows} rows: ${usage.rows} are used.* adds 6`));
    assert.deepEqual(emulator.objects.paths('tables/'), objects);
    assert.equal((await insert(5)).status, 200);
    const after = (await call('access/usage', { database: 'default' })).usage;
    assert.equal(after.rows, limits.rows);
    const { location } = await call('table/limited/describe');
    const data = emulator.objects.paths(`${location.slice('s3://'.length)}/data/`);
    assert.equal(data.length, 2);
    const added = data.map((path) => emulator.objects.get(path)?.content.length ?? 0);
    assert.ok(added.includes(after.bytes - usage.bytes), `${after.bytes - usage.bytes} of ${String(added)}`);
    await call('access/quota/remove', { database: 'default' });
    await call('table/limited/drop');
  });

  test('a query that is sent again is cached until the table changes', { skip: NO_OBJECT_STORES }, async () => {
    await create('cached');
    const body = { k: 1000, columns: { column_names: ['id'] } };
    const status = async (): Promise<string | null> =>
      (await client.post('/v1/table/cached/query', body, { accept: 'application/json' })).headers.get('cache-status');
    for (let round = 0; round < 3; round += 1) {
      const known = await idsOf('cached');
      assert.equal(await status(), 'tiltyard; hit');
      await call('table/cached/update', { updates: [['id', 'id + 100']] });
      assert.deepEqual(
        await idsOf('cached'),
        known.map((id) => id + 100),
      );
    }
    await call('table/cached/restore', { version: 1 });
    const [least] = await idsOf('cached');
    assert.equal(least, 0);
    await call('table/cached/drop');
    assert.equal((await client.arrow('/v1/table/cached/create', sampleStream(3))).status, 200);
    assert.equal((await idsOf('cached')).length, 3);
  });

  test(
    'a write that names the main branch is visible as soon as it is answered',
    { skip: NO_OBJECT_STORES },
    async (t) => {
      // Readers learn of new versions from the catalog alone.
      const other = await startServer({
        flags: [...toFlags(emulator, 's3://named/main'), '--storage-poll-seconds=3600'],
      });
      t.after(async () => other.close());
      const own = new Client(other.url);
      const at = '/v1/table/named';
      assert.equal((await own.arrow(`${at}/create`, sampleStream())).status, 200);
      const latest = async (): Promise<string | null> =>
        (await own.post(`${at}/count_rows`, {})).headers.get('x-lancedb-version');
      assert.equal(await latest(), '1');
      const writes: readonly [string, object][] = [
        ['update', { updates: [['id', 'id + 100']] }],
        ['delete', { predicate: 'id = 101' }],
        ['add_columns', { new_columns: [{ name: 'double', expression: 'id * 2' }] }],
        ['alter_columns', { alterations: [{ path: 'double', rename: 'twice' }] }],
        ['drop_columns', { columns: ['twice'] }],
        ['update_field_metadata', { updates: [{ path: 'id', metadata: { unit: 'none' } }] }],
        ['schema_metadata/update', { metadata: { owner: 'test' } }],
        ['create_scalar_index', { column: 'id', index_type: 'BTREE' }],
        ['index/id_idx/drop', {}],
        ['restore', { version: 1 }],
      ];
      let version = 1;
      for (const [operation, body] of writes) {
        const answer = await own.post(`${at}/${operation}`, { ...body, branch: 'main' });
        assert.equal(answer.status, 200, `${operation}: ${answer.text}`);
        version += 1;
        assert.equal(await latest(), String(version), operation);
      }
    },
  );

  test('tables are created, filled, changed, read and dropped', { skip: NO_OBJECT_STORES }, async () => {
    const { location } = await create('items');
    assert.ok(location.startsWith(`${ROOT}/items-`), location);
    const first = await idsOf('items');
    assert.equal(first.length, 10);
    assert.equal((await client.arrow('/v1/table/items/insert', sampleStream(5))).status, 200);
    assert.equal((await idsOf('items')).length, 15);
    const updated = await call('table/items/update', { updates: [['id', 'id + 1000']], predicate: 'id = 3' });
    assert.equal(updated.updated_rows, 2);
    await call('table/items/delete', { predicate: 'id > 1000' });
    assert.equal((await idsOf('items')).length, 13);
    const merged = await client.arrow(
      '/v1/table/items/merge_insert?on=id&when_not_matched_insert_all=true',
      sampleStream(10),
    );
    assert.equal(merged.status, 200, merged.text);
    assert.equal((await client.post('/v1/table/items/count_rows', {})).text, '14');
    await call('table/items/drop');
    assert.deepEqual(emulator.objects.paths(location.replace('s3://', '')), []);
    await call('table/items/describe', {}, 404);
  });

  test(
    'versions are listed, read, tagged, branched, restored and deleted after a while',
    { skip: NO_OBJECT_STORES },
    async () => {
      await create('history');
      await call('table/history/update', { updates: [['id', 'id + 100']] });
      const { versions } = await call('table/history/version/list');
      assert.deepEqual(versions.map(({ version }: { version: number }) => version).toSorted(), [1, 2]);
      for (const { manifest_path, manifest_size } of versions) {
        assert.equal(emulator.objects.get(manifest_path.replace('s3://', ''))?.content.length, manifest_size);
      }
      assert.ok((await idsOf('history', { version: 1 })).every((id) => id < 100));
      await call('table/history/tags/create', { tag: 'begin', version: 1 });
      await call('table/history/branches/create', { name: 'side', from_version: 1 });
      await call('table/history/restore', { version: 1 });
      assert.ok((await idsOf('history')).every((id) => id < 100));
      const refused = await call(
        'table/history/version/delete',
        { ranges: [{ start_version: 2, end_version: 3 }] },
        409,
      );
      assert.match(refused.detail, /Version 2 is too recent to be deleted\. .* 600 s/);
    },
  );

  test(
    'a clone is independent of its source, and the rename of a table keeps its data',
    { skip: NO_OBJECT_STORES },
    async () => {
      const { location } = await create('origin');
      await call('table/origin/update', { updates: [['id', 'id + 100']] });
      const clone = await call('table/copy/clone', { source_location: location, source_version: 1 });
      assert.equal(clone.version, 1);
      await call('table/origin/rename', { new_table_name: 'renamed' });
      assert.ok((await idsOf('renamed')).every((id) => id >= 100));
      await call('table/renamed/drop');
      assert.equal((await idsOf('copy')).length, 10);
      await call('table/copy/update', { updates: [['id', 'id + 7']] });
    },
  );

  test('indexes are built, and maintenance puts a table in order', { skip: NO_OBJECT_STORES }, async () => {
    await create('kept');
    for (let id = 1; id <= 4; id += 1) {
      await call('table/kept/update', { updates: [['id', 'id']], predicate: `id = ${id}` });
    }
    const index = await call('table/kept/create_scalar_index', { column: 'id', index_type: 'BTREE' });
    assert.ok(index !== undefined);
    const { result } = await call('table/kept/maintenance/run');
    assert.ok(result.fragments_removed > 1, JSON.stringify(result));
    assert.equal((await idsOf('kept')).length, 10);
  });

  test(
    'a table that another program wrote is registered, unless it is not there',
    { skip: NO_OBJECT_STORES },
    async () => {
      const connection = await connect(ROOT, { storageOptions: { ...emulator.storageOptions } });
      await connection.createTable('outside', [{ id: 1 }, { id: 2 }]);
      connection.close();
      await call('table/outside/register', { location: 'outside.lance' });
      assert.deepEqual(await idsOf('outside'), [1, 2]);
      await call('table/nothing/register', { location: 'nothing.lance' }, 400);
    },
  );

  test('a database is backed up and restored', { skip: NO_OBJECT_STORES }, async (t) => {
    const folder = await makeFolder(t);
    await create('precious');
    const kept = await runCliOn(server.url, ['backup', 'default', join(folder, 'kept')]);
    assert.equal(kept.code, 0, kept.err);
    const restored = await runCliOn(server.url, ['restore', join(folder, 'kept'), 'again']);
    assert.equal(restored.code, 0, restored.err);
    const other = new Client(server.url, { headers: { 'x-lancedb-database': 'again' } });
    assert.equal((await other.post('/v1/table/precious/describe', {})).status, 200);
  });
});

test('tables that are on a store are found by a server with a new catalog', { skip: NO_OBJECT_STORES }, async (t) => {
  const connection = await connect('s3://found/here', { storageOptions: { ...emulator.storageOptions } });
  await connection.createTable('outside', [{ id: 1 }]);
  connection.close();
  const other = await startServer({ flags: toFlags(emulator, 's3://found/here') });
  t.after(async () => other.close());
  assert.deepEqual((await new Client(other.url).get('/v1/tables')).json.tables, ['outside']);
});

test(
  'a server does not start on a store without conditional writes, and says why',
  { skip: NO_OBJECT_STORES },
  async (t) => {
    const unsafe = await S3Emulator.start(t, { ignoresConditions: true });
    await assert.rejects(startServer({ flags: toFlags(unsafe) }), /s3:\/\/tables cannot store tables/);
    assert.deepEqual(unsafe.objects.paths(), []);
  },
);

test(
  'a server with tables starts while its store is out, and serves them when it is back',
  { skip: NO_OBJECT_STORES },
  async (t) => {
    const own = await S3Emulator.start(t);
    const folder = await makeFolder(t);
    const options = { folder, flags: [...toFlags(own), '--storage-request-attempts-max=2'] };
    const first = await startServer(options);
    assert.equal((await new Client(first.url).arrow('/v1/table/items/create', sampleStream())).status, 200);
    await first.close();
    own.faults.add('error-before', {}, 1_000_000);
    const second = await startServer(options);
    t.after(async () => second.close());
    own.faults.clear();
    const body = { updates: [['id', 'id + 1']] };
    assert.equal((await new Client(second.url).post('/v1/table/items/update', body)).status, 200);
  },
);

suite('an upload of which the store refuses a commit', { skip: NO_OBJECT_STORES }, () => {
  let impatient: TestServer;
  let own: Client;
  before(async () => {
    const engine = { client_max_retries: '0', client_retry_timeout: '1', timeout: '3s' };
    const storageOptions = { ...emulator.storageOptions, ...engine };
    const flags = ['--storage-root=s3://tables/refused', `--storage-options=${JSON.stringify(storageOptions)}`];
    impatient = await startServer({ flags });
    own = new Client(impatient.url);
  });
  after(async () => impatient.close());

  const manifests = (name: string): RegExp => new RegExp(`${name}.*/_versions/`);

  async function ask(path: string, body: object = {}): Promise<Answer['json']> {
    const { status, text, json } = await own.post(`/v1/table/${path}`, body);
    assert.equal(status, 200, text);
    return json;
  }

  async function send(path: string, rows: number): Promise<void> {
    const { status, text } = await own.arrow(`/v1/table/${path}`, sampleStream(rows));
    assert.equal(status, 200, text);
  }

  /** Of two parts, each of which is a commit. Gives what completes it. */
  async function startUpload(name: string): Promise<() => Promise<Answer>> {
    const query = `upload_id=${(await ask(`${name}/multipart_write/create`)).upload_id}`;
    for (const part of ['1', '2']) await send(`${name}/insert?${query}&upload_part_id=${part}`, 5);
    return async () => own.post(`/v1/table/${name}/multipart_write/complete?${query}`, {});
  }

  test('is not applied later, in whole or in part, when the commit arrives late', async () => {
    for (const skip of [0, 1]) {
      const name = `late-${skip}`;
      await send(`${name}/create`, 10);
      const complete = await startUpload(name);
      const held = emulator.faults.hold({ method: 'PUT', path: manifests(name), skip });
      assert.equal((await complete()).status, 503);
      held.release();
      await send(`${name}/insert`, 1);
      assert.equal(await ask(`${name}/count_rows`), 11, name);
    }
  });

  test('is not shown by an index that was built meanwhile, and its failure does not lose the index', async () => {
    await send('beside/create', 10);
    const files = emulator.faults.hold({ method: 'PUT', path: /beside.*\/_indices\// });
    const build = ask('beside/create_scalar_index', { column: 'id', index_type: 'BTREE' });
    await files.reached;
    const complete = await startUpload('beside');
    const second = emulator.faults.hold({ method: 'PUT', path: manifests('beside'), skip: 1 });
    const upload = complete();
    await second.reached;
    files.release();
    const committed = (): number => emulator.objects.paths('').filter((path) => manifests('beside').test(path)).length;
    await eventually(async () => committed() === 3);
    assert.equal(await ask('beside/count_rows'), 10);
    emulator.faults.add('error-before', { method: 'PUT', path: manifests('beside') });
    second.release();
    assert.equal((await upload).status, 503);
    await build;
    assert.equal((await ask('beside/index/list')).indexes.length, 1);
    assert.equal(await ask('beside/count_rows'), 10);
  });

  test('an object store that refuses access is a 503 that says so', { skip: NO_OBJECT_STORES }, async () => {
    await create('refused');
    const requireRefusal = async (path: string, body: object, message: string): Promise<void> => {
      const answer = await client.post(`/v1/${path}`, body);
      assert.equal(answer.status, 503, answer.text);
      assert.ok(answer.json.detail.startsWith(message), answer.text);
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
    };
    const plain = 'The object store refuses access.';
    emulator.faults.add('denied', { method: 'GET', path: /\/data\// }, 1000);
    await requireRefusal('table/refused/query', { k: 5 }, plain);
    await requireRefusal('table/refused/analyze_plan', { k: 5 }, plain);
    emulator.faults.clear();
    emulator.faults.add('denied', { method: 'PUT' }, 1000);
    await requireRefusal('table/refused/create_scalar_index', { column: 'id', index_type: 'BTREE' }, plain);
    const inDoubt = `It is not known whether the write was applied. ${plain}`;
    await requireRefusal('table/refused/update', { updates: [['price', '1.0']] }, inDoubt);
    const created = await client.arrow('/v1/table/refused-too/create', sampleStream(1));
    assert.deepEqual([created.status, created.json.detail], [503, plain]);
    for (const [fault, message] of [
      ['expired', "The object store refuses the server's credentials (ExpiredToken)."],
      ['wrong-key', "The object store refuses the server's credentials (SignatureDoesNotMatch)."],
      ['skewed', 'The clocks of the server and the object store differ too much (RequestTimeTooSkewed).'],
      ['no-bucket', 'The bucket does not exist in the object store (NoSuchBucket).'],
      ['wrong-region', 'The bucket is in another region than the server expects (AuthorizationHeaderMalformed).'],
      ['rejected', 'The object store refuses the request.'],
    ] as const) {
      emulator.faults.clear();
      emulator.faults.add(fault, {}, 1000);
      const refused = await client.arrow(`/v1/table/refused-${fault}/create`, sampleStream(1));
      assert.deepEqual([refused.status, refused.json.detail], [503, message]);
    }
    emulator.faults.clear();
    assert.equal((await idsOf('refused')).length, 10);
  });
});
