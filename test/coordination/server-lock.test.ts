import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { text } from 'node:stream/consumers';
import { openConfiguredCatalog } from '../../src/app/configured-catalog.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';
import { startServerProcess } from '../support/server-process.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { mountSmallDisk, remount } from '../support/small-disk.ts';
import { makeFolder } from '../support/temporary-folder.ts';

const BRIEF = '--storage-lock-seconds=0.2';

async function start(t: TestContext, folder: string, flags: readonly string[] = []): Promise<ServerProcess> {
  const server = await startServerProcess(folder, flags);
  t.after(async () => server.stop());
  return server;
}

/** In this process: what only has to hold the locks. */
async function hold(t: TestContext, folder: string, flags: readonly string[] = []): Promise<TestServer> {
  const server = await startServer({ folder, flags });
  t.after(async () => server.close());
  return server;
}

/** Also beside a running server. */
async function createDatabase(data: string, name: string, root: string): Promise<void> {
  const loaded = loadConfig({ argv: [data], env: {}, readFile: () => '' });
  assert.ok('config' in loaded);
  const catalog = await openConfiguredCatalog(loaded.config);
  try {
    await catalog.databases.create({ name, root });
  } finally {
    await catalog.close();
  }
}

async function increment(client: Client): Promise<void> {
  const answer = await client.post('/v1/table/t/update', { updates: [['id', 'id + 1']] });
  assert.equal(answer.status, 200, answer.text);
}

test('a data folder that is a file, or below one, is refused as such', async (t) => {
  const file = join(await makeFolder(t), 'table.csv');
  await writeFile(file, 'id\n');
  for (const data of [file, join(file, 'data')]) {
    await assert.rejects(startServerProcess(data), /There is a file at that path, or above it: choose a folder\./);
  }
});

test('a second server on the same folder ends and names the first, which is not disturbed', async (t) => {
  const folder = await makeFolder(t);
  const first = await start(t, folder);
  const client = new Client(first.url);
  assert.equal((await client.arrow('/v1/table/t/create', sampleStream(1))).status, 200);
  const second = startServerProcess(folder, [BRIEF]);
  const ended = assert.rejects(second, (error: Error) => {
    assert.match(error.message, /ended with 2/);
    assert.match(error.message, new RegExp(`data folder ${folder} is in use by another Tiltyard server`));
    assert.match(error.message, new RegExp(`process \\d+ on \\S+, listening on ${new URL(first.url).host} since 20`));
    return true;
  });
  for (let round = 0; round < 10; round += 1) await increment(client);
  await ended;
  await increment(client);
  const answer = await client.post('/v1/table/t/count_rows', { predicate: 'id = 11' });
  assert.equal(answer.text, '1');
  assert.deepEqual(
    first.log.filter(({ event }) => event === 'worker-died'),
    [],
  );
});

test('two servers with a data folder each cannot share a storage root', async (t) => {
  const [one, other, root] = [await makeFolder(t), await makeFolder(t), await makeFolder(t)];
  await hold(t, one, [`--storage-root=${root}`]);
  await assert.rejects(startServerProcess(other, [`--storage-root=${root}`, BRIEF]), /storage root .* is in use by/);
});

test('two servers cannot use storage roots one of which is inside the other', async (t) => {
  const [one, other, root] = [await makeFolder(t), await makeFolder(t), await makeFolder(t)];
  const [outer, inner] = [`--storage-root=${root}`, `--storage-root=${join(root, 'inner')}`];
  const first = await hold(t, one, [outer]);
  await assert.rejects(startServerProcess(other, [inner, BRIEF]), /storage root .*inner is in use by/);
  await first.close();
  await hold(t, other, [inner]);
  await createDatabase(one, 'sales', join(root, 'inner'));
  await assert.rejects(startServerProcess(one, [outer, BRIEF]), /storage root .*inner is in use by/);
});

test('a storage root that is a symbolic link to another one of the same server is no obstacle', async (t) => {
  const [folder, elsewhere] = [await makeFolder(t), await makeFolder(t)];
  await symlink(folder, join(elsewhere, 'link'));
  await createDatabase(folder, 'sales', join(elsewhere, 'link'));
  await hold(t, folder);
});

test('two servers cannot share a catalog', async (t) => {
  const [one, other] = [await makeFolder(t), await makeFolder(t)];
  const catalog = `--catalog-file=${join(await makeFolder(t), 'catalog.db')}`;
  await hold(t, one, [catalog]);
  await assert.rejects(startServerProcess(other, [catalog, BRIEF]), /catalog .*catalog\.db is in use by/);
});

test('the storage root of every database belongs to one server', async (t) => {
  const [one, other, root] = [await makeFolder(t), await makeFolder(t), await makeFolder(t)];
  await createDatabase(one, 'sales', root);
  await hold(t, one);
  await assert.rejects(startServerProcess(other, [`--storage-root=${root}`, BRIEF]), /storage root .* is in use by/);
  await createDatabase(other, 'shop', root);
  await assert.rejects(startServerProcess(other, [BRIEF]), /storage root .* is in use by/);
});

test('a database that is created while the server runs is written by one server only', async (t) => {
  const [one, other, root] = [await makeFolder(t), await makeFolder(t), await makeFolder(t)];
  const owner = await hold(t, one);
  const server = await hold(t, other);
  for (const data of [one, other]) await createDatabase(data, 'sales', root);
  const sales = { 'x-lancedb-database': 'sales' };
  const created = await new Client(owner.url).arrow('/v1/table/t/create', sampleStream(1), sales);
  assert.equal(created.status, 200, created.text);
  const client = new Client(server.url);
  const refused = await client.arrow('/v1/table/u/create', sampleStream(1), sales);
  assert.equal(refused.status, 503, refused.text);
  assert.match(refused.json.detail, /^Writes to this database are paused: its storage is in use by another server/);
  assert.ok(!refused.text.includes(root));
  assert.equal((await client.get('/v1/tables', sales)).status, 200);
  await owner.app.drain();
  assert.equal((await client.arrow('/v1/table/u/create', sampleStream(1), sales)).status, 200);
});

test('tables on a read-only disk are read, and written again once the disk allows it', async (t) => {
  const [folder, root] = [await makeFolder(t), await mountSmallDisk(t, 8 * 1024 ** 2)];
  if (root === undefined) return t.skip('no permission to mount a disk');
  await createDatabase(folder, 'sales', root);
  const sales = { 'x-lancedb-database': 'sales' };
  const before = await startServer({ folder });
  assert.equal((await new Client(before.url).arrow('/v1/table/t/create', sampleStream(2), sales)).status, 200);
  await before.close();
  await remount(root, 'ro');
  const server = await startServer({ folder });
  t.after(async () => server.close());
  const client = new Client(server.url);
  assert.equal((await client.post('/v1/table/t/count_rows', {}, sales)).text, '2');
  const refused = await client.arrow('/v1/table/t/insert', sampleStream(1), sales);
  assert.equal(refused.status, 503, refused.text);
  assert.equal((await client.arrow('/v1/table/u/create', sampleStream(1))).status, 200);
  await remount(root, 'rw');
  assert.equal((await client.arrow('/v1/table/t/insert', sampleStream(1), sales)).status, 200);
});

/** An upload that goes on until it is told to end. */
function beginUpload(url: string): { readonly sent: ClientRequest; readonly answer: Promise<string> } {
  const sent = request(`${url}/v1/table/t/insert`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/vnd.apache.arrow.stream' },
  });
  const answer = new Promise<string>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => void text(response).then((body) => resolve(`${response.statusCode} ${body}`)));
  });
  return { sent, answer };
}

test('a server that is started while another shuts down waits for it, then serves', async (t) => {
  const folder = await makeFolder(t);
  const old = await start(t, folder);
  const client = new Client(old.url);
  assert.equal((await client.arrow('/v1/table/t/create', sampleStream(1))).status, 200);
  const { sent, answer } = beginUpload(old.url);
  const body = sampleStream(3);
  sent.write(body.subarray(0, 100));
  await eventually(async () => /requests_under_way [1-9]/.test((await client.get('/metrics')).text));
  const order: string[] = [];
  const stopped = old.stop().then((code) => order.push(`old ended with ${code}`));
  const holder = join(folder, 'server.lock.json');
  await eventually(async () => (await readFile(holder, 'utf8')).includes('"draining"'));
  const started = start(t, folder, [BRIEF]).then((server) => {
    order.push('new serves');
    return server;
  });
  sent.end(body.subarray(100));
  assert.match(await answer, /^200 /);
  await stopped;
  const next = await started;
  assert.deepEqual(order, ['old ended with 0', 'new serves']);
  assert.equal((await new Client(next.url).post('/v1/table/t/count_rows', {})).text, '4');
});

test('after supervisor and worker were killed the next server starts at once', async (t) => {
  const folder = await makeFolder(t);
  const first = await startServerProcess(folder);
  assert.equal((await new Client(first.url).arrow('/v1/table/t/create', sampleStream(2))).status, 200);
  await first.killAll();
  const next = await start(t, folder, ['--storage-lock-seconds=0']);
  assert.equal((await new Client(next.url).post('/v1/table/t/count_rows', {})).text, '2');
});

test('a server whose data folder is removed or replaced refuses writes until it is back', async (t) => {
  const folder = join(await makeFolder(t), 'data');
  const server = await start(t, folder);
  const client = new Client(server.url);
  const insert = async () => client.arrow('/v1/table/t/insert', sampleStream(1));
  assert.equal((await client.arrow('/v1/table/t/create', sampleStream(1))).status, 200);
  const requireRefusals = async (): Promise<void> => {
    for (const [path, body] of [
      ['namespace/n/create', {}],
      ['access/key/create', { name: 'k', grants: [{ role: 'reader', database: 'default' }] }],
      ['database/create', { name: 'sales' }],
      ['table/t/update', { updates: [['id', 'id + 1']] }],
    ] as const) {
      const refused = await client.post(`/v1/${path}`, body);
      assert.equal(refused.status, 503, `${path}: ${refused.text}`);
      assert.match(refused.json.detail, /^The data folder of the server was removed or replaced\. Writes are paused/);
    }
    assert.equal((await client.arrow('/v1/table/u/create', sampleStream(1))).status, 503);
    assert.equal((await client.get('/readyz')).status, 503);
  };
  await rename(folder, `${folder}.away`);
  await requireRefusals();
  assert.ok(!existsSync(folder));
  await mkdir(folder);
  await requireRefusals();
  assert.deepEqual(await readdir(folder), []);
  const other = await start(t, folder);
  await requireRefusals();
  await other.stop();
  await rm(folder, { recursive: true });
  await rename(`${folder}.away`, folder);
  assert.equal((await client.get('/readyz')).status, 200);
  assert.equal((await insert()).status, 200);
  assert.equal((await client.post('/v1/table/t/count_rows', {})).text, '2');
  const errors = server.log.filter(({ level }) => level === 'error').map(({ task }) => task);
  assert.deepEqual(errors, [`keeping the lock ${join(folder, 'server.lock')}`]);
});

test('a database whose storage root is replaced refuses writes until it is back; others do not', async (t) => {
  const [folder, root] = [await makeFolder(t), await makeFolder(t)];
  await createDatabase(folder, 'sales', root);
  const client = new Client((await hold(t, folder)).url);
  const sales = { 'x-lancedb-database': 'sales' };
  assert.equal((await client.arrow('/v1/table/t/create', sampleStream(1), sales)).status, 200);
  await rename(root, `${root}.away`);
  await mkdir(root);
  const refused = await client.arrow('/v1/table/u/create', sampleStream(1), sales);
  assert.equal(refused.status, 503, refused.text);
  assert.match(refused.json.detail, /^Writes to this database are paused: its storage .* was replaced/);
  assert.deepEqual(await readdir(root), []);
  assert.equal((await client.arrow('/v1/table/u/create', sampleStream(1))).status, 200);
  assert.equal((await client.get('/readyz')).status, 200);
  await rm(root, { recursive: true });
  await rename(`${root}.away`, root);
  assert.equal((await client.arrow('/v1/table/u/create', sampleStream(1), sales)).status, 200);
});

for (const [what, isDefault] of [
  ['its storage root', true],
  ['the storage root of a database', false],
] as const) {
  test(`a link to ${what} that leads elsewhere pauses writes until it leads back`, async (t) => {
    const [folder, place] = [await makeFolder(t), await makeFolder(t)];
    const [root, first, second] = [join(place, 'root'), join(place, 'first'), join(place, 'second')];
    await mkdir(first);
    await mkdir(second);
    const lead = async (target: string): Promise<void> => {
      await symlink(target, `${root}.new`);
      await rename(`${root}.new`, root);
    };
    await lead(first);
    if (!isDefault) await createDatabase(folder, 'sales', root);
    const client = new Client((await hold(t, folder, isDefault ? [`--storage-root=${root}`] : [])).url);
    const headers = isDefault ? {} : { 'x-lancedb-database': 'sales' };
    const create = async (name: string) => client.arrow(`/v1/table/${name}/create`, sampleStream(1), headers);
    const isReady = async (): Promise<boolean> => (await client.get('/readyz')).status === 200;
    assert.equal((await create('t')).status, 200);
    await lead(second);
    const refused = await create('u');
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.json.detail, /^Writes to this database are paused: its storage .* was replaced/);
    assert.equal(await isReady(), !isDefault);
    assert.deepEqual(await readdir(second), []);
    await lead(first);
    assert.equal((await create('u')).status, 200);
    assert.ok(await isReady());
  });
}

test('a storage root below another one that is replaced by a link to elsewhere is not written to', async (t) => {
  const [folder, place, elsewhere] = [await makeFolder(t), await makeFolder(t), await makeFolder(t)];
  const inner = join(place, 'inner');
  await mkdir(inner);
  await createDatabase(folder, 'sales', inner);
  const client = new Client((await hold(t, folder, [`--storage-root=${place}`])).url);
  const create = async () => client.arrow('/v1/table/t/create', sampleStream(1), { 'x-lancedb-database': 'sales' });
  await rename(inner, `${inner}.away`);
  await symlink(elsewhere, inner);
  assert.equal((await create()).status, 503);
  assert.deepEqual(await readdir(elsewhere), []);
  await rm(inner);
  await mkdir(inner);
  assert.equal((await create()).status, 200);
});

test('a new database does not create a storage root that was missing at the start', async (t) => {
  const [folder, root] = [await makeFolder(t), join(await makeFolder(t), 'root')];
  const flags = [`--storage-root=${root}`];
  const before = await startServer({ folder, flags });
  assert.equal((await new Client(before.url).arrow('/v1/table/t/create', sampleStream(1))).status, 200);
  await before.close();
  await rename(root, `${root}.away`);
  const client = new Client((await hold(t, folder, flags)).url);
  const refused = await client.post('/v1/database/create', { name: 'sales' });
  assert.equal(refused.status, 503, refused.text);
  assert.ok(!existsSync(root));
});
