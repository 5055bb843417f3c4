import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, suite, test } from 'node:test';
import type { Answer } from '../../support/client.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import { requireToken } from '../../support/own-clients.ts';
import { readJsonOn, runCli, runCliOn } from '../../support/run-cli.ts';
import type { Outcome } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';
import { makeFolder } from '../../support/temporary-folder.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(async () => server.close());

async function run(...argv: readonly string[]): Promise<Outcome> {
  return runCliOn(server.url, argv);
}

async function json(...argv: readonly string[]): Promise<any> {
  return readJsonOn(server.url, argv);
}

async function listTables(key: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return new Client(server.url, { key, headers }).get('/v1/tables');
}

suite('keys', () => {
  test('are created on the server, shown once, and work there', async () => {
    const { code, out, err } = await run('key', 'create', 'reports');
    assert.equal(code, 0, err);
    assert.match(out, /^ty_[\w-]{43}\n$/);
    assert.match(
      err,
      /^Created the key \S+ for reports: reader on all databases\. Store it now: it is not shown again\.\n$/,
    );
    assert.equal((await listTables(out.trim())).status, 200);
    const listed = await run('key', 'list');
    assert.match(listed.out, /^\w{26}  valid +reports +reader on all databases +never$/m);
    assert.ok(!listed.out.includes(out.trim()));
  });

  test('get a role on a path, and expire', async () => {
    await run('database', 'create', 'shop');
    const start = Date.now();
    const flags = ['--role=writer', '--database', 'shop', '--path', 'eu/orders', '--days=2'];
    const made = await json('key', 'create', 'loader', ...flags);
    assert.deepEqual(made.grants, [{ role: 'writer', database: 'shop', path: ['eu', 'orders'] }]);
    const days = (Date.parse(made.expires_at) - start) / (24 * 60 * 60 * 1000);
    assert.ok(days > 1.99 && days < 2.01, made.expires_at);
    const expiry = `${made.expires_at.slice(0, 10)} ${made.expires_at.slice(11, 19)}Z`;
    assert.match((await run('key', 'list')).out, new RegExp(`loader +writer on shop/eu/orders +${expiry}$`, 'm'));
  });

  test('are refused with wrong options, and none is created', async () => {
    const before_ = await json('key', 'list');
    for (const [argv, says] of [
      [[], /NAME is missing/],
      [['a', 'b'], /"b" is one argument too many/],
      [['a', '--role=root'], /--role must be one of reader, writer, owner, admin/],
      [['a', '--path=eu'], /--path needs --database/],
      [['a', '--days=0'], /--days must be a whole number/],
      [['a', '--days=1.5'], /--days must be a whole number/],
      [['a', '--role'], /--role needs a value/],
      [['a', '--rolle=reader'], /no option --rolle/],
    ] as const) {
      const { code, out, err } = await run('key', 'create', ...argv);
      assert.deepEqual([code, out], [2, ''], argv.join(' '));
      assert.match(err, says);
    }
    assert.equal((await run('key', 'create', 'a', '--database=nowhere')).code, 5);
    assert.deepEqual(await json('key', 'list'), before_);
  });

  test('are revoked at once, and only once', async () => {
    const made = await json('key', 'create', 'short');
    assert.equal((await listTables(made.key)).status, 200);
    assert.deepEqual(await run('key', 'revoke', made.id), { code: 0, out: `Revoked the key ${made.id}.\n`, err: '' });
    assert.equal((await listTables(made.key)).status, 401);
    assert.match((await run('key', 'list')).out, new RegExp(`^${made.id}  revoked  short`, 'm'));
    for (const gone of [made.id, 'nothing']) assert.equal((await run('key', 'revoke', gone)).code, 5);
  });

  test('are for administrators: others get exit code 4', async () => {
    const { key } = await json('key', 'create', 'plain');
    const refused = await runCliOn(server.url, ['key', 'create', 'more', '--key', key]);
    assert.equal(refused.code, 4, refused.err);
    assert.equal((await runCliOn(server.url, ['key', 'list', '--key=wrong'])).code, 4);
  });

  test('are not created in a folder without a server, and the message says what to do', async (t) => {
    const folder = await makeFolder(t);
    const env = { TILTYARD_URL: 'http://127.0.0.1:9', TILTYARD_DATA: folder };
    const { code, out, err } = await runCli(['key', 'create', 'x'], { env });
    assert.deepEqual([code, out], [3, '']);
    assert.match(err, /did not respond.*\nhint: Start it .* For the folder of a stopped server, give --data DIR\.\n/);
    assert.deepEqual(await readdir(folder), []);
  });
});

test('a client gets tokens until it is revoked', async () => {
  const made = await json('client', 'create', 'loader', '--role=writer', '--database=default');
  assert.equal(made.issuer_url, `${server.url}/oauth`);
  assert.deepEqual(made.grants, [{ role: 'writer', database: 'default' }]);
  const authorization = `Bearer ${await requireToken(server.url, { id: made.client_id, secret: made.client_secret })}`;
  const client = new Client(server.url, { key: undefined, headers: { authorization } });
  assert.equal((await client.get('/v1/tables')).status, 200);
  const listed = await run('client', 'list');
  assert.match(listed.out, new RegExp(`^${made.id}  valid +loader +writer on default +never$`, 'm'));
  assert.ok(!listed.out.includes(made.client_secret));
  assert.equal((await run('client', 'revoke', made.id)).code, 0);
  assert.equal((await run('client', 'revoke', made.id)).code, 5);
  assert.equal((await client.get('/v1/tables')).status, 401);
  const shown = await run('client', 'create', 'x');
  assert.match(shown.out, /^client_id {6}\w{26}\nclient_secret {2}tcs_[\w-]{43}\n$/);
  assert.match(shown.err, /Get tokens from http/);
});

test('roles are given, listed and taken', async () => {
  await run('database', 'create', 'sales');
  const key = await json('key', 'create', 'reports');
  const principal = `key:${key.id}`;
  const on = ['--role=writer', '--database=sales', '--path=eu$orders'];
  const added = await run('grant', 'add', principal, ...on);
  assert.equal(added.out, `${principal} is now writer on sales/eu/orders.\n`, added.err);
  const given = { principal, principal_name: 'reports', role: 'writer', database: 'sales', path: ['eu', 'orders'] };
  assert.deepEqual(await json('grant', 'list', '--database', 'sales'), [given]);
  const listed = await run('grant', 'list', principal);
  assert.match(listed.out, /^principal +role +on +name +state\n/);
  assert.match(listed.out, new RegExp(`^${principal}  reader  all databases +reports  valid$`, 'm'));
  assert.match(listed.out, new RegExp(`^${principal}  writer  sales/eu/orders +reports  valid$`, 'm'));
  assert.equal((await run('grant', 'remove', principal, ...on)).code, 0);
  assert.equal((await run('grant', 'remove', principal, ...on)).code, 5);
  assert.equal((await run('grant', 'add', 'token:https://i.example#ada', '--database=sales')).code, 0);
});

test('with TILTYARD_DATABASE, a role needs --database or --all-databases, and nothing changes without them', async () => {
  await run('database', 'create', 'leased');
  const { id } = await json('key', 'create', 'everywhere', '--role=writer');
  const principal = `key:${id}`;
  const before_ = [await json('key', 'list'), await json('client', 'list'), await json('grant', 'list')];
  const terminal = { env: { TILTYARD_DATABASE: 'leased' } };
  const runLeased = async (...argv: readonly string[]): Promise<Outcome> => runCliOn(server.url, argv, terminal);
  for (const argv of [
    ['key', 'create', 'loader', '--role=writer'],
    ['key', 'create', 'loader', '--role=writer', '--path=eu'],
    ['client', 'create', 'loader', '--role=writer'],
    ['grant', 'add', principal, '--role=owner'],
    ['grant', 'remove', principal, '--role=writer'],
  ]) {
    const { code, out, err } = await runLeased(...argv);
    assert.deepEqual([code, out], [2, ''], argv.join(' '));
    assert.match(err, /TILTYARD_DATABASE is set.*--database leased.*--all-databases/);
  }
  assert.deepEqual([await json('key', 'list'), await json('client', 'list'), await json('grant', 'list')], before_);
  const on = await runLeased('key', 'create', 'loader', '--role=writer', '--database', 'leased', '--json');
  assert.deepEqual(JSON.parse(on.out).grants, [{ role: 'writer', database: 'leased' }]);
  const all = await runLeased('key', 'create', 'loader', '--role=writer', '--all-databases', '--json');
  assert.deepEqual(JSON.parse(all.out).grants, [{ role: 'writer', all_databases: true }]);
  assert.equal((await runLeased('grant', 'remove', principal, '--role=writer', '--all-databases')).code, 0);
  assert.equal((await run('key', 'create', 'a', '--all-databases')).code, 0);
  const both = await run('key', 'create', 'a', '--all-databases', '--database=leased');
  assert.deepEqual([both.code, both.err], [2, 'tiltyard: Give --database or --all-databases, not both.\n']);
  for (const words of [
    ['key', 'create'],
    ['client', 'create'],
    ['grant', 'add'],
    ['grant', 'remove'],
    ['grant', 'list'],
  ]) {
    assert.doesNotMatch((await run('help', ...words)).out, /default: TILTYARD_DATABASE/, words.join(' '));
  }
});

test('grants of revoked credentials are marked, and those of tokens have no state', async () => {
  const key = await json('key', 'create', 'ended-key', '--role=reader');
  const client = await json('client', 'create', 'ended-client', '--role=reader');
  await run('key', 'revoke', key.id);
  await run('client', 'revoke', client.id);
  await run('grant', 'add', 'token:https://i.example#eve');
  const { out } = await run('grant', 'list');
  assert.match(out, new RegExp(`^key:${key.id} +reader +all databases +ended-key +revoked$`, 'm'));
  assert.match(out, new RegExp(`^client:${client.id} +reader +all databases +ended-client +revoked$`, 'm'));
  assert.match(out, /^token:https:\/\/i\.example#eve +reader +all databases$/m);
});

test('grants to unknown principals and on unknown databases are refused', async () => {
  for (const principal of [[], ['x'], ['key:'], ['token:x'], ['key:a', 'key:b']]) {
    assert.equal((await run('grant', 'add', ...principal, '--role=reader')).code, 2, principal.join(' '));
  }
  for (const principal of ['key:none', 'client:none']) {
    assert.equal((await run('grant', 'add', principal, '--role=reader')).code, 5, principal);
  }
  const nowhere = await run('grant', 'add', 'token:https://i.example#ada', '--database=nowhere');
  assert.equal(nowhere.code, 5);
  assert.match(nowhere.err, /"nowhere"/);
});

test('databases are created, listed and dropped, and --root is refused without --data', async () => {
  assert.equal((await run('database', 'create', 'short')).out, 'Created the database short.\n');
  assert.equal((await run('database', 'create', 'short')).code, 1);
  assert.equal(
    (await listTables('test-administrator-key-of-enough-length', { 'x-service-database': 'short' })).status,
    200,
  );
  assert.match((await run('database', 'list')).out, /^default\n(.*\n)*short\n/);
  assert.deepEqual(await run('database', 'drop', 'short'), { code: 0, out: 'Dropped the database short.\n', err: '' });
  assert.equal((await run('database', 'drop', 'short')).code, 5);
  assert.equal((await run('database', 'drop', 'default')).code, 1);
  assert.equal((await run('database', 'drop')).code, 2);
  const root = await run('database', 'create', 'far', '--root', '/srv/far');
  assert.equal(root.code, 2);
  assert.match(root.err, /--root needs --data DIR/);
});

test('the signing key is rotated, and keys are listed without the keys', async () => {
  await run('signing-key', 'rotate');
  const rotated = await run('signing-key', 'rotate');
  assert.match(rotated.out, /^New tokens are signed with the key \S+\.\n$/, rotated.err);
  const keys = await json('signing-key', 'list');
  assert.deepEqual(
    keys.slice(0, 2).map(({ state }: { state: string }) => state),
    ['signs', 'retired'],
  );
  assert.ok(!JSON.stringify(keys).includes('"d"'));
  await run('signing-key', 'rotate', '--forget-earlier');
  assert.equal((await json('signing-key', 'list')).length, 1);
});

test('quotas are set, listed and removed, and usage is shown', async () => {
  await run('database', 'create', 'metered');
  const key = await json('key', 'create', 'metered', '--role=admin');
  const principal = `key:${key.id}`;
  const set = await json('quota', 'set', 'database:metered', '--rows', '5', '--tables=1');
  assert.deepEqual(set, { subject: 'database:metered', quota: { rows: 5, tables: 1 } });
  await json('quota', 'set', principal, '--requests-per-second', '1000');
  await json('quota', 'set', 'database:metered', '--bytes=1048576');
  assert.deepEqual(await json('quota', 'list'), [
    { subject: 'database:metered', quota: { bytes: 1_048_576, rows: 5, tables: 1 } },
    { subject: principal, quota: { requests_per_second: 1000 } },
  ]);
  assert.match((await run('quota', 'list')).out, /^database:metered {2}bytes 1 MiB, rows 5, tables 1$/m);
  const client = new Client(server.url, { key: key.key, headers: { 'x-service-database': 'metered' } });
  assert.equal((await client.arrow('/v1/table/a/create', sampleStream(5))).status, 200);
  assert.equal((await client.arrow('/v1/table/a/insert', sampleStream(1))).status, 403);
  const usage = await run('usage', 'database:metered');
  assert.match(usage.out, /^rows +5 +5$/m, usage.err);
  assert.match(usage.out, /^tables +1 +1$/m);
  const own = await runCli(['usage', '--server', server.url, '--key', key.key]);
  assert.match(own.out, /^requests per second +1,000$/m, own.err);
  assert.equal((await run('quota', 'remove', 'database:metered', 'rows', 'bytes')).code, 0);
  assert.equal((await run('quota', 'remove', 'database:metered', 'rows')).code, 5);
  assert.equal((await client.arrow('/v1/table/a/insert', sampleStream(1))).status, 200);
  assert.match((await run('quota', 'remove', principal)).out, /now has no quota/);
  for (const wrong of [
    ['set', 'database:metered'],
    ['set', 'metered', '--rows=1'],
    ['set', 'database:metered', '--rows=x'],
    ['remove', 'database:metered', 'row'],
    ['remove'],
  ]) {
    assert.equal((await run('quota', ...wrong)).code, 2, wrong.join(' '));
  }
  for (const subject of ['key:none', 'database:none']) {
    assert.equal((await run('quota', 'set', subject, '--rows=1')).code, 5, subject);
  }
});

test('whoami shows the caller, its roles and its permissions', async () => {
  await new Client(server.url).arrow('/v1/table/items/create', sampleStream(1));
  const { key, id } = await json('key', 'create', 'viewer', '--database=default', '--path=items');
  const { out, err } = await runCliOn(server.url, ['whoami', 'items', '--key', key]);
  assert.match(out, /^name +viewer$/m, err);
  assert.match(out, new RegExp(`^id +key:${id}$`, 'm'));
  assert.match(out, /^roles +reader on the table items in default$/m);
  assert.match(out, /^on items +see, read$/m);
  assert.match((await run('whoami')).out, /^on default +see, read, write, manage, administer$/m);
  assert.equal((await json('whoami')).is_admin, true);
  assert.equal((await runCliOn(server.url, ['whoami', 'none', '--key', key])).code, 5);
  assert.equal((await runCliOn(server.url, ['whoami', '--key=wrong'])).code, 4);
});
