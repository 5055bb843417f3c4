import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import type { TestPostgres } from '../../support/postgres.ts';
import { runCli } from '../../support/run-cli.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { uploadSlowly } from '../../support/slow-upload.ts';
import { makeFolder } from '../../support/temporary-folder.ts';

suite('a server whose catalog is in PostgreSQL', { skip: withoutPostgres }, () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });

  test('keeps its tables over a restart, and no catalog in its folder', async (context) => {
    const folder = await makeFolder(context);
    const env = { TILTYARD_CATALOG_URL: await postgres.createDatabase() };
    const first = await startServerProcess(folder, [], env);
    const client = new Client(first.url);
    assert.equal((await client.arrow('/v1/table/items/create', sampleStream(3))).status, 200);
    assert.equal((await client.arrow('/v1/table/items/insert', sampleStream(4))).status, 200);
    assert.equal((await client.post('/v1/table/items/count_rows', {})).json, 7);
    assert.equal(await first.stop(), 0);

    const second = await startServerProcess(folder, [], env);
    context.after(async () => second.stop());
    const later = new Client(second.url);
    assert.deepEqual((await later.get('/v1/tables')).json.tables, ['items']);
    assert.equal((await later.post('/v1/table/items/count_rows', {})).json, 7);
    assert.equal((await later.arrow('/v1/table/items/insert', sampleStream(1))).status, 200);
    assert.equal((await later.post('/v1/table/items/count_rows', {})).json, 8);
    assert.equal(existsSync(join(folder, 'tiltyard.db')), false);
  });

  test('takes in an upload that is arriving when it is stopped', async (context) => {
    const env = { TILTYARD_CATALOG_URL: await postgres.createDatabase() };
    const server = await startServerProcess(await makeFolder(context), [], env);
    context.after(async () => server.stop());
    const client = new Client(server.url);
    assert.equal((await client.arrow('/v1/table/items/create', sampleStream(3))).status, 200);
    const upload = uploadSlowly(`${server.url}/v1/table/items/insert`, sampleStream(2));
    await eventually(async () => {
      const metrics = await ShownMetrics.read(server.url, ADMIN_KEY);
      return metrics.value('tiltyard_admission_running', { work: 'ingest' }) === 1;
    });
    const stopped = server.stop();
    await eventually(async () =>
      fetch(server.url).then(
        () => false,
        () => true,
      ),
    );
    upload.finish();
    const reply = await upload.reply;
    assert.equal(reply.status, 200, await reply.text());
    assert.equal(await stopped, 0);
  });

  test('takes over the catalog of SQLite and gives it back, each time with all tables and keys', async (context) => {
    const folder = await makeFolder(context);
    const [file, back] = [join(folder, 'tiltyard.db'), join(folder, 'back.db')];
    const env = { TILTYARD_CATALOG_URL: await postgres.createDatabase() };
    const copy = async (from: string, to: string) => (await runCli(['catalog', 'copy', from, to])).code;

    const first = await startServerProcess(folder);
    const created = await new Client(first.url).arrow('/v1/table/items/create', sampleStream(3));
    assert.equal(created.status, 200);
    const grants = [{ role: 'reader', database: 'default', path: [] }];
    const made = await new Client(first.url).post('/v1/access/key/create', { name: 'reader', grants });
    assert.equal(made.status, 200, made.text);
    const reader = { key: made.json.key as string };
    assert.equal(await copy(file, env.TILTYARD_CATALOG_URL), 1, 'copied although it is in use');
    await first.stop();
    assert.equal(await copy(file, env.TILTYARD_CATALOG_URL), 0);
    await rename(file, `${file}.old`);

    const second = await startServerProcess(folder, [], env);
    assert.equal((await new Client(second.url, reader).post('/v1/table/items/count_rows', {})).json, 3);
    assert.equal((await new Client(second.url).arrow('/v1/table/items/insert', sampleStream(4))).status, 200);
    await second.stop();
    assert.equal(await copy(env.TILTYARD_CATALOG_URL, back), 0);

    const third = await startServerProcess(folder, [`--catalog-file=${back}`]);
    context.after(async () => third.stop());
    assert.equal((await new Client(third.url, reader).post('/v1/table/items/count_rows', {})).json, 7);
    assert.equal((await new Client(third.url).arrow('/v1/table/items/insert', sampleStream(1))).status, 200);
  });

  test('does not create a missing storage root that has tables', async (context) => {
    const [folder, root] = [await makeFolder(context), join(await makeFolder(context), 'root')];
    const env = { TILTYARD_CATALOG_URL: await postgres.createDatabase(), TILTYARD_STORAGE_ROOT: root };
    const server = await startServerProcess(folder, [], env);
    assert.equal((await new Client(server.url).arrow('/v1/table/items/create', sampleStream(3))).status, 200);
    await server.stop();
    await rename(root, `${root}-elsewhere`);
    const without = await startServerProcess(folder, [], env);
    context.after(async () => without.stop());
    assert.equal(existsSync(root), false);
    await rename(`${root}-elsewhere`, root);
    assert.equal((await new Client(without.url).post('/v1/table/items/count_rows', {})).json, 3);
  });

  test('is examined by doctor, which never shows the address', async (context) => {
    const folder = await makeFolder(context);
    const url = await postgres.createDatabase();
    const examine = async (address: string) => {
      const env = { TILTYARD_CATALOG_URL: address };
      const { out, err } = await runCli(['doctor', folder, '--offline', '--json'], { env });
      assert.doesNotMatch(out + err, /postgres:|127\.0\.0\.1/);
      const { checks } = JSON.parse(out) as { checks: { name: string; state: string; found: string }[] };
      const { state, found } = checks.find(({ name }) => name === 'catalog') ?? {};
      return `${state}: ${found}`;
    };
    assert.equal(await examine(url), 'warning: the PostgreSQL database of catalog.url does not exist yet');
    const server = await startServerProcess(folder, [], { TILTYARD_CATALOG_URL: url });
    await server.stop();
    assert.equal(await examine(url), 'good: the PostgreSQL database of catalog.url is intact and up to date');
    await postgres.query(`drop database ${url.split('/').at(-1)}`);
    assert.equal(await examine(url), 'bad: the PostgreSQL database of catalog.url cannot be reached or read');
  });
});
