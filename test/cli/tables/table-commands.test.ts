import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Terminal } from '../../../src/cli/command.ts';
import { textWidth } from '../../../src/cli/show/text.ts';
import { Client } from '../../support/client.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { readJsonOn, readOn, runCliOn, withoutColours } from '../../support/run-cli.ts';
import type { Outcome } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let folder: string;
let client: Client;

before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-cli-tables-'));
  client = new Client(server.url);
  await client.post('/v1/namespace/eu/create', {});
  await client.arrow('/v1/table/orders/create', sampleStream(400));
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(argv: readonly string[], terminal: Partial<Terminal> = {}): Promise<Outcome> {
  return runCliOn(server.url, argv, terminal);
}

async function done(...argv: readonly string[]): Promise<string> {
  return readOn(server.url, argv);
}

async function json(...argv: readonly string[]): Promise<any> {
  return readJsonOn(server.url, argv);
}

test('every command about a table says that it is not there, or that the key is refused', async () => {
  const calls = [
    ['describe', 'nothing'],
    ['query', 'nothing'],
    ['plan', 'nothing'],
    ['update', 'nothing', '--set', 'a=1', '--all'],
    ['delete', 'nothing', '--where', 'true'],
    ['drop', 'nothing', '--yes'],
    ['rename', 'nothing', 'other'],
    ['optimize', 'nothing'],
    ['managed', 'nothing', 'on'],
    ['column', 'add', 'nothing', 'x', '--computed', 'id + 1'],
    ['column', 'fill', 'nothing', 'x'],
    ['column', 'rename', 'nothing', 'x', 'y'],
    ['column', 'type', 'nothing', 'x', 'int64'],
    ['column', 'nullable', 'nothing', 'x', 'yes'],
    ['column', 'drop', 'nothing', 'x', '--yes'],
    ['column', 'metadata', 'nothing', 'x', '--set', 'a=b'],
    ['view', 'refresh', 'nothing'],
    ['view', 'describe', 'nothing'],
    ['view', 'drop', 'nothing', '--yes'],
    ['index', 'create', 'nothing', 'id', '--type', 'BTREE'],
    ['index', 'list', 'nothing'],
    ['index', 'stats', 'nothing', 'x'],
    ['index', 'drop', 'nothing', 'x'],
    ['versions', 'nothing'],
    ['versions', 'restore', 'nothing', '1'],
    ['diff', 'nothing', '1'],
    ['tag', 'list', 'nothing'],
    ['tag', 'create', 'nothing', 't', '1'],
    ['tag', 'move', 'nothing', 't', '1'],
    ['tag', 'delete', 'nothing', 't'],
    ['branch', 'list', 'nothing'],
    ['branch', 'create', 'nothing', 'b'],
    ['branch', 'delete', 'nothing', 'b'],
    ['namespace', 'drop', 'nothing'],
  ];
  for (const argv of calls) {
    const missing = await run(argv);
    assert.equal(missing.code, 5, `${argv.join(' ')}: ${missing.err}`);
    assert.match(missing.err, /^tiltyard: The (table|namespace) "nothing" was not found\.\n/);
    assert.equal((await run([...argv, '--key=wrong'])).code, 4, argv.join(' '));
    assert.equal((await run([...argv, '--wrong'])).code, 2, argv.join(' '));
    assert.equal((await run(argv.slice(0, argv.indexOf('nothing')))).code, 2, argv.join(' '));
  }
});

test('describes a table, in 60 columns and in 100', async () => {
  for (const columns of [60, 100]) {
    const { code, out } = await run(['describe', 'orders'], { columns });
    assert.equal(code, 0);
    const lines = withoutColours(out).split('\n');
    assert.ok(
      lines.every((line) => textWidth(line) <= columns),
      out,
    );
    assert.match(out, /400 rows, .* in 1 fragment/);
    assert.match(withoutColours(out), /^point +struct *\n├ x +float64 *\n└ label +utf8 *\nvec +float32\[4\]$/m);
  }
  const described = await json('describe', 'orders');
  assert.equal(described.version, 1);
  assert.equal(described.size.num_rows, 400);
  assert.equal('context' in described, false);
});

test('draws rows as a table, as blocks where it is narrow, and as JSON for programs', async () => {
  const argv = ['query', 'orders', '--where', 'id > 397', '--select', 'id,name', '--order-by', 'id:desc'];
  const table = ' id  name\n───  ────────\n399  name 399\n398  name 398\n';
  assert.equal(await done(...argv), table);
  const coloured = await run(argv, { columns: 80 });
  assert.ok(coloured.out.includes('\u001b[1m'));
  assert.equal(withoutColours(coloured.out), `${table}2 rows\n`);
  assert.equal((await run(argv, { columns: 80, env: { NO_COLOR: '1' } })).out, `${table}2 rows\n`);
  assert.deepEqual(await json(...argv), {
    rows: [
      { id: 399, name: 'name 399' },
      { id: 398, name: 'name 398' },
    ],
  });
  assert.equal(await done(...argv, '--ndjson'), '{"id":399,"name":"name 399"}\n{"id":398,"name":"name 398"}\n');
  const narrow = await run(['query', 'orders', '-k1'], { columns: 30 });
  assert.match(withoutColours(narrow.out), /^row 1 ─+\nid +0\n/);
});

test('finds rows by vector, by the vector of a row, with expressions, offset and all', async () => {
  await writeFile(join(folder, 'vector.json'), '[7, 8, 9, 10]');
  const near = await json(
    'query',
    'orders',
    '--vector',
    `@${join(folder, 'vector.json')}`,
    '-k',
    '1',
    '--select',
    'id',
  );
  assert.equal(near.rows[0].id, 7);
  const like = await json('query', 'orders', '--like', 'id = 9', '-k', '1', '--select', 'id', '--with-row-id');
  assert.deepEqual([like.rows[0].id, like.rows[0]._rowid], [9, 9]);
  const exact = await json(
    'query',
    'orders',
    '--like',
    "name = 'name 9'",
    '-k',
    '1',
    '--select',
    'id',
    '--recall',
    '1',
  );
  assert.equal(exact.rows[0].id, 9);
  const [sum] = (await json('query', 'orders', '--select', "total=concat(name, '!')", '--select', 'id', '-k1')).rows;
  assert.deepEqual(sum, { total: 'name 0!', id: 0 });
  assert.equal((await json('query', 'orders', '--limit', 'all', '--offset', '10')).rows.length, 390);
});

test('refuses malformed queries, and marks the position in the SQL', async () => {
  const wrong: readonly (readonly [argv: readonly string[], says: RegExp])[] = [
    [['--vector', 'x'], /--vector must be a JSON list of numbers/],
    [['--vector', '[1]', '--like', '1'], /only one of --vector, --like and --meaning/],
    [['--like', 'id = 123456'], /No row matches --like "id = 123456"/],
    [['--like', 'id < 3'], /Several rows match --like "id < 3"/],
    [['--like', '1', '--recall', '2'], /--recall must be above 0 and at most 1/],
    [['--limit', '-1'], /--limit must be a whole number of at least 0/],
    [['--select', 'a,,b'], /empty name/],
    [['--at', 'tag', '--branch', 'b'], /--at TAG without --branch/],
  ];
  for (const [argv, says] of wrong) {
    const { code, err } = await run(['query', 'orders', ...argv]);
    assert.equal(code, 2, argv.join(' '));
    assert.match(err, says);
  }
  const sql = await run(['query', 'orders', '--where', "name = 'ä' and id << 3"]);
  assert.equal(sql.code, 1);
  assert.match(
    sql.err,
    /^tiltyard: In filter at character 19, .*\n {2}name = 'ä' and id << 3\n {20}\^\nhint: The operators are/,
  );
  const like = await run(['query', 'orders', '--like', 'id << 3', '--where', 'id > 1']);
  assert.match(like.err, /\n {2}id << 3\n {5}\^\n/);
});

test('still takes a row id for --like, with a hint', async () => {
  const { code, out, err } = await run(['query', 'orders', '--like', '9', '-k', '1', '--select', 'id']);
  assert.equal(code, 0, err);
  assert.match(out, /^ *9 /m);
  assert.match(err, /^hint: --like 9 means the row with the row id 9, .*--like 'id = 9'\.\n$/);
});

test('draws the plan of a query, says what could be better, and compares two', async () => {
  for (const columns of [60, 100]) {
    const { code, out } = await run(['plan', 'orders', '--like', 'id = 3'], { columns });
    assert.equal(code, 0);
    assert.match(withoutColours(out), /in \d+ steps/);
    assert.match(out, /└ .*LanceRead/);
    assert.ok(
      withoutColours(out)
        .split('\n')
        .every((line) => textWidth(line) <= columns || line.includes('→')),
      out,
    );
  }
  const plan = await json('plan', 'orders', '--where', 'id = 3');
  assert.ok(plan.nanoseconds > 0 && plan.plan.operator.length > 0 && Array.isArray(plan.findings));
  const compared = await done('plan', 'orders', '--like', 'id = 3', '--compare', 'no-index', '--compare', 'limit=10');
  assert.match(compared, /as given +no-index, limit=10/);
  assert.match(compared, /^Both return the same rows\.$/m);
  assert.equal((await json('plan', 'orders', '--like', 'id = 3', '--compare', 'limit=20')).overlap, 0.5);
  assert.equal((await run(['plan', 'orders', '--compare', 'nprobs=3'])).code, 2);
});

test('previews an update, and runs it only when that is agreed to', async () => {
  const argv = ['update', 'orders', '--set', 'price=price + 1', '--where', 'id < 2', '--preview'];
  const before = await json('query', 'orders', '--where', 'id < 2', '--select', 'price');
  const preview = await run(argv);
  assert.equal(preview.code, 0);
  assert.equal(
    preview.err,
    'id  price  price (new)\n──  ─────  ───────────\n 0      0            1\n 1    1.5          2.5\n' +
      '2 rows would change. Nothing was changed: add --yes to change them.\n',
  );
  assert.equal(JSON.parse((await run([...argv, '--json'])).out).preview.num_rows, 2);
  const declined = await run(argv, { ask: async () => 'n' });
  assert.match(declined.err, /Nothing was changed\.\n$/);
  assert.deepEqual(await json('query', 'orders', '--where', 'id < 2', '--select', 'price'), before);
  const agreed = await run(argv, { ask: async () => 'y' });
  assert.match(agreed.out, /^Updated 2 rows of orders, version 2\.\n$/);
  assert.equal((await json(...argv, '--yes')).updated_rows, 2);
  const none = await run(['update', 'orders', '--set', 'price=1', '--where', 'id < 0', '--preview', '--yes']);
  assert.match(none.err, /No rows match/);
  for (const wrong of [
    ['--set', 'price'],
    ['--set', 'price=1'],
    ['--where', 'true'],
    ['--set', 'a=1', '--all', '--where', 'true'],
  ]) {
    assert.equal((await run(['update', 'orders', ...wrong])).code, 2, wrong.join(' '));
  }
  const sql = await run(['update', 'orders', '--set', 'price=price ~ 2', '--all']);
  assert.match(sql.err, /\n {2}price ~ 2\n {8}\^\n/);
});

test('deletes rows, after a preview when asked', async () => {
  assert.match(await done('delete', 'orders', '--where', 'id = 399'), /^Deleted 1 row of orders, version \d+\.\n$/);
  const preview = await run(['delete', 'orders', '--where', 'id > 390', '--preview']);
  assert.match(preview.err, /8 rows would be deleted\. Nothing was deleted: add --yes to delete them\./);
  assert.equal((await json('delete', 'orders', '--where', 'id > 397', '--preview', '--yes')).num_deleted_rows, 1);
  assert.equal((await run(['delete', 'orders'])).code, 2);
});

test('builds, lists, measures and drops indexes', async () => {
  const built = await run(['index', 'create', 'orders', 'id', '--type', 'btree'], { status: () => undefined });
  assert.match(built.out, /^Built the index id_idx: BTREE on orders, 398 rows\n$/);
  const [index] = (await json('index', 'list', 'orders')).indexes;
  assert.deepEqual([index.index_name, index.num_indexed_rows], ['id_idx', 398]);
  assert.match(await done('index', 'list', 'orders'), /^id_idx +BTREE +id +398 +0 +[\d.]+ KiB *$/m);
  assert.match(await done('index', 'stats', 'orders', 'id_idx'), /^rows +398$/m);
  const chosen = await run(['index', 'create', 'orders', 'price', '--name', 'price_chosen'], {
    status: () => undefined,
  });
  assert.match(
    chosen.out,
    /^Built the index price_chosen: BTREE on orders, .* rows?\nChose BTREE: it is the only type for float64\.\n$/,
  );
  const started = await json('index', 'create', 'orders', 'name', '--type', 'FTS', '--no-wait');
  assert.ok(started.job_id.length > 0);
  assert.equal((await run(['index', 'create', 'orders', 'id', '--recall', '2'])).code, 2);
  const refused = await run(['index', 'create', 'orders', 'name', '--type', 'IVF_PQ']);
  assert.equal(refused.code, 1);
  assert.match(
    await done('index', 'drop', 'orders', 'id_idx'),
    /^Dropped the index id_idx of orders, version \d+\.\n$/,
  );
  assert.equal((await run(['index', 'drop', 'orders', 'id_idx'])).code, 5);
});

test('travels between versions, tags and branches', async () => {
  assert.equal(await done('tag', 'create', 'orders', 'start', '1'), 'Created the tag start of orders at version 1.\n');
  assert.match(await done('tag', 'create', 'orders', 'now'), /^Created the tag now of orders at version \d+\.\n$/);
  assert.equal(await done('tag', 'move', 'orders', 'now', '2'), 'Moved the tag now of orders to version 2.\n');
  assert.match(await done('tag', 'list', 'orders'), /^start +1 +main$/m);
  assert.equal((await json('query', 'orders', '--at', 'start', '--limit', 'all')).rows.length, 400);
  assert.equal((await json('query', 'orders', '--at', '1', '--limit', 'all')).rows.length, 400);
  await done('branch', 'create', 'orders', 'trial', '--at', 'start');
  assert.match(await done('branch', 'list', 'orders'), /^trial +main +1 /m);
  await done('delete', 'orders', '--all', '--branch', 'trial');
  assert.equal((await json('query', 'orders', '--branch', 'trial')).rows.length, 0);
  assert.match(await done('versions', 'orders', '-k', '100'), /^ +1 +\S+ \S+Z +created +\S+ +400 +1 +start$/m);
  assert.match(
    await done('versions', 'restore', 'orders', '1'),
    /^Restored version 1 of orders as version \d+\.\nIt does not have the indexes name_idx, price_chosen: version \d+ still does\.\n$/,
  );
  assert.equal((await json('query', 'orders', '--limit', 'all')).rows.length, 400);
  assert.equal((await run(['versions', 'restore', 'orders', 'one'])).code, 2);
  assert.match(await done('optimize', 'orders'), /^Optimized orders, version \d+/);
  await done('branch', 'delete', 'orders', 'trial', '--yes');
  await done('tag', 'delete', 'orders', 'now');
  assert.deepEqual(Object.keys((await json('tag', 'list', 'orders')).tags), ['start']);
});

test('a missing index, tag, branch or version, or an unknown type, comes with what to do', async () => {
  const errorOf = async (...argv: readonly string[]): Promise<string> => withoutColours((await run(argv)).err);
  assert.match(
    await errorOf('index', 'drop', 'orders', 'none'),
    /hint: Run "tiltyard index list orders" to list them\.$/m,
  );
  assert.match(
    await errorOf('tag', 'delete', 'orders', 'none'),
    /hint: Run "tiltyard tag list orders" to list them\.$/m,
  );
  assert.match(
    await errorOf('branch', 'delete', 'orders', 'none', '--yes'),
    /hint: Run "tiltyard branch list orders" to list them\.$/m,
  );
  assert.match(
    await errorOf('versions', 'restore', 'orders', '999', '--yes'),
    /hint: Run "tiltyard versions orders" to list them\.$/m,
  );
  assert.match(await errorOf('column', 'type', 'orders', 'id', 'int7'), /hint: Give a type such as int64, string, /);
  assert.match(await errorOf('column', 'add', 'orders', 'x', '--type', 'int7'), /hint: Give a type such as int64, /);
});

test('switches managed versioning on and off', async () => {
  await client.arrow('/v1/table/shared/create', sampleStream(2));
  assert.equal(await done('managed', 'shared', 'on'), 'Managed versioning of shared is on.\n');
  assert.equal((await client.post('/v1/table/shared/describe', {})).json.managed_versioning, true);
  assert.equal((await json('managed', 'shared', 'off')).managed_versioning, false);
  assert.equal((await run(['managed', 'shared', 'maybe'])).code, 2);
});

test('creates, lists and drops namespaces; renames, moves and drops tables', async () => {
  await done('namespace', 'create', 'us', '--property', 'owner=ada');
  await done('namespace', 'create', 'us/west');
  assert.equal(await done('namespace', 'list', 'us'), 'us/west\n');
  assert.equal((await run(['namespace', 'create', 'us'])).code, 1);
  await client.arrow('/v1/table/moving/create', sampleStream(2));
  assert.equal(await done('rename', 'moving', 'us/west/there'), 'Renamed moving to us/west/there.\n');
  assert.equal((await run(['namespace', 'drop', 'us'])).code, 1);
  const unasked = await run(['drop', 'us/west/there']);
  assert.equal(unasked.code, 2);
  assert.match(
    unasked.err,
    /Drop us\/west\/there with its 2 rows and all its versions\? This is not a terminal.*--yes/,
  );
  assert.equal((await run(['drop', 'us/west/there'], { ask: async () => '' })).code, 1);
  assert.match(await done('drop', 'us/west/there', '--yes'), /^Dropped us\/west\/there \(2 rows\)\.\n$/);
  await done('namespace', 'drop', 'us', '--cascade', '--yes');
  assert.deepEqual((await json('namespace', 'list')).namespaces, ['eu']);
});

test('never lets the contents of a table move the cursor of a terminal', async () => {
  await client.arrow('/v1/table/sly/create', sampleStream(1));
  await client.post('/v1/table/sly/update', { updates: [['name', "concat('a', chr(27), '[2J', chr(10), 'b')"]] });
  const { out } = await run(['query', 'sly', '--select', 'name'], { columns: 80, env: { NO_COLOR: '1' } });
  assert.ok(out.includes('a\\u{1b}[2J\\nb') && !out.includes('\u001b'), out);
});
