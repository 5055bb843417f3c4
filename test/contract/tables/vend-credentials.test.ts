import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import type { Connection } from '@lancedb/lancedb';
import { NO_OBJECT_STORES } from '../../storage/object/test-stores.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import type { Answer } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { stageOnStore } from '../../support/staged-on-store.ts';
import type { Change } from '../../support/staged-version.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { ContractServer } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

const ROOT = 's3://tables/prefix';
const VEND = { vend_credentials: true };
const skip = NO_OBJECT_STORES;

let emulator: S3Emulator;
let server: ContractServer;
before(async () => {
  if (skip !== false) return;
  emulator = await S3Emulator.start({ after: () => {} });
  server = await ContractServer.start({ flags: toFlags(emulator) });
});
after(async () => {
  if (skip !== false) return;
  await server.close();
  emulator.close();
});

function toFlags({ storageOptions }: S3Emulator, vending = 'sts'): readonly string[] {
  const options = `--storage-options=${JSON.stringify(storageOptions)}`;
  const bounds = ['--storage-request-attempts-max=2', '--storage-request-seconds=5'];
  return [`--storage-root=${ROOT}`, options, `--storage-vending=${vending}`, ...bounds];
}

const post = async (id: string, operation: string, body: object, client = server.admin): Promise<Answer> =>
  client.post(`/v1/table/${id}/${operation}`, body);

async function optionsOf(answer: Answer): Promise<Record<string, string>> {
  assert.equal(answer.status, 200, answer.text);
  return answer.json.storage_options;
}

/** The real engine with these options, as Spark or Ray would use it. */
async function openEngine(storageOptions: Record<string, string>): Promise<Connection> {
  return connect(ROOT, {
    storageOptions: { ...storageOptions, client_max_retries: '0' },
    // Otherwise the engine looks for its namespace catalog in the root.
    manifestEnabled: false,
    namespaceClientProperties: { manifest_enabled: 'false' },
  });
}

/** What the store says, in the words of the engine. */
const DENIED = /403|AccessDenied|[Pp]ermission/;

const nameAt = (location: string): string => basename(location, '.lance');

suite('describe_table with vend_credentials', { skip }, () => {
  test('gives a reader credentials with which the engine reads this table, and no other', async () => {
    const table = await server.table();
    const other = await server.table();
    const reader = await server.caller('reader', [table.id]);
    const options = await optionsOf(await post(table.id, 'describe', VEND, reader));
    assert.deepEqual(Object.keys(options).toSorted(), [
      'allow_http',
      'aws_access_key_id',
      'aws_endpoint',
      'aws_region',
      'aws_secret_access_key',
      'aws_session_token',
      'expires_at_millis',
    ]);
    assert.notEqual(options['aws_access_key_id'], emulator.storageOptions['aws_access_key_id']);
    assert.ok(Math.abs(Number(options['expires_at_millis']) - Date.now() - 900_000) < 60_000);
    const engine = await openEngine(options);
    const opened = await engine.openTable(nameAt(table.location));
    assert.equal(await opened.countRows(), 10);
    await assert.rejects(engine.openTable(nameAt(other.location)), DENIED);
    engine.close();
  });

  test('does not reach a neighbour whose name begins with this one', async () => {
    const outside = await openEngine({ ...emulator.storageOptions });
    const [name, neighbour] = ['orders', 'orders.lance-more'];
    for (const each of [name, neighbour]) {
      await outside.createTable(each, [{ id: 1 }]);
      assert.equal((await post(each.replaceAll('.', '-'), 'register', { location: `${each}.lance` })).status, 200);
    }
    outside.close();
    const engine = await openEngine(await optionsOf(await post(name, 'describe', VEND)));
    assert.equal(await (await engine.openTable(name)).countRows(), 1);
    await assert.rejects(engine.openTable(neighbour), DENIED);
    engine.close();
  });

  test('never lets a caller commit without the server, not even an administrator', async () => {
    const table = await server.table();
    const engine = await openEngine(await optionsOf(await post(table.id, 'describe', VEND)));
    const opened = await engine.openTable(nameAt(table.location));
    const prefix = table.location.replace('s3://', '');
    const files = emulator.objects.paths(prefix);
    await assert.rejects(opened.delete('id = 1'), DENIED);
    await assert.rejects(opened.update({ values: { id: '7' } }), DENIED);
    await assert.rejects(engine.dropTable(nameAt(table.location)), DENIED);
    engine.close();
    assert.deepEqual(emulator.objects.paths(prefix), files);
    assert.equal((await post(table.id, 'describe', {})).json.version, table.version);
  });

  test('lets writers of a managed table stage a version, which only the server can commit', async () => {
    const table = await server.table({ query: { properties: '{"managed_versioning":"true"}' } });
    const writer = await server.caller('writer', [table.id]);
    const storageOptions = await optionsOf(await post(table.id, 'describe', VEND, writer));
    const engine = await openEngine(storageOptions);
    await assert.rejects((await engine.openTable(nameAt(table.location))).delete('id = 1'), DENIED);
    engine.close();
    const change: Change = async (each) => each.delete('id = 1');
    const staged = await stageOnStore({ storageOptions }, table.location, change);
    const committed = await post(table.id, 'version/create', staged, writer);
    assert.equal(committed.status, 200, committed.text);
    assert.equal(Number((await post(table.id, 'count_rows', {})).text), 9);
    const reader = await server.caller('reader', [table.id]);
    const forReader = { storageOptions: await optionsOf(await post(table.id, 'describe', VEND, reader)) };
    await assert.rejects(
      stageOnStore(forReader, table.location, async (each) => each.delete('id = 2')),
      /refuses/,
    );
  });

  test('gives none unless it is asked for', async () => {
    const table = await server.table();
    const count = emulator.tokens.sessions.length;
    for (const body of [{}, { vend_credentials: false }, { vend_credentials: null }])
      assert.deepEqual(await optionsOf(await post(table.id, 'describe', body)), {});
    assert.equal(emulator.tokens.sessions.length, count);
  });

  test('refuses bad input, no credential, no permission and a missing table, and issues nothing', async () => {
    const table = await server.table();
    const count = emulator.tokens.sessions.length;
    assertRefused(await post(table.id, 'describe', { vend_credentials: 'yes' }), badRequest());
    assertRefused(await post(table.id, 'describe', VEND, server.stranger()), unauthenticated);
    assertRefused(await post(table.id, 'describe', VEND, await server.caller('reader', ['elsewhere'])), tableNotFound);
    assertRefused(await post('missing', 'describe', VEND), tableNotFound);
    assertRefused(await post(table.id, 'describe', { ...VEND, version: 99 }), {
      status: 404,
      code: CODE.versionNotFound,
    });
    assert.equal(emulator.tokens.sessions.length, count);
  });

  test('says that credentials cannot be issued while STS is down or refuses, without its words', async (t) => {
    const table = await server.table();
    emulator.faults.add('reset-before', { method: 'POST', path: /^$/ }, 2);
    const down = { status: 503, code: CODE.unavailable, detail: /Storage credentials cannot be issued/ };
    assertRefused(await post(table.id, 'describe', VEND), down);
    assert.equal((await post(table.id, 'describe', {})).status, 200);
    emulator.tokens.role = 'arn:aws:iam::1:role/other';
    t.after(() => (emulator.tokens.role = undefined));
    const answer = await post(table.id, 'describe', VEND);
    assertRefused(answer, { status: 500, code: CODE.internal, detail: /refuses this server/ });
    assert.ok(!answer.text.includes('arn:') && !answer.text.includes('AccessDenied'), answer.text);
  });
});

suite('declare_table with vend_credentials', { skip }, () => {
  test('gives a writer credentials with which the engine creates the table, and changes nothing afterwards', async () => {
    const id = server.name('declared');
    const writer = await server.caller('writer');
    const declared = await post(id, 'declare', VEND, writer);
    const engine = await openEngine(await optionsOf(declared));
    const created = await engine.createTable(nameAt(declared.json.location), [{ id: 1 }, { id: 2 }]);
    assert.equal((await post(id, 'count_rows', {}, writer)).text, '2');
    await assert.rejects(created.delete('id = 1'), DENIED);
    await assert.rejects(created.add([{ id: 3 }]), DENIED);
    await assert.rejects(engine.dropTable(nameAt(declared.json.location)), DENIED);
    assert.equal((await post(id, 'update', { updates: [['id', 'id + 10']] }, writer)).json.version, 2);
    engine.close();
    const reading = await optionsOf(await post(id, 'describe', VEND, writer));
    assert.ok(
      !emulator.tokens.sessions
        .find((each) => each.accessKeyId === reading['aws_access_key_id'])
        ?.policy.includes('Put'),
    );
  });

  test('gives a writer the same again by a description, and a reader nothing to write with', async () => {
    const id = server.name('declared');
    const { location } = (await post(id, 'declare', {})).json;
    const reader = await openEngine(await optionsOf(await post(id, 'describe', VEND, await server.caller('reader'))));
    await assert.rejects(reader.createTable(nameAt(location), [{ id: 1 }]), DENIED);
    reader.close();
    assert.equal((await post(id, 'describe', {})).json.is_only_declared, true);
    const writer = await openEngine(await optionsOf(await post(id, 'describe', VEND, await server.caller('writer'))));
    await writer.createTable(nameAt(location), [{ id: 1 }]);
    writer.close();
    assert.equal((await post(id, 'count_rows', {})).text, '1');
  });

  test('leaves no name behind when STS is down, so that it can be repeated', async () => {
    const id = server.name('declared');
    emulator.faults.add('error-before', { method: 'POST', path: /^$/ }, 2);
    assertRefused(await post(id, 'declare', VEND), { status: 503, code: CODE.unavailable });
    assertRefused(await post(id, 'describe', {}), tableNotFound);
    assert.equal((await post(id, 'declare', VEND)).status, 200);
  });

  test('refuses a reader and a stranger, and issues nothing', async () => {
    const count = emulator.tokens.sessions.length;
    assertRefused(await post(server.name(), 'declare', VEND, await server.caller('reader')), forbidden);
    assertRefused(await post(server.name(), 'declare', VEND, server.stranger()), unauthenticated);
    assertRefused(await post(server.name(), 'declare', { vend_credentials: 1 }), badRequest());
    assert.equal(emulator.tokens.sessions.length, count);
  });

  test('refuses a database on a store that issues none, before the name is taken', async () => {
    const { id: databaseId } = await server.catalog.databases.create({ name: 'azure', root: 'az://container/x' });
    const client = server.client({ headers: { 'x-lancedb-database': 'azure' } });
    const unsupported = { status: 406, code: CODE.unsupported, detail: /only for tables on s3:\/\/ roots/ };
    assertRefused(await post('items', 'declare', VEND, client), unsupported);
    assert.deepEqual(await server.catalog.tables.list({ databaseId, limit: 1 }), []);
  });
});

suite('batch-commit with vend_credentials', { skip }, () => {
  const declare = async (id: readonly string[], key: string, client: Client): Promise<Answer> => {
    const body = { operations: [{ declare_table: { id, ...VEND } }] };
    return client.post('/v1/table/batch-commit', body, { 'idempotency-key': key });
  };
  const optionsIn = (answer: Answer): Record<string, string> => {
    assert.equal(answer.status, 200, answer.text);
    return answer.json.results[0].declare_table.storage_options;
  };

  test('gives a writer credentials again when the request is repeated', async () => {
    const id = [server.name('declared')];
    const writer = await server.caller('writer');
    assert.notDeepEqual(optionsIn(await declare(id, 'again', writer)), {});
    assert.notDeepEqual(optionsIn(await declare(id, 'again', writer)), {});
  });

  test('gives none on a repetition by a caller who may no longer read the table', async () => {
    const team = server.name('team');
    await server.namespace([team]);
    const [lost, kept] = [[team], [server.name('other')]].map((path) => ({
      role: 'writer',
      database: 'default',
      path,
    }));
    const created = await server.admin.post('/v1/access/key/create', { name: team, grants: [lost, kept] });
    const { principal, key } = created.json;
    const writer = server.client({ key });
    assert.notDeepEqual(optionsIn(await declare([team, 't'], team, writer)), {});
    assert.equal((await server.admin.post('/v1/access/grant/delete', { principal, ...lost })).status, 200);
    const count = emulator.tokens.sessions.length;
    assert.deepEqual(optionsIn(await declare([team, 't'], team, writer)), {});
    assert.equal(emulator.tokens.sessions.length, count);
  });

  test('gives none on a repetition for another table that has the name by now', async () => {
    const id = server.name('declared');
    const writer = await server.caller('writer');
    assert.notDeepEqual(optionsIn(await declare([id], id, writer)), {});
    assert.equal((await post(id, 'drop', {})).status, 200);
    await server.table({ id });
    assert.deepEqual(optionsIn(await declare([id], id, writer)), {});
  });
});

test('a server that vends no credentials answers with empty storage options', { skip }, async (t) => {
  const off = await ContractServer.start({ flags: toFlags(emulator, 'off') });
  t.after(async () => off.close());
  const count = emulator.tokens.sessions.length;
  const table = await off.table();
  assert.deepEqual(await optionsOf(await post(table.id, 'describe', VEND, off.admin)), {});
  assert.deepEqual(await optionsOf(await post(off.name('declared'), 'declare', VEND, off.admin)), {});
  assert.equal(emulator.tokens.sessions.length, count);
});

test('a table in a folder needs no credentials', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-vending-'));
  const local = await ContractServer.start({ folder, flags: ['--storage-vending=sts'] });
  t.after(async () => {
    await local.close();
    await rm(folder, { recursive: true, force: true });
  });
  assert.deepEqual(await optionsOf(await post('declared', 'declare', VEND, local.admin)), {});
});

test('every vending is in the log, and no secret is', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-vending-'));
  const logging = await startServerProcess(folder, [...toFlags(emulator), '--log-level=debug']);
  t.after(async () => {
    await logging.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const client = new Client(logging.url);
  assert.equal((await client.arrow('/v1/table/logged/create', sampleStream())).status, 200);
  await optionsOf(await post('logged', 'describe', VEND, client));
  await optionsOf(await post('fresh', 'declare', VEND, client));
  emulator.tokens.role = 'arn:aws:iam::1:role/other';
  t.after(() => (emulator.tokens.role = undefined));
  assert.equal((await post('logged', 'describe', VEND, client)).status, 500);
  const failures = () => logging.log.filter(({ event, status }) => event === 'request-finished' && status === 500);
  await eventually(async () => failures().length > 0);
  assert.match(JSON.stringify(failures()), /is not authorized to assume/);
  const vendings = logging.log.filter(({ event }) => event === 'credentials-vended');
  assert.deepEqual(
    vendings.map(({ table, permission }) => [table, permission]),
    [
      ['logged', 'read'],
      ['fresh', 'create'],
    ],
  );
  for (const { caller, database, requestId, expiresAt } of vendings) {
    assert.match(String(caller), /^key:/);
    assert.equal(database, 'default');
    assert.ok(logging.log.some((line) => line.event === 'request-finished' && line['requestId'] === requestId));
    assert.ok(Date.parse(String(expiresAt)) > Date.now());
  }
  const lines = JSON.stringify(logging.log);
  for (const { secretAccessKey, sessionToken } of emulator.tokens.sessions) {
    assert.ok(!lines.includes(secretAccessKey) && !lines.includes(sessionToken), 'a secret is in the log');
  }
  assert.ok(!lines.includes(String(emulator.storageOptions['aws_secret_access_key'])));
});
