import assert from 'node:assert/strict';
import { cp, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { connect } from '@lancedb/lancedb';
import Database from 'libsql';
import type { OnWriteStep, WriteStep } from '../../../src/writes/writes.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { DiskGate } from '../../support/disk-gate.ts';
import { eventually } from '../../support/eventually.ts';
import { toSchemaSix } from '../../support/former-catalog.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { ContractServer } from '../../contract/contract-server.ts';
import type { MadeTable } from '../../contract/contract-server.ts';

const gate = new DiskGate();
const steps: { on: OnWriteStep } = { on: () => {} };
let server: ContractServer;
before(async () => {
  const outside = { disk: gate, onWriteStep: async (step: WriteStep) => steps.on(step) };
  server = await ContractServer.start({ outside, flags: ['--maintenance-running-max=0'] });
});
after(async () => server.close());

const INCREMENT = { updates: [['id', 'id + 10']], predicate: 'id % 10 = 1' };

async function send(to: ContractServer, table: MadeTable, headers: Record<string, string> = {}): Promise<Answer> {
  return to.admin.post(`${table.at}/update`, INCREMENT, headers);
}

async function ids(of: ContractServer, table: MadeTable): Promise<readonly number[]> {
  return (await of.embeddedByName(table.id)).map(({ id }) => Number(id));
}

async function newestManifest(folder: string): Promise<string> {
  const names = (await readdir(join(folder, '_versions'))).filter((name) => name.endsWith('.manifest'));
  return join(folder, '_versions', names.toSorted()[0] ?? assert.fail());
}

/** What is on disk in this moment is what a kill in this moment leaves; the copy is what the next process finds. */
async function takeKilled(t: TestContext): Promise<string> {
  const folder = await makeFolder(t);
  await cp(server.folder, folder, { recursive: true });
  return folder;
}

async function serve(t: TestContext, folder: string): Promise<ContractServer> {
  const next = await ContractServer.start({ folder, flags: ['--maintenance-running-max=0'] });
  t.after(async () => next.close());
  return next;
}

/** The engine has committed the update as version 2, and nothing of that is recorded. */
async function killAfterCommit(t: TestContext, headers: Record<string, string> = {}) {
  const table = await server.table({ stream: sampleStream(3) });
  gate.close();
  const answered = send(server, table, headers);
  const version = async () => Number((await server.admin.post(`${table.at}/describe`, {})).json.version);
  while ((await version()) === 1) await new Promise(setImmediate);
  const folder = await takeKilled(t);
  gate.open();
  assert.equal((await answered).status, 200);
  return { table, folder, data: join(folder, basename(table.location)) };
}

/** Merges fragments and makes an index, as upkeep does beside a write: three versions. */
async function keepUp(folder: string, table: MadeTable): Promise<void> {
  const database = await connect(folder);
  const opened = await database.openTable(basename(table.location, '.lance'));
  await opened.createIndex('id');
  await opened.optimize();
  database.close();
}

suite('a kill after the commit and before its record', () => {
  for (const [title, headers] of [
    ['without a key', {}],
    ['with a key', { 'idempotency-key': 'k' }],
  ] as const) {
    test(`the same request ${title} gets the reply and is not executed again`, async (t) => {
      const { table, folder } = await killAfterCommit(t, headers);
      const next = await serve(t, folder);
      const again = await send(next, table, headers);
      assert.equal(again.status, 200, again.text);
      assert.equal(again.json.version, 2);
      assert.equal(again.headers.get('idempotency-replayed'), 'true');
      assert.equal(typeof again.json.transaction_id, 'string');
      assert.deepEqual(await ids(next, table), [0, 2, 11]);
    });
  }

  test('is found out although upkeep has made versions since', async (t) => {
    const { table, folder } = await killAfterCommit(t);
    await keepUp(folder, table);
    const next = await serve(t, folder);
    const again = await send(next, table);
    assert.equal(again.json.version, 2, again.text);
    assert.deepEqual(await ids(next, table), [0, 2, 11]);
  });

  test('another request is executed', async (t) => {
    const { table, folder } = await killAfterCommit(t);
    const next = await serve(t, folder);
    assert.equal((await send(next, table, { 'idempotency-key': 'new' })).json.version, 3);
    assert.deepEqual(await ids(next, table), [0, 2, 21]);
  });
});

suite('a kill before the commit', () => {
  test('the same request is executed', async (t) => {
    const { table, folder, data } = await killAfterCommit(t);
    await rm(await newestManifest(data));
    const next = await serve(t, folder);
    const again = await send(next, table);
    assert.equal(again.json.version, 2, again.text);
    assert.equal(again.headers.get('idempotency-replayed'), null);
    assert.deepEqual(await ids(next, table), [0, 2, 11]);
  });

  test('the same request is executed although maintenance has made versions since', async (t) => {
    const { table, folder, data } = await killAfterCommit(t);
    await rm(await newestManifest(data));
    await keepUp(folder, table);
    const next = await serve(t, folder);
    const again = await send(next, table);
    assert.equal(again.headers.get('idempotency-replayed'), null);
    assert.deepEqual(await ids(next, table), [0, 2, 11]);
  });
});

suite('a start at which the data cannot be read', () => {
  const OTHER = { updates: [['id', 'id + 100']], predicate: 'id = 2' };

  /** The start after the kill finds the folder of the table away; then it is back, and somebody else writes. */
  async function writeAfterBlindStart(folder: string, data: string, table: MadeTable): Promise<void> {
    await rename(data, `${data}.away`);
    const blind = await ContractServer.start({ folder, flags: ['--maintenance-running-max=0'] });
    try {
      assert.equal((await send(blind, table)).status, 503);
      await rename(`${data}.away`, data);
      assert.equal((await blind.admin.post(`${table.at}/update`, OTHER)).status, 200);
    } finally {
      await blind.close();
    }
  }

  test('what was written after it is not taken for a write that a kill prevented', async (t) => {
    const { table, folder, data } = await killAfterCommit(t);
    await rm(await newestManifest(data));
    await writeAfterBlindStart(folder, data, table);
    const next = await serve(t, folder);
    const again = await send(next, table);
    assert.equal(again.headers.get('idempotency-replayed'), null, again.text);
    assert.deepEqual(await ids(next, table), [0, 11, 102]);
  });

  test('a write that a kill did not prevent is found at the next', async (t) => {
    const { table, folder, data } = await killAfterCommit(t);
    await writeAfterBlindStart(folder, data, table);
    const next = await serve(t, folder);
    const again = await send(next, table);
    assert.equal(again.json.version, 2, again.text);
    assert.deepEqual(await ids(next, table), [0, 11, 102]);
  });
});

suite('a kill after the record', () => {
  /** The service is killed when this step of its response starts. */
  async function killAt(t: TestContext, step: WriteStep) {
    const table = await server.table({ stream: sampleStream(3) });
    let folder: string | undefined;
    steps.on = async (started) => {
      if (started === step) folder ??= await takeKilled(t);
    };
    assert.equal((await send(server, table)).status, 200);
    steps.on = () => {};
    return { table, folder: folder ?? assert.fail() };
  }

  test('the same request is executed again when its response was marked', async (t) => {
    const { table, folder } = await killAt(t, 'send');
    const next = await serve(t, folder);
    assert.equal((await send(next, table)).json.version, 3);
    assert.deepEqual(await ids(next, table), [0, 2, 21]);
  });

  test('the same request is replayed when its response was not marked, and executed the next time', async (t) => {
    const { table, folder } = await killAt(t, 'mark');
    const next = await serve(t, folder);
    const again = await send(next, table);
    assert.equal(again.json.version, 2);
    assert.equal(again.json.updated_rows, 1);
    assert.deepEqual(await ids(next, table), [0, 2, 11]);
    assert.equal((await send(next, table)).json.version, 3);
    assert.deepEqual(await ids(next, table), [0, 2, 21]);
  });

  test('the same request is executed when the marks are gone: it may have been answered', async (t) => {
    const { table, folder } = await killAt(t, 'mark');
    await rm(join(folder, 'tiltyard.db-marks'));
    const next = await serve(t, folder);
    const again = await send(next, table);
    assert.equal(again.json.version, 3, again.text);
    assert.equal(again.headers.get('idempotency-replayed'), null);
  });
});

suite('a kill of the release before', () => {
  /** The journal as its schema had it. */
  function toFormerRelease(folder: string): void {
    const catalog = new Database(join(folder, 'tiltyard.db'));
    toSchemaSix(catalog);
    catalog.exec("update journal set state = 'begun' where state = 'pending'");
    catalog.close();
  }

  test('a request with a key that it had committed is replayed and not executed again', async (t) => {
    const headers = { 'idempotency-key': 'former' };
    const { table, folder } = await killAfterCommit(t, headers);
    toFormerRelease(folder);
    const next = await serve(t, folder);
    const again = await send(next, table, headers);
    assert.equal(again.status, 200, again.text);
    assert.equal(again.json.version, 2);
    assert.deepEqual(await ids(next, table), [0, 2, 11]);
  });
});

suite('a catalog that cannot be written while a commit is recorded', () => {
  for (const [title, headers] of [
    ['without a key', {}],
    ['with a key', { 'idempotency-key': 'locked' }],
  ] as const) {
    test(`the write is in doubt, and the same request ${title} is answered once it is resolved`, async (t) => {
      const folder = await makeFolder(t);
      let holder: Database.Database | undefined;
      const onWriteStep = (step: WriteStep): void => {
        if (step !== 'record' || holder !== undefined) return;
        holder = new Database(join(folder, 'tiltyard.db'));
        holder.exec('begin immediate');
      };
      const flags = ['--maintenance-running-max=0'];
      const locked = await ContractServer.start({ folder, outside: { onWriteStep }, flags });
      t.after(async () => locked.close());
      const table = await locked.table({ stream: sampleStream(3) });
      const doubtful = await send(locked, table, headers);
      assert.equal(doubtful.status, 503, doubtful.text);
      assert.match(doubtful.json.detail, /^It is not known whether the write was applied\./);
      const meanwhile = await send(locked, table, headers);
      assert.equal(meanwhile.status, 503, meanwhile.text);
      assert.match(meanwhile.json.detail, /not known yet whether the same request was applied/);
      holder?.close();
      let again = meanwhile;
      await eventually(async () => (again = await send(locked, table, headers)).status === 200);
      assert.equal(again.headers.get('idempotency-replayed'), 'true');
      assert.deepEqual([again.json.version, again.json.updated_rows], [2, 1]);
      assert.equal(typeof again.json.transaction_id, 'string');
      assert.deepEqual(await ids(locked, table), [0, 2, 11]);
    });
  }
});
