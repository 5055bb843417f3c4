import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connect } from '@lancedb/lancedb';
import type { Connection, Table } from '@lancedb/lancedb';
import { Field, FixedSizeList, Float32, Int32, Schema, Utf8 } from 'apache-arrow';
import { ContractServer, plainRows } from '../contract/contract-server.ts';
import type { PlainRow } from '../contract/contract-server.ts';
import { count } from '../contract/contract-tables.ts';
import { ADMIN_KEY } from '../support/server.ts';

/** The unmodified client over the service, beside the same client over a folder: both must come to the same. */
let server: ContractServer;
let remote: Connection;
let local: Connection;
let folder: string;
before(async () => {
  server = await ContractServer.start();
  remote = await connect('db://default', { apiKey: ADMIN_KEY, hostOverride: server.url });
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-beside-'));
  local = await connect(folder);
});
after(async () => {
  remote.close();
  local.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

function schema(): Schema {
  return new Schema([
    new Field('id', new Int32(), true),
    new Field('name', new Utf8(), true),
    new Field('vector', new FixedSizeList(2, new Field('item', new Float32(), true)), true),
  ]);
}

function people(ids: readonly number[], name = 'name'): Record<string, unknown>[] {
  return ids.map((id) => ({ id, name: `${name} ${id}`, vector: [id, id + 0.5] }));
}

type Work = (table: Table) => Promise<unknown>;

/** Does the work on a table of six rows, at the service and beside it, and finds the same rows and the same replies. */
async function sameAsEmbedded(work: Work): Promise<readonly PlainRow[]> {
  const name = server.name();
  const rows = people([0, 1, 2, 3, 4, 5]);
  const [there, here] = await Promise.all([
    remote.createTable(name, rows, { schema: schema() }),
    local.createTable(name, rows, { schema: schema() }),
  ]);
  const [reply, expectedReply] = [await work(there), await work(here)];
  assert.deepEqual(reply, expectedReply);
  const { json } = await server.admin.post(`/v1/table/${name}/describe`, {});
  const found = await plainRows(await server.embedded(json));
  assert.deepEqual(found, await plainRows(here));
  return found;
}

suite('the LanceDB client does over the service what it does embedded', () => {
  test('add', async () => {
    const rows = await sameAsEmbedded(async (table) => table.add(people([6, 7])));
    assert.equal(rows.length, 8);
  });

  test('add with overwrite', async () => {
    const rows = await sameAsEmbedded(async (table) => table.add(people([8]), { mode: 'overwrite' }));
    assert.equal(rows.length, 1);
  });

  test('add of rows without some of the columns', async () => {
    await sameAsEmbedded(async (table) => table.add([{ id: 9, name: 'nine' }]));
  });

  test('add of many rows', async () => {
    const rows = await sameAsEmbedded(async (table) => table.add(people(count(20_000).map((id) => id + 10))));
    assert.equal(rows.length, 20_006);
  });

  test('an upsert', async () => {
    await sameAsEmbedded(async (table) =>
      table
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute(people([4, 5, 6], 'new')),
    );
  });

  test('a merge that inserts only', async () => {
    await sameAsEmbedded(async (table) =>
      table
        .mergeInsert('id')
        .whenNotMatchedInsertAll()
        .execute(people([5, 6], 'new')),
    );
  });

  test('a merge that updates where a condition holds', async () => {
    await sameAsEmbedded(async (table) =>
      table
        .mergeInsert('id')
        .whenMatchedUpdateAll({ where: "target.name = 'name 4'" })
        .execute(people([4, 5], 'new')),
    );
  });

  test('a merge that deletes what is not in the source, all of it or where a condition holds', async () => {
    for (const options of [undefined, { where: 'id > 4' }]) {
      await sameAsEmbedded(async (table) =>
        table
          .mergeInsert('id')
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
          .whenNotMatchedBySourceDelete(options)
          .execute(people([1, 2, 9], 'new')),
      );
    }
  });

  test('a merge with a time-out', async () => {
    await sameAsEmbedded(async (table) =>
      table
        .mergeInsert('id')
        .whenNotMatchedInsertAll()
        .execute(people([7]), { timeoutMs: 60_000 }),
    );
  });

  test('delete', async () => {
    const rows = await sameAsEmbedded(async (table) => table.delete("id < 2 OR name = 'name 5'"));
    assert.equal(rows.length, 3);
  });

  test('delete of nothing', async () => {
    await sameAsEmbedded(async (table) => table.delete('id > 1000'));
  });

  test('update', async () => {
    await sameAsEmbedded(async (table) => table.update({ where: 'id = 3', values: { name: "it's three" } }));
    await sameAsEmbedded(async (table) => table.update({ valuesSql: { id: 'id + 100' } }));
  });

  test('one after the other', async () => {
    await sameAsEmbedded(async (table) => {
      await table.add(people([6]));
      await table.delete('id = 0');
      await table
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute(people([6, 7], 'new'));
      await table.update({ where: 'id = 7', values: { name: 'seven' } });
      await table.add(people([8, 9]));
    });
  });
});

suite('the LanceDB client is told', () => {
  test('that a merge is ambiguous, and nothing has changed', async () => {
    const name = server.name();
    const table = await remote.createTable(name, people([1, 2]), { schema: schema() });
    const merging = table
      .mergeInsert('id')
      .whenMatchedUpdateAll()
      .execute(people([1, 1], 'new'));
    await assert.rejects(merging, /each key once/);
  });

  test('that a column of a delete is not there', async () => {
    const table = await remote.createTable(server.name(), people([1, 2]), { schema: schema() });
    await assert.rejects(table.delete('nothing = 1'), /nothing/);
  });
});

const ADD_MILLION_ROWS = fileURLToPath(new URL('./add-million-rows.js', import.meta.url));

test('the LanceDB client sends more than a million rows in several parts, which arrive as one', async () => {
  const name = server.name();
  // On a machine of two cores the client would send everything in one part.
  const env = { ...process.env, LANCE_CPU_THREADS: '4' };
  const { stdout } = await promisify(execFile)(process.execPath, [ADD_MILLION_ROWS, server.url, name], { env });
  const { json } = await server.admin.post(`/v1/table/${name}/describe`, {});
  assert.equal(json.version, Number(stdout));
  assert.equal(await (await server.embedded(json)).countRows(), 1_100_000);
  // Where parts wait is made with the first of them, and nothing is left in it.
  const waiting = (await readdir(server.folder, { recursive: true })).filter((path) => /uploads\/\d+/.test(path));
  assert.notDeepEqual(waiting, []);
  assert.deepEqual(
    waiting.filter((path) => !/uploads\/\d+$/.test(path)),
    [],
  );
});
