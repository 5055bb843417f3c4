import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { Latencies } from '../../../src/cli/bench/measured.ts';
import type { Terminal } from '../../../src/cli/command.ts';
import { ApiClient } from '../../../src/client/api-client.ts';
import { listBranches } from '../../../src/client/history.ts';
import { countRows } from '../../../src/client/rows.ts';
import { describeTable, listTables } from '../../../src/client/tables.ts';
import { Client } from '../../support/client.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { runCliOn } from '../../support/run-cli.ts';
import type { Outcome } from '../../support/run-cli.ts';
import { ADMIN_KEY, startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let client: ApiClient;

before(async () => {
  server = await startServer();
  client = new ApiClient({ url: server.url, key: ADMIN_KEY });
  await new Client(server.url).arrow('/v1/table/orders/create', sampleStream(400));
});
after(async () => server.close());

const QUICK = ['--seconds', '1', '--clients', '2'];

async function bench(argv: readonly string[], terminal: Partial<Terminal> = {}): Promise<Outcome> {
  return runCliOn(server.url, ['bench', ...argv], terminal);
}

async function tableNames(): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const path of listTables(client)) names.push(path.join('/'));
  return names;
}

test('every kind is measured on a sample table, which is gone at the end', async () => {
  const { code, out, err } = await bench([...QUICK, '--rows', '500', '--json']);
  assert.equal(code, 0, err);
  const { results, described, clients } = JSON.parse(out);
  assert.equal(clients, 2);
  assert.match(described, /^sample table: 500 rows/);
  assert.deepEqual(
    results.map((each: { what: string }) => each.what),
    ['search', 'filter', 'scan', 'analyze', 'update', 'insert', 'create'],
  );
  for (const each of results) {
    assert.ok(each.operations > 0, each.what);
    assert.ok(each.rate_per_second > 0, each.what);
    assert.ok(each.median_ms > 0 && each.median_ms <= each.p95_ms && each.p95_ms <= each.p99_ms, each.what);
    assert.ok(each.p99_ms <= each.max_ms, each.what);
    assert.ok(each.bytes_sent > 0 && each.bytes_received > 0, each.what);
    assert.equal(each.errors, 0, each.first_error);
  }
  assert.deepEqual(await tableNames(), ['orders']);
});

test('the figures are drawn as a table; how far it is, only on a terminal', async () => {
  const lines: string[] = [];
  const argv = [...QUICK, '--rows', '100', '--what', 'filter'];
  const shown = await bench(argv, { columns: 80, status: (line) => void lines.push(line) });
  assert.equal(shown.code, 0, shown.err);
  assert.match(shown.out, /what +count +rate +p50 +p95 +p99 +errors +sent +received/);
  assert.ok(lines.some((line) => /^filter: \d of 1 s, /.test(line)));
  assert.equal(lines.at(-1), '');
  const piped = await bench(argv);
  assert.equal(piped.err, '');
});

test('a table that is named is only read, unless it is said that it may be written', async () => {
  const before_ = await describeTable(client, ['orders']);
  const read = await bench(['orders', ...QUICK, '--where', 'id < 5', '--json']);
  assert.equal(read.code, 0, read.err);
  const kinds = JSON.parse(read.out).results.map((each: { what: string }) => each.what);
  assert.deepEqual(kinds, ['search', 'filter', 'scan', 'analyze']);
  for (const kind of ['update', 'insert']) {
    const refused = await bench(['orders', ...QUICK, '--what', kind]);
    assert.equal(refused.code, 2);
    assert.match(refused.err, /--write/);
  }
  assert.equal((await describeTable(client, ['orders'])).version, before_.version);
});

test('writes to a table that is named go to a branch, which is gone at the end', async () => {
  const version = (await describeTable(client, ['orders'])).version;
  const argv = [
    'orders',
    ...QUICK,
    '--what',
    'update,insert',
    '--write',
    '--where',
    'id = 7',
    '--set',
    'name=upper(name)',
  ];
  const written = await bench([...argv, '--json']);
  assert.equal(written.code, 0, written.err);
  assert.ok(JSON.parse(written.out).results.every((each: { operations: number }) => each.operations > 0));
  assert.equal(await countRows(client, ['orders']), 400);
  assert.equal((await describeTable(client, ['orders'])).version, version);
  assert.deepEqual(await listBranches(client, ['orders']), {});
});

test('wrong words, a wrong key, a missing table and a silent server have their exit codes, and nothing is left', async () => {
  for (const [argv, code, text] of [
    [['--what', 'fly'], 2, /one of search, filter, .*, not "fly"/],
    [['--clients', '1000'], 2, /at most 256/],
    [['--seconds', '0'], 2, /--seconds/],
    [['--write'], 2, /--write needs TABLE/],
    [['orders', '--rows', '5'], 2, /sample table/],
    [['orders', '--what', 'filter'], 2, /--where/],
    [['orders', '--what', 'filter', '--where', 'nope = 1'], 5, /nope/],
    [['--key', 'wrong'], 4, /hint: The credential is from --key/],
    [['nothing'], 5, /was not found/],
    [['--server', 'http://127.0.0.1:1'], 3, /did not respond/],
  ] as const) {
    const outcome = await bench([...argv]);
    assert.equal(outcome.code, code, `${argv.join(' ')}: ${outcome.err}`);
    assert.match(outcome.err, text);
  }
  assert.deepEqual(await tableNames(), ['orders']);
});

test('after Ctrl-C the figures so far are shown, and the sample table is gone', { timeout: 180_000 }, async () => {
  const argv = ['build/src/main.js', 'bench', '--rows', '100', '--seconds', '600', '--what', 'filter,create'];
  const env = { ...process.env, TILTYARD_URL: server.url, TILTYARD_KEY: ADMIN_KEY };
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  child.stdout.on('data', (piece: Buffer) => void (out += piece.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  while (!(await tableNames()).some((name) => name.startsWith('tiltyard-bench-'))) assert.equal(child.exitCode, null);
  child.kill('SIGINT');
  assert.equal(await ended, 130);
  assert.match(out, /sample table/);
  assert.deepEqual(await tableNames(), ['orders']);
});

test('times are kept to one percent, however many there are', () => {
  const latencies = new Latencies();
  for (let each = 1; each <= 1000; each += 1) latencies.add(each);
  for (const [share, wanted] of [
    [0.5, 500],
    [0.95, 950],
    [0.99, 990],
    [1, 1000],
  ] as const) {
    const found = latencies.quantile(share) ?? 0;
    assert.ok(Math.abs(found - wanted) / wanted < 0.01, `${share}: ${found}`);
  }
  assert.equal(new Latencies().quantile(0.5), undefined);
});
