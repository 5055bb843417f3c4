import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { copyFirstVersion, listStaged, stageVersion } from '../../support/staged-version.ts';
import type { Change, StagedVersion } from '../../support/staged-version.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: ['--engine-batch-tables-max=5'] });
});
after(async () => server.close());

const MANAGED = { query: { properties: '{"managed_versioning":"true"}' } };
const conflict = { status: 409, code: CODE.concurrentModification };
const removeFirst: Change = async (table) => table.delete('id = 0');

interface Staged {
  readonly table: MadeTable;
  readonly entry: StagedVersion & { readonly id: readonly string[] };
}

async function staged(): Promise<Staged> {
  const table = await server.table({ ...MANAGED, stream: sampleStream(4) });
  return { table, entry: { id: [table.id], ...(await stageVersion(table.location, removeFirst)) } };
}

type Options = { client?: Client; headers?: Readonly<Record<string, string>> };

async function create(
  entries: readonly object[],
  { client = server.admin, headers = {} }: Options = {},
): Promise<Answer> {
  return client.post('/v1/table/version/batch-create', { entries }, headers);
}

async function commit(
  operations: readonly object[],
  { client = server.admin, headers = {} }: Options = {},
): Promise<Answer> {
  return client.post('/v1/table/batch-commit', { operations }, headers);
}

async function countRows({ at }: MadeTable): Promise<number> {
  return Number((await server.admin.post(`${at}/count_rows`, {})).text);
}

async function latest({ at }: MadeTable): Promise<number> {
  return (await server.admin.post(`${at}/describe`, {})).json.version;
}

suite('a batch of versions', () => {
  test('is committed to all tables, in the order of the entries', async () => {
    const [one, other] = [await staged(), await staged()];
    const { status, text, json } = await create([other.entry, one.entry]);
    assert.equal(status, 200, text);
    assert.deepEqual(
      json.versions.map(({ version, manifest_size }: { version: number; manifest_size: number }) => [
        version,
        manifest_size,
      ]),
      [
        [2, other.entry.manifest_size],
        [2, one.entry.manifest_size],
      ],
    );
    assert.ok(json.versions[0].manifest_path.startsWith(other.table.location));
    assert.match(json.transaction_id, /./);
    for (const { table } of [one, other]) {
      assert.equal(await countRows(table), 3);
      assert.deepEqual(await listStaged(table.location), []);
      assert.equal((await updated(server.admin, table, { updates: [['price', '1']] })).json.version, 3);
    }
    assert.deepEqual(await server.catalog.journal.pending(), []);
  });

  test('is committed to no table when one of them has the version already', async () => {
    const [one, other] = [await staged(), await staged()];
    await updated(server.admin, other.table, { updates: [['price', '1']] });
    for (const entries of [
      [one.entry, other.entry],
      [other.entry, one.entry],
    ]) {
      assertRefused(await create(entries), { ...conflict, detail: /Version 2 already exists/ });
    }
    assert.deepEqual([await latest(one.table), await countRows(one.table)], [1, 4]);
    assert.equal((await listStaged(one.table.location)).length, 1);
    assert.equal((await create([one.entry])).status, 200);
  });

  test('is applied once with an Idempotency-Key', async () => {
    const [one, other] = [await staged(), await staged()];
    const headers = { 'idempotency-key': server.name('key') };
    const first = await create([one.entry, other.entry], { headers });
    const second = await create([one.entry, other.entry], { headers });
    assert.equal(second.status, 200, second.text);
    assert.equal(second.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual(second.json.versions, first.json.versions);
    assert.equal(await latest(one.table), 2);
    assertRefused(await create([one.entry], { headers }), badRequest(/Idempotency-Key/));
  });

  test('creates the first versions of declared tables together', async () => {
    const source = await staged();
    const declared: MadeTable[] = [];
    for (let index = 0; index < 2; index += 1) {
      const id = server.name();
      const { json } = await server.admin.post(`/v1/table/${id}/declare`, {
        properties: { managed_versioning: 'true' },
      });
      declared.push({ id, at: `/v1/table/${id}`, location: json.location, version: 0 });
    }
    const entries = await Promise.all(
      declared.map(async ({ id, location }) => ({
        id: [id],
        ...(await copyFirstVersion(source.table.location, location)),
      })),
    );
    const answer = await create(entries);
    assert.equal(answer.status, 200, answer.text);
    for (const table of declared) assert.deepEqual([await latest(table), await countRows(table)], [1, 4]);
  });

  test('of two batches that share tables, exactly one wins each version, and none waits for ever', async () => {
    const [one, other] = [await staged(), await staged()];
    const again = await Promise.all(
      [one, other].map(async ({ table }) => ({ id: [table.id], ...(await stageVersion(table.location, removeFirst)) })),
    );
    const answers = await Promise.all([create([one.entry, other.entry]), create(again.toReversed())]);
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
    assert.deepEqual([await latest(one.table), await latest(other.table)], [2, 2]);
  });

  test('is refused as a whole for what any entry is refused for', async () => {
    const [one, other] = [await staged(), await staged()];
    const unmanaged = await server.table();
    assertRefused(await create([]), badRequest(/entries is empty/));
    assertRefused(await create(Array.from({ length: 6 }, () => one.entry)), badRequest(/at most 5/));
    assertRefused(await create([one.entry, one.entry]), badRequest(/in the batch twice/));
    assertRefused(await create([{ ...one.entry, id: undefined }]), badRequest());
    assertRefused(await create([one.entry, { ...other.entry, id: ['nowhere'] }]), tableNotFound);
    assertRefused(await create([one.entry, { ...other.entry, id: [unmanaged.id] }]), {
      status: 409,
      code: CODE.tableState,
    });
    assertRefused(await create([one.entry, { ...other.entry, manifest_path: one.entry.manifest_path }]), badRequest());
    assertRefused(await create([one.entry, other.entry], { headers: { 'if-match': '"1"' } }), badRequest(/If-Match/));
    assert.deepEqual([await latest(one.table), await latest(other.table)], [1, 1]);
  });

  test('needs the right to write to every table, and says no more than a caller may know', async () => {
    const [one, other] = [await staged(), await staged()];
    const entries = [one.entry, other.entry];
    assertRefused(await create(entries, { client: server.stranger() }), unauthenticated);
    assertRefused(await create(entries, { client: await server.caller('reader') }), forbidden);
    assertRefused(await create(entries, { client: await server.caller('writer', [one.table.id]) }), tableNotFound);
    assert.deepEqual([await latest(one.table), await latest(other.table)], [1, 1]);
    const key = await server.key(
      [one, other].map(({ table }) => ({ role: 'writer', database: 'default', path: [table.id] })),
    );
    assert.equal((await create(entries, { client: server.client({ key }) })).status, 200);
  });
});

suite('a batch of operations', () => {
  test('declares, commits and deregisters in one transaction, with a result for each', async () => {
    const [one, gone] = [await staged(), await staged()];
    const id = server.name();
    const { status, text, json } = await commit([
      { declare_table: { id: [id], properties: { managed_versioning: 'true', owner: 'ann' } } },
      { create_table_version: one.entry },
      { deregister_table: { id: [gone.table.id] } },
    ]);
    assert.equal(status, 200, text);
    const [declared, created, deregistered] = json.results;
    assert.equal(declared.declare_table.managed_versioning, true);
    assert.deepEqual(declared.declare_table.properties, { managed_versioning: 'true', owner: 'ann' });
    assert.equal(created.create_table_version.version.version, 2);
    assert.deepEqual(deregistered.deregister_table.id, [gone.table.id]);
    assert.ok(existsSync(deregistered.deregister_table.location));
    assert.equal(json.transaction_id, declared.declare_table.transaction_id);
    assert.equal((await server.admin.post(`/v1/table/${id}/describe`, {})).json.is_only_declared, true);
    assertRefused(await server.admin.post(`${gone.table.at}/describe`, {}), tableNotFound);
    const feed: readonly { operation: string; id: string[] }[] = (await server.admin.get('/v1/transaction/list')).json
      .transactions;
    assert.deepEqual(
      feed.slice(-3).map((each) => `${each.operation} ${each.id.join('$')}`),
      [`create_table_version ${one.table.id}`, `declare_table ${id}`, `deregister_table ${gone.table.id}`],
    );
  });

  test('changes nothing when one of them fails: a name that is taken, a version that exists', async () => {
    const [one, other, gone] = [await staged(), await staged(), await staged()];
    const id = server.name();
    const taken = { status: 409, code: CODE.tableExists };
    const failing = [{ create_table_version: one.entry }, { deregister_table: { id: [gone.table.id] } }];
    assertRefused(await commit([...failing, { declare_table: { id: [other.table.id] } }]), taken);
    await updated(server.admin, other.table, { updates: [['price', '1']] });
    const late = [{ declare_table: { id: [id] } }, ...failing, { create_table_version: other.entry }];
    assertRefused(await commit(late), conflict);
    assertRefused(await server.admin.post(`/v1/table/${id}/describe`, {}), tableNotFound);
    assert.equal(await latest(gone.table), 1);
    assert.equal(await countRows(one.table), 4);
    assert.deepEqual(await server.catalog.journal.pending(), []);
  });

  test('replays what it has done for the same key, also when the table is gone', async () => {
    const gone = await staged();
    const headers = { 'idempotency-key': server.name('key') };
    const first = await commit([{ deregister_table: { id: [gone.table.id] } }], { headers });
    assert.equal(first.status, 200, first.text);
    const second = await commit([{ deregister_table: { id: [gone.table.id] } }], { headers });
    assert.equal(second.headers.get('idempotency-replayed'), 'true', second.text);
    assert.deepEqual(second.json.results, first.json.results);
  });

  test('is refused for what is not one operation of a kind that a batch can take back', async () => {
    const one = await staged();
    const version = { create_table_version: one.entry };
    assertRefused(await commit([]), badRequest(/operations is empty/));
    assertRefused(await commit([{}]), badRequest(/exactly one/));
    assertRefused(await commit([{ ...version, deregister_table: { id: [one.table.id] } }]), badRequest(/exactly one/));
    assertRefused(await commit([{ drop_table: { id: [one.table.id] } }]), badRequest());
    assertRefused(await commit([version, { deregister_table: { id: [one.table.id] } }]), badRequest(/twice/));
    assertRefused(await commit([{ declare_table: { id: ['nowhere', 'x'] } }]), {
      status: 404,
      code: CODE.namespaceNotFound,
    });
    assertRefused(
      await commit([{ declare_table: { id: ['x'], properties: { managed_versioning: 'yes' } } }]),
      badRequest(),
    );
    assertRefused(await commit([{ declare_table: { id: ['x'], location: '/x' } }]), badRequest(/location/));
    assert.equal(await latest(one.table), 1);
  });

  test('declares a table at a location of its caller, or nothing at all', async () => {
    const one = await staged();
    const id = server.name();
    const location = `chosen/${id}.lance`;
    const declare = { declare_table: { id: [id], location } };
    const { status, text, json } = await commit([declare, { create_table_version: one.entry }]);
    assert.equal(status, 200, text);
    assert.ok(json.results[0].declare_table.location.endsWith(`/${location}`));
    assert.deepEqual(json.results[0].declare_table.storage_options, {});
    const taken = { status: 409, code: CODE.tableState };
    const other = server.name();
    const failing = [{ declare_table: { id: [other] } }, { declare_table: { id: [`${other}x`], location } }];
    assertRefused(await commit(failing), taken);
    assertRefused(await server.admin.post(`/v1/table/${other}/describe`, {}), tableNotFound);
  });

  async function withHistory(): Promise<MadeTable> {
    const table = await server.table({ ...MANAGED, stream: sampleStream(4) });
    for (let turn = 0; turn < 3; turn += 1) await updated(server.admin, table, { updates: [['price', `${turn}`]] });
    return table;
  }

  const deletion = ({ id }: MadeTable, start_version: number, end_version: number, fields: object = {}) => ({
    delete_table_versions: { id: [id], ranges: [{ start_version, end_version }], ...fields },
  });

  async function versions({ at }: MadeTable): Promise<readonly number[]> {
    const { json } = await server.admin.post(`${at}/version/list`, {});
    return json.versions.map(({ version }: { version: number }) => version);
  }

  test('deletes versions together with the rest, and records it', async () => {
    const [one, table] = [await staged(), await withHistory()];
    const { status, text, json } = await commit([deletion(table, 1, 3), { create_table_version: one.entry }]);
    assert.equal(status, 200, text);
    assert.equal(json.results[0].delete_table_versions.deleted_count, 2);
    assert.equal(json.results[1].create_table_version.version.version, 2);
    assert.deepEqual(await versions(table), [3, 4]);
    assert.deepEqual(await server.catalog.batches.listRemovals(), []);
    const { transaction_id: id } = json.results[0].delete_table_versions;
    const described = (await server.admin.post(`/v1/transaction/${id}/describe`, {})).json;
    assert.deepEqual(
      [described.properties.operation, described.properties.id],
      ['batch_delete_table_versions', table.id],
    );
    const headers = { 'idempotency-key': server.name('key') };
    const first = await commit([deletion(table, 0, -1)], { headers });
    const second = await commit([deletion(table, 0, -1)], { headers });
    assert.deepEqual([first.json.results[0].delete_table_versions.deleted_count, await versions(table)], [1, [4]]);
    assert.equal(second.headers.get('idempotency-replayed'), 'true', second.text);
    assert.deepEqual(second.json.results, first.json.results);
  });

  test('commits a version of a table and deletes others of it', async () => {
    const table = await withHistory();
    const entry = { id: [table.id], ...(await stageVersion(table.location, removeFirst)) };
    const answer = await commit([{ create_table_version: entry }, deletion(table, 1, 4)]);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([await versions(table), await countRows(table)], [[4, 5], 3]);
    assertRefused(await commit([deletion(table, 1, 5), deletion(table, 1, 5)]), badRequest(/twice/));
    const gone = { deregister_table: { id: [table.id] } };
    assertRefused(await commit([deletion(table, 1, 5), gone]), badRequest(/twice/));
  });

  test('deletes nothing when another part fails, and fails when a version must stay', async () => {
    const [table, other] = [await withHistory(), await staged()];
    await updated(server.admin, other.table, { updates: [['price', '1']] });
    assertRefused(await commit([deletion(table, 1, 3), { create_table_version: other.entry }]), conflict);
    assertRefused(await commit([deletion(table, 1, 3), { declare_table: { id: [other.table.id] } }]), {
      status: 409,
      code: CODE.tableExists,
    });
    await server.admin.post(`${table.at}/tags/create`, { tag: 'kept', version: 2 });
    const kept = { status: 409, code: CODE.tableState, detail: /kept by the tag kept/ };
    const one = await staged();
    assertRefused(await commit([{ create_table_version: one.entry }, deletion(table, 1, 4)]), kept);
    assertRefused(await commit([deletion(table, 1, 5)]), badRequest(/latest/));
    assertRefused(await commit([deletion(table, 3, 2)]), badRequest(/ends before/));
    assertRefused(await commit([deletion(table, 1, 2, { ranges: [] })]), badRequest(/ranges/));
    assert.deepEqual([await versions(table), await latest(one.table)], [[1, 2, 3, 4], 1]);
    const writer = { client: await server.caller('writer') };
    assertRefused(await commit([deletion(table, 1, 2)], writer), forbidden);
    assertRefused(await commit([deletion({ ...table, id: 'nowhere' }, 1, 2)]), tableNotFound);
  });

  test('needs the right to manage what it deregisters', async () => {
    const one = await staged();
    const operations = [{ deregister_table: { id: [one.table.id] } }];
    assertRefused(await commit(operations, { client: server.stranger() }), unauthenticated);
    assertRefused(await commit(operations, { client: await server.caller('writer') }), forbidden);
    assert.equal(await latest(one.table), 1);
    assert.equal((await commit(operations, { client: await server.caller('owner') })).status, 200);
  });
});

test('readers see a batch in all of its tables or in none, whichever they read first', async () => {
  const [one, other] = [await staged(), await staged()];
  const tables = [one.table, other.table] as const;
  let isOver = false;
  const read = async (first: MadeTable, second: MadeTable): Promise<number> => {
    let pairs = 0;
    for (; !isOver; pairs += 1) {
      const before = await countRows(first);
      const then = await countRows(second);
      // A later read never sees an earlier state than a read of the other table has seen.
      assert.ok(then <= before, `${before} rows in one table, then ${then} in the other`);
    }
    return pairs;
  };
  const readers = [read(...tables), read(tables[1], tables[0])];
  const writer = async (): Promise<void> => {
    try {
      assert.equal((await create([one.entry, other.entry])).status, 200);
      for (const id of [1, 2, 3]) {
        const change: Change = async (table) => table.delete(`id = ${id}`);
        const entries: object[] = [];
        for (const { location, id: name } of tables)
          entries.push({ id: [name], ...(await stageVersion(location, change)) });
        assert.equal((await create(entries)).status, 200);
      }
    } finally {
      isOver = true;
    }
  };
  const [, ...pairs] = await Promise.all([writer(), ...readers]);
  assert.ok(pairs.every((count) => count > 0));
  assert.deepEqual([await countRows(one.table), await countRows(other.table)], [0, 0]);
});
