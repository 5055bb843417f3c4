import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import { requireToken } from '../../support/own-clients.ts';
import { runCli } from '../../support/run-cli.ts';
import type { Outcome } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';

let data: string;
before(async () => {
  data = await mkdtemp(join(tmpdir(), 'tiltyard-cli-access-'));
});
after(async () => rm(data, { recursive: true, force: true }));

async function run(...argv: readonly string[]): Promise<Outcome> {
  return runCli([...argv, '--data', data]);
}

async function json(...argv: readonly string[]): Promise<any> {
  const { code, out, err } = await run(...argv, '--json');
  assert.equal(code, 0, err);
  return JSON.parse(out);
}

test('creates a client that gets tokens of a running server, until it is revoked', async (t) => {
  const server = await startServer({ folder: data });
  t.after(async () => server.close());
  const made = await json('client', 'create', 'loader', '--role=writer', '--database=default', '--port=77');
  assert.equal(made.issuer_url, 'http://127.0.0.1:77/oauth');
  assert.deepEqual(made.grants, [{ role: 'writer', database: 'default' }]);
  const authorization = `Bearer ${await requireToken(server.url, { id: made.client_id, secret: made.client_secret })}`;
  const client = new Client(server.url, { key: undefined, headers: { authorization } });
  assert.equal((await client.get('/v1/tables')).status, 200);
  const listed = await run('client', 'list');
  assert.match(listed.out, new RegExp(`^${made.id}  valid +loader  writer on default$`, 'm'));
  assert.ok(!listed.out.includes(made.client_secret));
  assert.equal((await run('client', 'revoke', made.id)).code, 0);
  assert.equal((await run('client', 'revoke', made.id)).code, 5);
  assert.equal((await client.get('/v1/tables')).status, 401);
});

test('shows a client in two lines, and says when no token endpoint is there', async () => {
  const shown = await run('client', 'create', 'x', '--host=0.0.0.0');
  assert.match(shown.out, /^client_id {6}\w{26}\nclient_secret {2}tcs_[\w-]{43}\n$/);
  assert.match(shown.err, /auth\.issuerUrl/);
  assert.equal((await run('client', 'create')).code, 2);
  assert.equal((await run('client', 'revoke')).code, 2);
});

test('gives, lists and takes roles', async () => {
  await run('database', 'create', 'sales');
  const key = await json('key', 'create', 'reports');
  const principal = `key:${key.id}`;
  const place = ['--role=writer', '--database=sales', '--path=eu$orders'];
  assert.equal((await run('grant', 'add', principal, ...place)).code, 0);
  const given = { principal, role: 'writer', database: 'sales', path: ['eu', 'orders'] };
  assert.deepEqual(await json('grant', 'list', '--database', 'sales'), [given]);
  const listed = await run('grant', 'list', principal);
  assert.equal(listed.out, `${principal}  reader on everything\n${principal}  writer on sales/eu$orders\n`);
  assert.equal((await run('grant', 'remove', principal, ...place)).code, 0);
  assert.equal((await run('grant', 'remove', principal, ...place)).code, 1);
  assert.equal((await run('grant', 'add', 'token:https://i.example#ada', '--database=sales')).code, 0);
});

test('refuses grants to unknown principals and on unknown databases', async () => {
  for (const principal of [[], ['x'], ['key:'], ['token:x'], ['key:nobody'], ['client:nobody'], ['key:a', 'key:b']]) {
    assert.equal((await run('grant', 'add', ...principal, '--role=reader')).code, 2, principal.join(' '));
  }
  const nowhere = await run('grant', 'add', 'token:https://i.example#ada', '--database=nowhere');
  assert.equal(nowhere.code, 5);
  assert.match(nowhere.err, /"nowhere"/);
});

test('does not revoke or strip the last key that administers everything', async () => {
  const { id } = await json('key', 'create', 'chief', '--role=admin');
  const others = (await json('key', 'list')).filter(
    (key: { id: string; state: string; grants: { role: string }[] }) =>
      key.id !== id && key.state === 'valid' && key.grants.some(({ role }) => role === 'admin'),
  );
  for (const other of others) assert.equal((await run('key', 'revoke', other.id)).code, 0);
  const kept = await run('key', 'revoke', id);
  assert.equal(kept.code, 1);
  assert.match(kept.err, /another/);
  assert.equal((await run('grant', 'remove', `key:${id}`, '--role=admin')).code, 1);
});

test('drops an empty database, and no other', async () => {
  await run('database', 'create', 'short');
  assert.deepEqual(await run('database', 'drop', 'short'), {
    code: 0,
    out: '',
    err: 'The database short is dropped.\n',
  });
  assert.equal((await run('database', 'drop', 'short')).code, 5);
  assert.equal((await run('database', 'drop', 'default')).code, 1);
  assert.equal((await run('database', 'drop')).code, 2);
  const names = (await json('database', 'list')).map(({ name }: { name: string }) => name);
  assert.ok(!names.includes('short') && names.includes('sales'));
});

test('changes the key that signs, and lists keys without the keys', async () => {
  await run('signing-key', 'rotate');
  await run('signing-key', 'rotate');
  const keys = await json('signing-key', 'list');
  assert.deepEqual(
    keys.slice(0, 2).map(({ state }: { state: string }) => state),
    ['signs', 'retired'],
  );
  assert.ok(!JSON.stringify(keys).includes('"d"'));
  await run('signing-key', 'rotate', '--forget-earlier');
  const left = await run('signing-key', 'list');
  assert.match(left.out, /^\S+ {2}signs +\S+\n$/);
});

test('sets, lists and removes quotas, and shows the usage of a running server', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-cli-quotas-'));
  t.after(async () => rm(folder, { recursive: true, force: true }));
  const quotaCli = async (...argv: readonly string[]): Promise<Outcome> => runCli([...argv, '--data', folder]);
  const quotaJson = async (...argv: readonly string[]): Promise<any> => {
    const { code, out, err } = await quotaCli(...argv, '--json');
    assert.equal(code, 0, err);
    return JSON.parse(out);
  };
  await quotaCli('database', 'create', 'metered');
  const key = await quotaJson('key', 'create', 'metered', '--role=admin');
  const principal = `key:${key.id}`;
  const set = await quotaJson('quota', 'set', 'database:metered', '--rows', '5', '--tables=1');
  assert.deepEqual(set, { subject: 'database:metered', quota: { rows: 5, tables: 1 } });
  await quotaJson('quota', 'set', principal, '--requests-per-second', '1000');
  await quotaJson('quota', 'set', 'database:metered', '--bytes=1048576');
  assert.deepEqual(await quotaJson('quota', 'list'), [
    { subject: 'database:metered', quota: { bytes: 1_048_576, rows: 5, tables: 1 } },
    { subject: principal, quota: { requests_per_second: 1000 } },
  ]);
  assert.match((await quotaCli('quota', 'list')).out, /^database:metered {2}bytes 1 MiB, rows 5, tables 1$/m);
  const server = await startServer({ folder });
  t.after(async () => server.close());
  const client = new Client(server.url, { key: key.key, headers: { 'x-service-database': 'metered' } });
  assert.equal((await client.arrow('/v1/table/a/create', sampleStream(5))).status, 200);
  assert.equal((await client.arrow('/v1/table/a/insert', sampleStream(1))).status, 403);
  const usage = await runCli(['usage', 'database:metered', '--server', server.url, '--key', key.key]);
  assert.match(usage.out, /^rows +5 +5$/m, usage.err);
  assert.match(usage.out, /^tables +1 +1$/m);
  const own = await runCli(['usage', '--server', server.url, '--key', key.key]);
  assert.match(own.out, /^requests per second +1.000$/m, own.err);
  assert.equal((await quotaCli('quota', 'remove', 'database:metered', 'rows', 'bytes')).code, 0);
  assert.equal((await quotaCli('quota', 'remove', 'database:metered', 'rows')).code, 1);
  assert.equal((await client.arrow('/v1/table/a/insert', sampleStream(1))).status, 200);
  assert.match((await quotaCli('quota', 'remove', principal)).err, /now has no quota/);
  for (const wrong of [
    ['set', 'database:metered'],
    ['set', 'metered', '--rows=1'],
    ['set', 'database:metered', '--rows=x'],
    ['set', 'database:none', '--rows=1'],
    ['remove', 'database:metered', 'row'],
    ['remove'],
  ]) {
    assert.equal((await quotaCli('quota', ...wrong)).code, 2, wrong.join(' '));
  }
  assert.equal((await quotaCli('quota', 'set', 'key:none', '--rows=1')).code, 5);
});
