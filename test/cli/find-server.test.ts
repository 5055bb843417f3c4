import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SERVER_OPTIONS, findServer } from '../../src/cli/find-server.ts';
import { readArguments } from '../../src/cli/options.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { Client } from '../support/client.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { runCli, runCliOn } from '../support/run-cli.ts';
import { startServerProcess } from '../support/server-process.ts';
import { ADMIN_KEY, startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let folder: string;

before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-find-'));
  await new Client(server.url).arrow('/v1/table/orders/create', sampleStream(3));
  await new Client(server.url).post('/v1/database/create', { name: 'other' });
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

test('takes the server, the key and the database from options, and before them from no variable', async () => {
  const env = { TILTYARD_URL: 'http://127.0.0.1:9', TILTYARD_KEY: 'wrong', TILTYARD_DATABASE: 'nothing' };
  const flags = ['--server', server.url, `--key=${ADMIN_KEY}`, '--database', 'default'];
  assert.deepEqual(await runCli(['tables', ...flags], { env }), { code: 0, out: 'orders\n', err: '' });
  assert.equal((await runCliOn(server.url, ['tables', '--database=other'])).out, '');
  const missing = await runCliOn(server.url, ['tables'], { env: { TILTYARD_DATABASE: 'nothing' } });
  assert.equal(missing.code, 5);
  assert.match(missing.err, /^tiltyard: The database "nothing" was not found\.\n/);
});

test('reads a key from a file, and from admin.key in the data folder when the server is on this machine', async () => {
  const data = join(folder, 'data');
  await mkdir(data);
  await writeFile(join(data, 'admin.key'), `${ADMIN_KEY}\n`);
  const env = { TILTYARD_URL: server.url };
  const byFile = await runCli(['tables', '--key', `@${join(data, 'admin.key')}`], { env });
  assert.equal(byFile.out, 'orders\n');
  const byFolder = await runCli(['tables'], { env: { ...env, TILTYARD_DATA: data } });
  assert.equal(byFolder.out, 'orders\n');
  const unreadable = await runCli(['tables', '--key=@/nowhere/key'], { env });
  assert.equal(unreadable.code, 5);
  assert.equal(unreadable.err, 'tiltyard: /nowhere/key does not exist.\n');
});

test('finds the server of a data folder at its address, and says where that is from', async (t) => {
  const data = await mkdtemp(join(folder, 'serving-'));
  const env = { TILTYARD_DATA: data };
  const serving = await startServerProcess(data, ['--base-path=/lance', '--host=0.0.0.0'], { TILTYARD_ADMIN_KEY: '' });
  t.after(async () => serving.killAll());
  const holder = join(data, 'server.lock.json');
  const { url, pid } = JSON.parse(await readFile(holder, 'utf8'));
  assert.deepEqual([url, pid], [`${serving.url}/lance`, serving.supervisorPid]);
  assert.equal((await runCli(['tables'], { env })).code, 0);
  const doctor = await runCli(['doctor', data]);
  assert.match(doctor.out, new RegExp(`✓ server +${url} answers\n(.*\n)*✓ key +${data}/admin.key is accepted`));
  assert.match(
    (await runCli(['tables', '--server=http://127.0.0.1:9'], { env })).err,
    /127\.0\.0\.1:9 did not respond/,
  );
  const find = (...argv: readonly string[]) => findServer(readArguments(argv, SERVER_OPTIONS), { env });
  assert.equal(find().client.url, url);
  const standard = 'http://127.0.0.1:2333';
  assert.equal(
    find('--key=secret').client.url,
    standard,
    'a key that was given is not sent to the address of a folder',
  );
  await serving.killAll();
  const stopped = find();
  assert.deepEqual([stopped.client.url, stopped.origin], [standard, `The server of ${data}, at ${url}, has stopped.`]);
  for (const text of ['', '{', '[]', '{"url":"http://192.0.2.1"}', '{"url":7}']) {
    await writeFile(holder, text);
    assert.deepEqual([find().client.url, find().origin], [standard, undefined]);
  }
  await writeFile(holder, JSON.stringify({ url: 'http://127.0.0.1:9', pid, host: 'elsewhere' }));
  const { code, err } = await runCli(['tables'], { env });
  assert.equal(code, 3);
  assert.match(
    err,
    /:9 did not respond.*\nhint: The address is from \S+server\.lock\.json\. Start it with "tiltyard serve"/,
  );
});

test('says how to give a key when there is none, and where a refused one came from', async () => {
  const none = await runCli(['tables', '--server', server.url]);
  assert.equal(none.code, 4);
  assert.match(none.err, /^tiltyard: .*no credential.*\nhint: Give a key with --key, --key @FILE or TILTYARD_KEY\.\n$/);
  const wrong = await runCliOn(server.url, ['tables', '--key=wrong']);
  assert.equal(wrong.code, 4);
  assert.match(wrong.err, /not valid.*\nhint: The credential is from --key\.\n$/);
  const token = await runCli(['tables', '--server', server.url, '--token=a.b.c']);
  assert.equal(token.code, 4);
});

test('reports a server that does not answer, with a separate exit code', async () => {
  const closed = await startServer();
  await closed.close();
  const { code, out, err } = await runCliOn(closed.url, ['tables']);
  assert.deepEqual([code, out], [3, '']);
  assert.equal(
    err,
    `tiltyard: The server at ${closed.url} did not respond: nothing is listening there.\n` +
      'hint: Start it with "tiltyard serve", or give the address of another one with --server URL.\n',
  );
  const json = await runCliOn(closed.url, ['tables', '--json']);
  assert.equal(JSON.parse(json.err).error.reason, 'ECONNREFUSED');
});

test('reports a web server that is not Tiltyard by its address', async (t) => {
  const replies: readonly (readonly [type: string, body: string])[] = [
    ['text/html; charset=utf-8', '<!doctype html><title>Welcome</title>'],
    ['text/plain', 'ok'],
  ];
  for (const [type, body] of replies) {
    const web = createServer((_request, reply) => reply.setHeader('content-type', type).end(body));
    t.after(() => web.close());
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
    const err =
      `tiltyard: ${url} is not the address of a Tiltyard server: its reply is a web page or other text.\n` +
      'hint: Give the address of the server, with its base path if it has one.\n';
    assert.deepEqual(await runCliOn(url, ['tables']), { code: 1, out: '', err });
    const json = await runCliOn(url, ['tables', '--json']);
    assert.equal(JSON.parse(json.err).error.message, err.slice('tiltyard: '.length, err.indexOf('\n')));
  }
});

test('refuses options that are wrong, unknown or given twice with exit code 2', async () => {
  const wrong: readonly (readonly [argv: readonly string[], says: RegExp])[] = [
    [['--server=ftp://x'], /--server must be an address such as/],
    [['--server=127.0.0.1:2333'], /--server must be an address such as/],
    [['--srever=x'], /no option --srever\. Did you mean --server\?/],
    [['--quux=x'], /no option --quux\. Its options are .*--server/],
    [['--key'], /--key needs a value: --key KEY/],
    [['--key=a', '--token=b'], /not both/],
    [['--key=a', '--key=b'], /--key was given twice/],
    [['--key= '], /--key is not a key/],
    [['--json=yes'], /--json takes no value/],
    [['one', 'two'], /"two" is one argument too many\. Usage: tiltyard tables \[NAMESPACE\]/],
    [['a$$b'], /The name "" is empty/],
  ];
  for (const [argv, says] of wrong) {
    const { code, out, err } = await runCliOn(server.url, ['tables', ...argv]);
    assert.equal(code, 2, argv.join(' '));
    assert.equal(out, '');
    assert.match(err, says);
  }
});

test('variables of the commands are no faults of the settings', () => {
  const env = {
    TILTYARD_URL: 'x',
    TILTYARD_KEY: 'x',
    TILTYARD_TOKEN: 'x',
    TILTYARD_DATABASE: 'x',
  };
  assert.ok('config' in loadConfig({ argv: [], env, readFile: () => '' }));
  assert.ok('faults' in loadConfig({ argv: [], env: { TILTYARD_KEYS: 'x' }, readFile: () => '' }));
});
