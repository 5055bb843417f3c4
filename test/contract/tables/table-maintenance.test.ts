import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { CODE, assertRefused, badRequest } from '../refusal.ts';

/** Nothing happens by itself, and a run keeps nothing of the past but what it must. */
const BY_HAND = [
  '--maintenance-running-max=0',
  '--maintenance-retention-seconds=0',
  '--maintenance-reader-seconds=0',
  '--maintenance-versions-min=1',
];
const EAGER = [
  '--maintenance-small-fragments-max=8',
  '--maintenance-check-commits=8',
  '--maintenance-quiet-seconds=0.1',
  '--maintenance-duty-percent=100',
];
const OPERATIONS = ['describe', 'run', 'pause', 'resume'] as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: BY_HAND });
});
after(async () => server.close());

async function ask(table: Pick<MadeTable, 'at'>, operation: string, client: Client = server.admin): Promise<Answer> {
  return client.post(`${table.at}/maintenance/${operation}`, {});
}

async function done(table: MadeTable, operation: string, client: Client = server.admin): Promise<Answer['json']> {
  const { status, text, json } = await ask(table, operation, client);
  assert.equal(status, 200, text);
  return json;
}

async function updateEach(client: Client, table: MadeTable, rows: number, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await updated(client, table, { updates: [['price', 'price + 1']], predicate: `id = ${turn % rows}` });
  }
}

function measure({ location }: MadeTable): number {
  return Number(execFileSync('du', ['-sb', location], { encoding: 'utf8' }).split('\t', 1)[0]);
}

suite('a run by hand', () => {
  test('merges fragments and removes old versions without changing rows, as description and job show', async () => {
    const table = await server.table({ stream: sampleStream(20) });
    assert.deepEqual((await done(table, 'describe')).would_do, { reasons: [], removes_versions: false });
    await updateEach(server.admin, table, 5, 10);
    const rows = await server.rows(table);
    const worn = await done(table, 'describe');
    assert.deepEqual(worn.would_do, { reasons: ['fragments'], removes_versions: true });
    assert.equal(worn.num_small_fragments > 2, true);

    const { job_id, job_state, result } = await done(table, 'run');
    assert.equal(job_state, 'DONE');
    assert.equal(result.fragments_removed, worn.num_fragments);
    assert.equal(result.fragments_added, 1);
    assert.equal(result.versions_removed >= 10, true);
    assert.deepEqual(await server.rows(table), rows);

    const orderly = await done(table, 'describe');
    assert.deepEqual([orderly.num_fragments, orderly.num_rows], [1, 20]);
    assert.deepEqual([orderly.last_run, orderly.version], [result, result.version]);
    const job = (await server.admin.post('/v1/jobs/describe', { job_id })).json;
    assert.deepEqual([job.job_type, job.job_state, job.result], ['maintenance', 'DONE', result]);
    const { transactions } = (await server.admin.get('/v1/transaction/list')).json;
    assert.ok(transactions.some((each: { operation: string }) => each.operation === 'maintain_table'));
  });

  test('of a table in order changes nothing', async () => {
    const table = await server.table();
    const { result } = await done(table, 'run');
    assert.deepEqual([result.version, result.reasons, result.fragments_removed], [table.version, [], 0]);
  });

  test('gives the space of deleted rows back', async () => {
    const table = await server.table({ stream: sampleStream(1000) });
    assert.equal((await server.admin.post(`${table.at}/delete`, { predicate: 'id < 400' })).status, 200);
    const worn = await done(table, 'describe');
    assert.deepEqual([worn.num_deleted_rows, worn.would_do.reasons], [400, ['deletions']]);
    await done(table, 'run');
    const orderly = await done(table, 'describe');
    assert.deepEqual([orderly.num_deleted_rows, orderly.num_rows], [0, 600]);
  });

  test('brings indexes up to date', async () => {
    const table = await server.table({ stream: sampleStream(500) });
    const index = { column: 'id', index_type: 'BTREE' };
    assert.equal((await server.admin.post(`${table.at}/create_scalar_index`, index)).status, 200);
    assert.equal((await server.admin.arrow(`${table.at}/insert`, sampleStream(400))).status, 200);
    assert.deepEqual((await done(table, 'describe')).would_do.reasons, ['fragments', 'index']);
    await done(table, 'run');
    const { json } = await server.admin.post(`${table.at}/index/id_idx/stats`, {});
    assert.deepEqual([json.num_indexed_rows, json.num_unindexed_rows], [900, 0]);
  });

  test('keeps the versions of tags, those after them, and branches', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    await updateEach(server.admin, table, 4, 4);
    // A tag keeps what was committed within the second before it, too.
    await sleep(1500);
    assert.equal((await server.admin.post(`${table.at}/branches/create`, { name: 'side' })).status, 200);
    await updated(server.admin, table, { updates: [['price', '7']], branch: 'side' });
    await updateEach(server.admin, table, 4, 4);
    assert.equal((await server.admin.post(`${table.at}/tags/create`, { tag: 'kept', version: 7 })).status, 200);
    await updateEach(server.admin, table, 4, 4);
    // What must not go is given seconds when the removal has to wait for a merge, and one when it has not.
    for (let turn = 0; turn < 2; turn += 1) await done(table, 'run');
    const { versions } = (await server.admin.post(`${table.at}/version/list`, {})).json;
    const numbers = versions.map((each: { version: number }) => each.version);
    // The branch started at 5.
    assert.equal(Math.min(...numbers), 5);
    assert.ok(numbers.includes(7));
    const count = async (state: object) => (await server.admin.post(`${table.at}/count_rows`, state)).json;
    assert.equal(await count({ version: 7 }), 4);
    assert.equal(await count({ branch: 'side', predicate: 'price = 7' }), 4);
  });

  test('fails no write that runs at the same time', async () => {
    const table = await server.table({ stream: sampleStream(10) });
    await updateEach(server.admin, table, 10, 10);
    const before = await server.rows(table);
    const writers = Array.from({ length: 4 }, async (_, id) => {
      for (let turn = 0; turn < 8; turn += 1) {
        await updated(server.admin, table, { updates: [['price', 'price + 1']], predicate: `id = ${id}` });
      }
    });
    for (let turn = 0; turn < 4; turn += 1) await done(table, 'run');
    await Promise.all(writers);
    const rows = await server.rows(table);
    const grown = rows.map(({ price }, index) => price - before[index]?.['price']);
    assert.deepEqual(grown, [8, 8, 8, 8, 0, 0, 0, 0, 0, 0]);
  });

  test('is asked for by the LanceDB client family in the same words', async () => {
    const table = await server.table();
    const client = server.client({ headers: { 'user-agent': 'LanceDB-Node-Client/0.31.0' } });
    for (const operation of OPERATIONS) {
      const { status, text } = await client.post(`${table.at}/maintenance/${operation}/`, {});
      assert.equal(status, 200, text);
    }
  });

  test('leaves a table that was updated 100 times as small as a fresh copy, and within 3 times of its bytes', async () => {
    const table = await server.table({ stream: sampleStream(500, 128) });
    await updateEach(server.admin, table, 30, 100);
    await done(table, 'run');
    const copy = await server.table({ stream: sampleStream(500, 128) });
    const [old, young] = [await done(table, 'describe'), await done(copy, 'describe')];
    assert.equal(old.num_fragments, young.num_fragments);
    const ratio = measure(table) / measure(copy);
    assert.ok(ratio <= 3, `${ratio} times the bytes`);
  });
});

suite('refused is', () => {
  test('an unknown field, and an id that contradicts the address', async () => {
    const table = await server.table();
    for (const operation of OPERATIONS) {
      const at = `${table.at}/maintenance/${operation}`;
      assertRefused(await server.admin.post(at, { nope: 1 }), badRequest(/nope/));
      assertRefused(await server.admin.post(at, { id: ['other'] }), badRequest());
    }
  });

  test('a caller without credential, or without permission: reading is enough to ask, not to change', async () => {
    const table = await server.table();
    const [reader, writer, elsewhere] = [
      await server.caller('reader', [table.id]),
      await server.caller('writer', [table.id]),
      await server.caller('owner', ['elsewhere']),
    ];
    for (const operation of OPERATIONS) {
      assertRefused(await ask(table, operation, server.stranger()), { status: 401, code: CODE.unauthenticated });
      assertRefused(await ask(table, operation, elsewhere), { status: 404, code: CODE.tableNotFound });
      if (operation === 'describe') continue;
      assertRefused(await ask(table, operation, reader), { status: 403, code: CODE.permissionDenied });
      assertRefused(await ask(table, operation, writer), { status: 403, code: CODE.permissionDenied });
    }
    assert.equal((await ask(table, 'describe', reader)).status, 200);
  });

  test('a table that is not there, or has no data yet', async () => {
    const declared = server.name();
    assert.equal((await server.admin.post(`/v1/table/${declared}/declare`, {})).status, 200);
    for (const operation of ['describe', 'run']) {
      const missing = { status: 404, code: CODE.tableNotFound };
      assertRefused(await ask({ at: '/v1/table/nowhere' }, operation), missing);
      assertRefused(await ask({ at: `/v1/table/${declared}` }, operation), missing);
    }
    for (const operation of ['pause', 'resume']) {
      assertRefused(await ask({ at: '/v1/table/nowhere' }, operation), { status: 404, code: CODE.tableNotFound });
    }
  });
});

suite('by itself', () => {
  test('the service merges tables that are written, and leaves those alone that are paused', async () => {
    const eager = await ContractServer.start({ flags: EAGER });
    try {
      const [paused, used] = [await eager.table({ stream: sampleStream(20) }), await eager.table()];
      assert.equal((await done(paused, 'pause', eager.admin)).state, 'paused');
      await updateEach(eager.admin, paused, 20, 20);
      await updateEach(eager.admin, used, 10, 20);
      const isMerged = async () => (await done(used, 'describe', eager.admin)).last_run?.fragments_removed > 0;
      while (!(await isMerged())) await sleep(20);
      const alone = await done(paused, 'describe', eager.admin);
      assert.deepEqual([alone.state, alone.num_fragments, alone.last_run], ['paused', 20, undefined]);
      assert.equal((await done(used, 'describe', eager.admin)).state, 'automatic');
      assert.equal((await eager.rows(used)).length, 10);
    } finally {
      await eager.close();
    }
  });

  test('tables that were written before a restart are found, and a pause outlives it', async (t) => {
    const folder = await makeFolder(t);
    const first = await ContractServer.start({ folder, flags: ['--maintenance-running-max=0'] });
    const [paused, used] = [await first.table({ stream: sampleStream(20) }), await first.table()];
    for (const table of [paused, used]) await updateEach(first.admin, table, 10, 10);
    assert.equal((await done(used, 'describe', first.admin)).state, 'off');
    await done(paused, 'pause', first.admin);
    await first.close();
    const second = await ContractServer.start({ folder, flags: EAGER });
    while ((await done(used, 'describe', second.admin)).num_fragments > 1) await sleep(20);
    assert.equal((await done(paused, 'describe', second.admin)).num_fragments > 8, true);
    assert.equal((await done(paused, 'resume', second.admin)).state, 'automatic');
    await second.close();
    const third = await ContractServer.start({ folder, flags: EAGER });
    while ((await done(paused, 'describe', third.admin)).num_fragments > 1) await sleep(20);
    await third.close();
  });

  test('that a table is dropped while it is looked after counts as no failure', async () => {
    const eager = await ContractServer.start({ flags: EAGER });
    try {
      for (let turn = 0; turn < 4; turn += 1) {
        const table = await eager.table({ stream: sampleStream(20) });
        await updateEach(eager.admin, table, 20, 8 + turn);
        assert.equal((await eager.admin.post(`${table.at}/drop`, {})).status, 200);
      }
      const used = await eager.table({ stream: sampleStream(20) });
      await updateEach(eager.admin, used, 20, 10);
      while ((await done(used, 'describe', eager.admin)).last_run === undefined) await sleep(20);
      const { text } = await eager.admin.get('/metrics');
      assert.match(text, /^tiltyard_background_failures_total 0$/m);
    } finally {
      await eager.close();
    }
  });
});
