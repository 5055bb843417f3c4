import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { Client } from '../../support/client.ts';
import { runCli } from '../../support/run-cli.ts';
import type { Outcome } from '../../support/run-cli.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { startServer } from '../../support/server.ts';

let folder: string;
let data: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-cli-offline-'));
  data = join(folder, 'data');
  // The catalog of a server that is stopped.
  await (await startServer({ folder: data })).close();
});
after(async () => rm(folder, { recursive: true, force: true }));

async function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  return runCli([...argv, '--data', data], { env });
}

async function json(...argv: readonly string[]): Promise<any> {
  const { code, out, err } = await run([...argv, '--json']);
  assert.equal(code, 0, err);
  return JSON.parse(out);
}

test('keys, clients, grants, quotas and signing keys of a stopped server are changed in its folder', async () => {
  await run(['database', 'create', 'sales']);
  const key = await json('key', 'create', 'rescue', '--role=admin');
  const principal = `key:${key.id}`;
  assert.equal((await run(['grant', 'add', principal, '--role=reader', '--database=sales'])).code, 0);
  assert.equal((await json('grant', 'list', '--database=sales')).length, 1);
  assert.equal((await json('client', 'create', 'loader')).issuer_url, 'http://127.0.0.1:2333/oauth');
  assert.deepEqual((await json('quota', 'set', 'database:sales', '--rows=7')).quota, { rows: 7 });
  assert.equal((await json('quota', 'list')).length, 1);
  assert.match((await run(['signing-key', 'rotate'])).out, /^New tokens are signed/);
  const short = await json('key', 'create', 'short');
  assert.equal((await run(['key', 'revoke', short.id])).code, 0);
  assert.equal((await run(['key', 'revoke', short.id])).code, 5);
  const server = await startServer({ folder: data });
  try {
    assert.equal((await new Client(server.url, { key: key.key }).get('/v1/tables')).status, 200);
    assert.equal((await new Client(server.url, { key: short.key }).get('/v1/tables')).status, 401);
  } finally {
    await server.close();
  }
});

test('a folder whose server runs is refused, with the server that holds it', async () => {
  const server = await startServer({ folder: data });
  try {
    const { code, out, err } = await run(['key', 'create', 'x']);
    assert.deepEqual([code, out], [1, '']);
    assert.match(
      err,
      /^tiltyard: The data folder .* is in use by another Tiltyard server \(process \d+ on .*listening on/,
    );
    assert.match(err, /Omit --data to use that server, or stop it first\.\n$/);
  } finally {
    await server.close();
  }
});

test('the last key that administers everything is kept', async () => {
  const { id } = await json('key', 'create', 'chief', '--role=admin');
  const others = (await json('key', 'list')).filter(
    (key: { id: string; state: string; grants: { role: string }[] }) =>
      key.id !== id && key.state === 'valid' && key.grants.some(({ role }) => role === 'admin'),
  );
  for (const other of others) assert.equal((await run(['key', 'revoke', other.id])).code, 0);
  const kept = await run(['key', 'revoke', id]);
  assert.equal(kept.code, 1);
  assert.match(kept.err, /another/);
  assert.equal((await run(['grant', 'remove', `key:${id}`, '--role=admin'])).code, 1);
});

test('a folder without a catalog is refused, and stays as it is', async () => {
  const empty = await mkdtemp(join(folder, 'empty-'));
  for (const argv of [
    ['key', 'create', 'x'],
    ['database', 'list'],
    ['signing-key', 'rotate'],
  ]) {
    const { code, out, err } = await runCli([...argv, '--data', empty]);
    assert.deepEqual([code, out], [1, ''], err);
    assert.match(err, /has no catalog/);
  }
  assert.deepEqual(await readdir(empty), []);
  const missing = join(folder, 'missing');
  assert.equal((await runCli(['key', 'list', '--data', missing])).code, 1);
  assert.ok(!(await readdir(folder)).includes('missing'));
});

test('a server and a folder are not given together', async () => {
  const { code, err } = await run(['key', 'list', '--server', 'http://127.0.0.1:9']);
  assert.equal(code, 2);
  assert.match(err, /--server or --data, not both/);
});

test('a settings file names the folder, and gives the address of the token endpoint', async () => {
  const file = join(folder, 'settings.json');
  await writeFile(file, JSON.stringify({ data, auth: { issuerUrl: 'https://tables.example.com/oauth' } }));
  const { code, out, err } = await runCli(['client', 'create', 'x', '--json', '--config', file]);
  assert.equal(code, 0, err);
  assert.equal(JSON.parse(out).issuer_url, 'https://tables.example.com/oauth');
});

test('databases are created in the default or a given folder or store, and listed with it', async (t) => {
  const own = await json('database', 'create', 'shop');
  assert.ok(own.root.startsWith(`${data}/`) && own.root !== data, own.root);
  const elsewhere = join(folder, 'elsewhere');
  const given = await run(['database', 'create', 'other', '--root', elsewhere]);
  assert.equal(given.out, `Created the database other in ${elsewhere}.\n`);
  const create = ['database', 'create', 'bucket', '--root=s3://tables/b'];
  const unsafe = await S3Emulator.start(t, { ignoresConditions: true });
  const refused = await run(create, { TILTYARD_STORAGE_OPTIONS: JSON.stringify(unsafe.storageOptions) });
  const { isFallback } = readEngineRelease();
  assert.match(refused.err, isFallback ? /does not support object stores/ : /s3:\/\/tables cannot store tables/);
  const { storageOptions } = await S3Emulator.start(t);
  const bucket = await run(create, { TILTYARD_STORAGE_OPTIONS: JSON.stringify(storageOptions) });
  assert.equal(bucket.code, isFallback ? 1 : 0, bucket.err);
  const { out } = await run(['database', 'list']);
  assert.match(out, new RegExp(`^other  ${elsewhere}$`, 'm'));
  assert.match(out, new RegExp(`^shop  ${own.root}$`, 'm'));
});

test('a database whose root the engine would take for another is refused', async () => {
  const { code, err } = await run(['database', 'create', 'odd', '--root=s3://tables/a#b']);
  assert.equal(code, 1);
  assert.match(err, /must not contain "#", .*\n?Choose another path\./);
  assert.doesNotMatch((await run(['database', 'list'])).out, /odd/);
});

test('a database that exists or has no usable name is refused', async () => {
  await run(['database', 'create', 'twice']);
  const again = await run(['database', 'create', 'twice']);
  assert.equal(again.code, 1);
  assert.match(again.err, /^tiltyard: The database "twice" already exists/);
  for (const name of ['..', 'a/b', 'a$b', '']) assert.equal((await run(['database', 'create', name])).code, 1, name);
});
