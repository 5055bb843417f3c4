import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '../../support/client.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { readOn, runCliOn } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
  const client = new Client(server.url);
  await client.arrow('/v1/table/orders/create', sampleStream(40));
});
after(async () => server.close());

async function done(...argv: readonly string[]): Promise<string> {
  return readOn(server.url, argv);
}

test('column add --computed adds a column, --fill fills it, and describe shows its definition', async () => {
  assert.match(
    await done('column', 'add', 'orders', 'next', '--computed', 'id + 1', '--fill'),
    /^Filled next in 40 rows of orders\.\n$/,
  );
  assert.match(await done('describe', 'orders'), /next .*computed: id \+ 1/);
  assert.match(await done('column', 'fill', 'orders', 'next'), /^Filled next in 0 rows/);
  const { code, err } = await runCliOn(server.url, ['column', 'add', 'orders', 'x']);
  assert.deepEqual([code, /one of --computed SQL, --expression SQL and --type TYPE/.test(err)], [2, true]);
});

test('column add says that the column is there when its rows cannot be filled', async () => {
  const { code, err } = await runCliOn(server.url, [
    'column',
    'add',
    'orders',
    'odd',
    '--computed',
    '1 / id',
    '--fill',
  ]);
  assert.equal(code, 1);
  assert.match(err, /divides by zero/);
  assert.match(
    err,
    /Added the column odd to orders, but not all of its rows are filled\. .*tiltyard column drop orders odd/,
  );
  await done('column', 'drop', 'orders', 'odd', '--yes');
});

test('column add --expression calculates a column once', async () => {
  assert.match(
    await done('column', 'add', 'orders', 'one', '--expression', '1'),
    /^Added the column one to orders, version \d+\.\n$/,
  );
});

test('views are created, refreshed, listed, described and dropped', async () => {
  const query = 'SELECT id, id * 2 AS twice FROM orders WHERE id < 10';
  assert.match(
    await done('view', 'create', 'small', query, '--every', '3600'),
    /^Refreshed small from version \d+ of its source \(rebuilt\): 10 rows\.\n$/,
  );
  assert.match(await done('view', 'refresh', 'small'), /was up to date/);
  assert.match(await done('view', 'list'), /small +orders +every 3600 s +up to date with version \d+\n/);
  assert.match(await done('view', 'describe', 'small'), /column twice +id \* 2/);
  const empty = await done('view', 'create', 'empty', 'SELECT id FROM orders', '--no-data', '--on-change');
  assert.match(empty, /without rows/);
  const { views } = JSON.parse(await done('view', 'list', '--json'));
  assert.deepEqual(
    views.map((view: { table: string }) => view.table),
    ['small', 'empty'],
  );
  const again = await runCliOn(server.url, ['view', 'create', 'small', query]);
  assert.match(
    again.err,
    /"small" already exists\.\nhint: Choose another name, or drop it first: "tiltyard view drop" for a view/,
  );
  for (const command of ['refresh', 'describe', 'drop']) {
    const plain = await runCliOn(server.url, ['view', command, 'orders', ...(command === 'drop' ? ['--yes'] : [])]);
    assert.match(plain.err, /not a materialized view\.\nhint: .*"tiltyard view list"/);
  }
  assert.match(await done('view', 'drop', 'small', '--yes'), /^Dropped the view small\.\n$/);
  const { code, err } = await runCliOn(server.url, ['view', 'create', 'bad', 'SELECT FROM']);
  assert.deepEqual([code, /source_query/.test(err)], [1, true]);
});

test('the list of views says which are behind their source, or have lost it', async () => {
  const client = new Client(server.url);
  for (const name of ['changed', 'lost']) await client.arrow(`/v1/table/${name}/create`, sampleStream(3));
  for (const name of ['changed', 'lost']) await done('view', 'create', `of-${name}`, `SELECT id FROM ${name}`);
  await client.post('/v1/table/changed/delete', { predicate: 'id = 1' });
  await done('drop', 'lost', '--yes');
  const text = await done('view', 'list');
  assert.match(text, /of-changed +changed +manual +behind: has version 1 of 2\n/);
  assert.match(text, /of-lost +lost +manual +the source was dropped\n/);
  const refreshed = await runCliOn(server.url, ['view', 'refresh', 'of-lost']);
  assert.match(refreshed.err, /"lost", was dropped\.\nhint: Drop the view and create it again/);
  assert.match(await done('view', 'describe', 'of-changed'), /state +behind: has version 1 of 2\n/);
  const { views } = JSON.parse(await done('view', 'list', '--json'));
  const latest = new Map(views.map((view: any) => [view.table, view.source_latest_version]));
  assert.deepEqual([latest.get('of-changed'), latest.get('of-lost')], [2, undefined]);
});

test('a view whose first refresh fails says why, and how to try again or to remove it', async () => {
  const query = 'SELECT id, 1 / (id - id) AS x FROM orders';
  const { code, out, err } = await runCliOn(server.url, ['view', 'create', 'broken', query]);
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /zero/i);
  assert.match(err, /Created the view broken, but it has no rows\. .*view refresh broken.*view drop broken/);
  assert.match(await done('view', 'list'), /broken +orders +manual +never refreshed\n/);
  assert.match(await done('view', 'drop', 'broken', '--yes'), /^Dropped the view broken/);
});

test('with --json, a failed job is a JSON object on the error output, with what to do', async () => {
  const errorOf = async (...argv: readonly string[]): Promise<any> => {
    const { code, out, err } = await runCliOn(server.url, [...argv, '--json']);
    assert.deepEqual([code, out], [1, ''], err);
    return JSON.parse(err).error;
  };
  const added = await errorOf('column', 'add', 'orders', 'uneven', '--computed', '1 / id', '--fill');
  assert.match(added.message, /divides by zero/);
  assert.match(added.hint, /^Added the column uneven to orders, .*tiltyard column drop orders uneven$/);
  const filled = await errorOf('column', 'fill', 'orders', 'uneven');
  assert.deepEqual(Object.keys(filled), ['message']);
  const query = 'SELECT id, 1 / (id - id) AS x FROM orders';
  const created = await errorOf('view', 'create', 'faulty', query);
  assert.match(created.message, /zero/i);
  assert.match(created.hint, /^Created the view faulty, but it has no rows\. .*view drop faulty$/);
  assert.match((await errorOf('view', 'refresh', 'faulty')).message, /zero/i);
});
