import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import { stageVersion } from '../../support/staged-version.ts';
import type { StagedVersion } from '../../support/staged-version.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

const FLAGS = [
  '--metadata-version-bytes-max=1KiB',
  '--metadata-entries-max=10',
  // A run keeps no earlier version.
  '--maintenance-running-max=0',
  '--maintenance-retention-seconds=0',
  '--maintenance-reader-seconds=0',
  '--maintenance-versions-min=1',
];
const METADATA = { author: 'Zoë "the" \\ 🙂', empty: '', constructor: 'a key', 'line\nbreak': '\u0000' };

type Metadata = Readonly<Record<string, string>>;

for (const catalog of ['SQLite', 'PostgreSQL']) {
  const skip = catalog === 'PostgreSQL' ? withoutPostgres : false;
  suite(`metadata of a version, with the catalog in ${catalog}`, { skip }, () => {
    let server: ContractServer;
    before(async () => {
      const env: Record<string, string> = {};
      if (catalog === 'PostgreSQL') env['TILTYARD_CATALOG_URL'] = await (await startPostgres()).createDatabase();
      server = await ContractServer.start({ flags: FLAGS, env });
    });
    after(async () => server.close());

    async function managed(rows = 6): Promise<MadeTable> {
      const query = { properties: '{"managed_versioning":"true"}' };
      return server.table({ query, stream: sampleStream(rows) });
    }

    async function stage({ location }: MadeTable, id = 0, branch?: string): Promise<StagedVersion> {
      return stageVersion(location, async (table) => table.delete(`id = ${id}`), branch);
    }

    async function commit(
      table: Pick<MadeTable, 'at'>,
      body: object,
      client: Client = server.admin,
      headers: Metadata = {},
    ): Promise<Answer> {
      return client.post(`${table.at}/version/create`, body, headers);
    }

    async function committed(table: MadeTable, metadata: Metadata, id = 0, branch?: string): Promise<Answer['json']> {
      const body = { ...(await stage(table, id, branch)), metadata, ...(branch === undefined ? {} : { branch }) };
      const { status, text, json } = await commit(table, body);
      assert.equal(status, 200, text);
      return json;
    }

    /** Without the figures of the engine. */
    function own({ metadata }: { metadata: Metadata }): Metadata {
      return Object.fromEntries(Object.entries(metadata).filter(([key]) => !key.startsWith('total_')));
    }

    async function list({ at }: Pick<MadeTable, 'at'>, body: object = {}): Promise<readonly Metadata[]> {
      const { status, text, json } = await server.admin.post(`${at}/version/list`, body);
      assert.equal(status, 200, text);
      return json.versions.map(own);
    }

    async function describe({ at }: Pick<MadeTable, 'at'>, body: object = {}): Promise<Metadata> {
      const { status, text, json } = await server.admin.post(`${at}/version/describe`, body);
      assert.equal(status, 200, text);
      return own(json.version);
    }

    /** What is stored for the table, shown or not. */
    async function stored({ id }: MadeTable): Promise<readonly number[]> {
      const database = await server.catalog.databases.find('default');
      const table = database && (await server.catalog.tables.find(database.id, [id]));
      assert.ok(table);
      return server.catalog.versionMetadata.listVersions(table.id);
    }

    test('is returned by create, list and describe exactly as given, next to the figures of the engine', async () => {
      const table = await managed();
      const { version } = await committed(table, METADATA);
      assert.deepEqual(version.metadata, METADATA);
      await committed(table, {}, 1);
      await committed(table, { author: 'Ann' }, 2);
      assert.deepEqual(await list(table), [{}, METADATA, {}, { author: 'Ann' }]);
      assert.deepEqual(await list(table, { descending: true, limit: 3 }), [{ author: 'Ann' }, {}, METADATA]);
      assert.deepEqual(await describe(table, { version: 2 }), METADATA);
      assert.deepEqual(await describe(table), { author: 'Ann' });
      const slash = await server.admin.send('POST', `${table.at}/version/list/`, {});
      assert.deepEqual(slash.json.versions.map(own), [{}, METADATA, {}, { author: 'Ann' }]);
      assert.ok(Object.keys(slash.json.versions[1].metadata).some((key) => key.startsWith('total_')));
    });

    test('is stored by a batch with each version, or not at all', async () => {
      const tables = [await managed(), await managed()];
      const entries: object[] = [];
      for (const [index, table] of tables.entries()) {
        entries.push({ id: [table.id], ...(await stage(table)), metadata: { index: `${index}` } });
      }
      const taken = await managed();
      const late = { id: [taken.id], ...(await stage(taken)), metadata: { index: 'late' } };
      await updated(server.admin, taken, { updates: [['price', '7']] });
      const failing = await server.admin.post('/v1/table/version/batch-create', { entries: [...entries, late] });
      assertRefused(failing, { status: 409, code: CODE.concurrentModification });
      for (const table of [...tables, taken]) assert.deepEqual(await stored(table), []);

      const done = await server.admin.post('/v1/table/version/batch-create', { entries });
      assert.equal(done.status, 200, done.text);
      assert.deepEqual(done.json.versions.map(own), [{ index: '0' }, { index: '1' }]);
      for (const [index, table] of tables.entries()) assert.deepEqual(await describe(table), { index: `${index}` });

      const [first, other] = tables;
      assert.ok(first && other);
      const create = { id: [first.id], ...(await stage(first, 1)), metadata: METADATA };
      const ranges = [{ start_version: 2, end_version: 3 }];
      await updated(server.admin, other, { updates: [['price', '7']] });
      const operations = [{ create_table_version: create }, { delete_table_versions: { id: [other.id], ranges } }];
      const mixed = await server.admin.post('/v1/table/batch-commit', { operations });
      assert.equal(mixed.status, 200, mixed.text);
      assert.deepEqual(mixed.json.results[0].create_table_version.version.metadata, METADATA);
      assert.deepEqual(await describe(first), METADATA);
      assert.deepEqual([await list(other), await stored(other)], [[{}, {}], []]);
    });

    test('is the same when a request with an Idempotency-Key is repeated', async () => {
      const table = await managed();
      const body = { ...(await stage(table)), metadata: METADATA };
      const headers = { 'idempotency-key': server.name('key') };
      for (const replayed of [null, 'true']) {
        const { status, text, json, headers: sent } = await commit(table, body, server.admin, headers);
        assert.equal(status, 200, text);
        assert.equal(sent.get('idempotency-replayed'), replayed);
        assert.deepEqual([json.version.version, json.version.metadata], [2, METADATA]);
      }
      const other = { ...body, metadata: { author: 'Ann' } };
      assertRefused(await commit(table, other, server.admin, headers), badRequest(/Idempotency-Key/));
      assert.deepEqual(await describe(table), METADATA);
    });

    test('is refused when it is not as described or too large, and then nothing is committed', async () => {
      const table = await managed();
      const staged = await stage(table);
      const many = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`key${index}`, '']));
      for (const [metadata, reason] of [
        ['author', /metadata/],
        [['author'], /metadata/],
        [{ author: 1 }, /metadata/],
        [{ author: null }, /metadata/],
        [many, /metadata has 11 entries; at most 10 are allowed/],
        [{ author: 'é'.repeat(510) }, /metadata is longer than 1 KiB/],
        [{ ['k'.repeat(1025)]: '' }, /metadata/],
      ] as const) {
        assertRefused(await commit(table, { ...staged, metadata }), badRequest(reason));
      }
      assert.deepEqual([await list(table), await stored(table)], [[{}], []]);
      assert.equal((await commit(table, { ...staged, metadata: { author: 'é'.repeat(509) } })).status, 200);
    });

    test('needs what a commit needs, and is read by readers of the table only', async () => {
      const table = await managed();
      const body = { ...(await stage(table)), metadata: METADATA };
      assertRefused(await commit(table, body, server.stranger()), unauthenticated);
      assertRefused(await commit(table, body, await server.caller('reader')), forbidden);
      assertRefused(await commit({ at: '/v1/table/nowhere' }, body), tableNotFound);
      const plain = await server.table();
      assertRefused(await commit(plain, body), { status: 409, code: CODE.tableState });
      assert.deepEqual(await stored(table), []);
      const other = { ...(await stage(table, 1)), metadata: { author: 'Ann' } };
      assert.equal((await commit(table, body, await server.caller('writer'))).status, 200);
      assertRefused(await commit(table, other), { status: 409, code: CODE.concurrentModification });
      assert.deepEqual(await describe(table), METADATA);
      for (const operation of ['list', 'describe']) {
        const at = `${table.at}/version/${operation}`;
        assertRefused(await server.stranger().post(at, {}), unauthenticated);
        assertRefused(await (await server.caller('reader', ['elsewhere'])).post(at, {}), tableNotFound);
        assert.ok((await (await server.caller('reader')).post(at, {})).text.includes('Zoë'));
      }
    });

    test('stays with its version when the table is renamed, restored or no longer managed', async () => {
      const table = await managed();
      await committed(table, METADATA);
      assert.equal((await server.admin.post(`${table.at}/managed_versioning`, { enabled: false })).status, 200);
      assert.equal((await server.admin.post(`${table.at}/restore`, { version: 1 })).status, 200);
      const id = server.name();
      assert.equal((await server.admin.post(`${table.at}/rename`, { new_table_name: id })).status, 200);
      assert.deepEqual(await list({ at: `/v1/table/${id}` }), [{}, METADATA, {}]);
    });

    test('is removed with its version, and with the table', async () => {
      const table = await managed();
      for (const id of [0, 1, 2, 3]) await committed(table, { id: `${id}` }, id);
      const ranges = [{ start_version: 2, end_version: 3 }];
      assert.equal((await server.admin.post(`${table.at}/version/delete`, { ranges })).status, 200);
      assert.deepEqual(await list(table), [{}, { id: '1' }, { id: '2' }, { id: '3' }]);
      assert.deepEqual((await stored(table)).toSorted(), [3, 4, 5]);
      const run = await server.admin.post(`${table.at}/maintenance/run`, {});
      assert.ok(run.json.result.versions_removed > 0, run.text);
      const [shown, kept] = [await list(table), await stored(table)];
      assert.deepEqual(kept.includes(3), false);
      assert.equal(shown.filter((metadata) => Object.keys(metadata).length > 0).length, kept.length);

      await committed(table, METADATA, 4);
      const found = await server.catalog.databases.find('default');
      const record = found && (await server.catalog.tables.find(found.id, [table.id]));
      assert.ok(record);
      assert.equal((await server.admin.post(`${table.at}/drop`, {})).status, 200);
      assert.deepEqual(await server.catalog.versionMetadata.listVersions(record.id), []);
    });

    test('of a branch is apart from that of main, and ends with the branch', async () => {
      const table = await managed();
      await committed(table, { on: 'main' });
      const branch = 'trial';
      const create = async (): Promise<Answer> =>
        server.admin.post(`${table.at}/branches/create`, { name: branch, from_version: 1 });
      assert.equal((await create()).status, 200);
      await committed(table, { on: branch }, 3, branch);
      assert.deepEqual(await list(table, { branch }), [{}, { on: branch }]);
      assert.deepEqual(await describe(table, { branch, version: 2 }), { on: branch });
      assert.deepEqual(await list(table, { branch: 'main' }), [{}, { on: 'main' }]);
      assert.equal((await server.admin.post(`${table.at}/branches/delete`, { name: branch })).status, 200);
      assert.equal((await create()).status, 200);
      await updated(server.admin, table, { updates: [['price', '7']], branch });
      assert.deepEqual(await list(table, { branch }), [{}, {}]);
      assert.deepEqual(await list(table), [{}, { on: 'main' }]);
    });

    test('is not shown for another version that has the same number by now', async () => {
      const table = await managed();
      const branch = 'again';
      const create = async (): Promise<Answer> =>
        server.admin.post(`${table.at}/branches/create`, { name: branch, from_version: 1 });
      assert.equal((await create()).status, 200);
      await committed(table, { on: branch }, 3, branch);
      // As another program does it, past the server.
      await (await (await server.embedded(table)).branches()).delete(branch);
      assert.equal((await create()).status, 200);
      await updated(server.admin, table, { updates: [['price', '7']], branch });
      assert.deepEqual(await list(table, { branch }), [{}, {}]);
    });
  });
}
