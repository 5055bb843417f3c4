import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../support/client.ts';
import type { SetFault } from '../../support/faults.ts';
import { FaultyServer, MANIFEST } from '../../support/faulty-server.ts';
import { stageVersion } from '../../support/staged-version.ts';
import type { StagedVersion } from '../../support/staged-version.ts';

const METADATA = { author: 'Ann' };

const BEFORE = [
  { id: 1, value: 10 },
  { id: 2, value: 20 },
];

interface Managed {
  readonly name: string;
  readonly location: string;
  readonly staged: StagedVersion;
}

/** A table with two rows, and a staged version that has changed both. */
async function create(server: FaultyServer, name: string): Promise<Managed> {
  const { location } = (await server.create(name, BEFORE)).json as { location: string };
  const managed = await server.client.post(`/v1/table/${name}/managed_versioning`, { enabled: true });
  assert.equal(managed.status, 200, managed.text);
  const staged = await stageVersion(location, async (table) => table.update({ valuesSql: { value: 'value + 1' } }));
  return { name, location, staged };
}

async function commit(server: FaultyServer, { name, staged }: Managed, key?: string): Promise<Answer> {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  return server.client.post(`/v1/table/${name}/version/create`, { ...staged, metadata: METADATA }, headers);
}

/** Of each version, without the figures of the engine. */
async function authors(server: FaultyServer, { name }: Managed): Promise<readonly (string | undefined)[]> {
  const { json } = await server.client.post(`/v1/table/${name}/version/list`, {});
  return json.versions.map(({ metadata }: { metadata: Partial<typeof METADATA> }) => metadata.author);
}

async function values(server: FaultyServer, { name }: Managed): Promise<readonly unknown[]> {
  return (await server.rows(name)).map(({ value }) => value).toSorted();
}

interface FailedBatch {
  readonly tables: readonly Managed[];
  readonly fault: SetFault;
  readonly answer: Answer;
}

async function requireTakenBack(server: FaultyServer, { tables, fault, answer }: FailedBatch): Promise<void> {
  server.faults.clear();
  assert.equal(fault.acted(), 1, 'the fault did not happen');
  assert.ok(answer.status >= 500, answer.text);
  for (const table of tables) {
    assert.deepEqual(await values(server, table), [10, 20]);
    assert.ok((await authors(server, table)).every((author) => author === undefined));
  }
}

const PROMISES: Readonly<Record<string, (server: FaultyServer) => Promise<void>>> = {
  'the commit of an external writer whose reply was lost is answered as the success that it is': async (server) => {
    for (const key of [undefined, 'key']) {
      const table = await create(server, `lost-${key ?? 'keyless'}`);
      const fault = server.faults.set({ action: 'lose', calls: ['link'], paths: MANIFEST, error: 'EIO' });
      const answer = await commit(server, table, key);
      server.faults.clear();
      assert.equal(fault.acted(), 1, 'the fault did not happen');
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json.version.version, 2);
      assert.deepEqual(await values(server, table), [11, 21]);
      assert.deepEqual(await authors(server, table), [undefined, 'Ann']);
      if (key === undefined) continue;
      const again = await commit(server, table, key);
      assert.equal(again.headers.get('idempotency-replayed'), 'true', again.text);
      assert.equal(await server.version(table.name), 2);
    }
  },
  'the commit of an external writer that the disk refuses changes nothing, and can be sent again': async (server) => {
    const table = await create(server, 'refused');
    server.faults.set({ action: 'fail', calls: ['link'], paths: MANIFEST, error: 'EIO' });
    const answer = await commit(server, table);
    server.faults.clear();
    assert.ok(answer.status >= 500, answer.text);
    assert.deepEqual(await values(server, table), [10, 20]);
    assert.equal((await commit(server, table)).status, 200);
    assert.deepEqual(await values(server, table), [11, 21]);
    assert.deepEqual(await authors(server, table), [undefined, 'Ann']);
  },
  'a commit that the disk refuses leaves no metadata to the version that gets its number': async (server) => {
    const table = await create(server, 'numbered');
    server.faults.set({ action: 'fail', calls: ['link'], paths: MANIFEST, error: 'EIO' });
    assert.ok((await commit(server, table)).status >= 500);
    server.faults.clear();
    const update = { updates: [['value', 'value + 5']] };
    assert.equal((await server.client.post(`/v1/table/${table.name}/update`, update)).json.version, 2);
    assert.deepEqual(await authors(server, table), [undefined, undefined]);
  },
  'all files of an external writer are on disk before its commit is answered': async (server) => {
    const table = await create(server, 'synced');
    server.faults.set({ action: 'log', calls: ['sync'], paths: [table.location], count: Infinity });
    assert.equal((await commit(server, table)).status, 200);
    const synced = server.faults.log().map(({ path }) => path.slice(table.location.length));
    server.faults.clear();
    for (const pattern of [/^\/data\/.+\.lance$/, /^\/data\/?$/, /^\/_versions\/\d+\.manifest$/]) {
      assert.ok(
        synced.some((path) => pattern.test(path)),
        `${pattern} is not among the synced ${synced.join(' ')}`,
      );
    }
  },
  'a batch whose second commit fails takes the first one back, and succeeds when it is sent again': async (server) => {
    const tables = [await create(server, 'first'), await create(server, 'second')];
    const send = async (entries: readonly object[]): Promise<Answer> =>
      server.client.post('/v1/table/version/batch-create', { entries });
    const last = '/second-';
    const fault = server.faults.set({ action: 'fail', calls: ['link'], paths: [last], error: 'EIO' });
    const answer = await send(tables.map(({ name, staged }) => ({ id: [name], ...staged, metadata: METADATA })));
    await requireTakenBack(server, { tables, fault, answer });
    const entries = [];
    for (const { name, location } of tables) {
      const change = await stageVersion(location, async (table) => table.update({ valuesSql: { value: 'value + 1' } }));
      entries.push({ id: [name], ...change, metadata: METADATA });
    }
    const again = await send(entries);
    assert.equal(again.status, 200, again.text);
    for (const table of tables) {
      assert.deepEqual(await values(server, table), [11, 21]);
      assert.equal((await authors(server, table)).at(-1), 'Ann');
    }
  },
  'a batch whose second commit seems to fail, but is made, is taken back too': async (server) => {
    const tables = [await create(server, 'made'), await create(server, 'mislaid')];
    const fault = server.faults.set({ action: 'lose', calls: ['link'], paths: ['/mislaid-'], error: 'EIO' });
    const answer = await server.client.post('/v1/table/version/batch-create', {
      entries: tables.map(({ name, staged }) => ({ id: [name], ...staged, metadata: METADATA })),
    });
    await requireTakenBack(server, { tables, fault, answer });
  },
};

test('when a commit of an external writer fails or its reply is lost', async (t) => {
  // Nothing else commits, which a fault could hit.
  const server = await FaultyServer.start(t, ['--maintenance-running-max=0']);
  if (server === undefined) return;
  for (const [title, check] of Object.entries(PROMISES)) await t.test(title, async () => check(server));
});
