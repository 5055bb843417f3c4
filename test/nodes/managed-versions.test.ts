import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { ok } from '../support/client.ts';
import type { Answer, Client } from '../support/client.ts';
import { NO_CLUSTERS } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { stageOnStore } from '../support/staged-on-store.ts';
import type { StagedVersion } from '../support/staged-version.ts';
import { startThreeNodes } from './three-nodes.ts';
import type { ThreeNodes } from './three-nodes.ts';

suite('versions of external writers on three nodes', { skip: NO_CLUSTERS }, () => {
  let nodes: ThreeNodes;
  let cluster: ThreeNodes['cluster'];
  let clients: ThreeNodes['clients'];
  before(async () => {
    nodes = await startThreeNodes('--storage-poll-seconds=3600');
    ({ cluster, clients } = nodes);
  });
  after(async () => nodes.close());

  interface Managed {
    readonly name: string;
    readonly at: string;
    readonly location: string;
  }

  type Staged = StagedVersion & { readonly metadata: { readonly predicate: string } };

  /** Created through a node, which owns it from its first write on: ten rows, at version 2. */
  async function createOwned(name: string, owner: Client = clients[0]): Promise<Managed> {
    const at = `/v1/table/${name}`;
    const query = new URLSearchParams({ properties: '{"managed_versioning":"true"}' }).toString();
    const { location } = ok(await owner.arrow(`${at}/create?${query}`, sampleStream(9)));
    ok(await owner.arrow(`${at}/insert`, sampleStream(1)));
    return { name, at, location };
  }

  async function stage({ location }: Managed, predicate = 'id = 3'): Promise<Staged> {
    const staged = await stageOnStore(cluster.store, location, async (table) => table.delete(predicate));
    return { ...staged, metadata: { predicate } };
  }

  async function toEntries(tables: readonly Managed[]): Promise<readonly object[]> {
    const entries: object[] = [];
    for (const table of tables) entries.push({ id: [table.name], ...(await stage(table)) });
    return entries;
  }

  const count = async (client: Client, { at }: Managed): Promise<number> =>
    ok(await client.post(`${at}/count_rows`, {}));

  async function counts(tables: readonly Managed[]): Promise<readonly number[]> {
    const rows: number[] = [];
    for (const table of tables) for (const client of clients) rows.push(await count(client, table));
    return rows;
  }

  /** The metadata of the latest version, as each node shows it. */
  async function latestMetadata({ at }: Managed): Promise<readonly (string | undefined)[]> {
    const found: (string | undefined)[] = [];
    for (const client of clients) {
      found.push(ok(await client.post(`${at}/version/describe`, {})).version.metadata.predicate);
    }
    return found;
  }

  test('a commit through any node is made by the owner of the table, and seen by all at once', async () => {
    const table = await createOwned('seen');
    for (const [index, client] of clients.entries()) {
      const { version } = ok(await client.post(`${table.at}/version/create`, await stage(table, `id = ${index + 3}`)));
      assert.equal(version.version, 3 + index);
      assert.equal(version.manifest_path.startsWith('root/seen'), true);
      assert.match(version.e_tag, /./);
      assert.deepEqual(await counts([table]), [9 - index, 9 - index, 9 - index]);
      const predicate = `id = ${index + 3}`;
      assert.deepEqual(await latestMetadata(table), [predicate, predicate, predicate]);
    }
    ok(await clients[1].post(`${table.at}/update`, { updates: [['price', '1']] }));
  });

  test('a commit with a key that is repeated through another node is applied once; without one it is a conflict', async () => {
    const table = await createOwned('keyed');
    const staged = await stage(table);
    const headers = { 'idempotency-key': 'managed' };
    for (const client of clients) {
      assert.equal(ok(await client.post(`${table.at}/version/create`, staged, headers)).version.version, 3);
    }
    const again = await clients[1].post(`${table.at}/version/create`, staged);
    assert.deepEqual([again.status, again.json.code], [409, 14], again.text);
  });

  test('of two external writers through two nodes exactly one wins', async () => {
    const table = await createOwned('raced');
    const staged = [await stage(table, 'id = 3'), await stage(table, 'id = 4')];
    const answers = await Promise.all(
      staged.map(async (each, index) => (clients[index] ?? clients[0]).post(`${table.at}/version/create`, each)),
    );
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
    assert.deepEqual(await counts([table]), [9, 9, 9]);
  });

  /** Kills the first node while its commit is on its way to the store, and gives what lets it arrive. */
  async function killDuringCommit(table: Managed, staged: StagedVersion): Promise<() => void> {
    const path = new RegExp(`${table.name}-.*_versions/\\d{20}\\.manifest$`);
    const held = cluster.store.faults.hold({ method: 'PUT', path });
    const late = clients[0].post(`${table.at}/version/create`, staged).catch(() => undefined);
    await held.reached;
    await cluster.node(0).kill();
    await late;
    return () => held.release();
  }

  test('a commit of a killed node that arrives is found by the next owner, and answers the same request', async () => {
    const table = await createOwned('arrived');
    const staged = await stage(table);
    const arrive = await killDuringCommit(table, staged);
    arrive();
    const again = await clients[1].post(`${table.at}/version/create`, staged);
    assert.equal(ok(again).version.version, 3);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    await cluster.node(0).start();
    assert.deepEqual(await counts([table]), [9, 9, 9]);
    assert.deepEqual(await latestMetadata(table), ['id = 3', 'id = 3', 'id = 3']);
  });

  test('a commit of a killed node that arrives after the takeover is fenced off, and has to be made again', async () => {
    const table = await createOwned('fenced');
    const staged = await stage(table);
    const arrive = await killDuringCommit(table, staged);
    const again = await clients[1].post(`${table.at}/version/create`, staged);
    assert.deepEqual([again.status, again.json.code], [409, 14], again.text);
    arrive();
    assert.equal(await count(clients[1], table), 10);
    const before = ok(await clients[1].post(`${table.at}/version/list`, {})).versions;
    assert.ok(before.every(({ metadata }: { metadata: object }) => !('predicate' in metadata)));
    ok(await clients[2].post(`${table.at}/version/create`, await stage(table)));
    await cluster.node(0).start();
    assert.deepEqual(await counts([table]), [9, 9, 9]);
  });

  test('a batch takes tables of different nodes, and all nodes see all of it', async () => {
    const tables = [await createOwned('mine'), await createOwned('yours', clients[1])];
    const entries = await toEntries(tables);
    const { versions } = ok(await clients[2].post('/v1/table/version/batch-create', { entries }));
    assert.deepEqual(
      versions.map(({ version }: { version: number }) => version),
      [3, 3],
    );
    assert.deepEqual(await counts(tables), [9, 9, 9, 9, 9, 9]);
    for (const [index, table] of tables.entries()) {
      await eventually(async () => {
        const answer = await (clients[index] ?? clients[0]).post(`${table.at}/update`, { updates: [['price', '1']] });
        return answer.status === 200;
      });
    }
  });

  /** Opens an upload at the first node, which owns the table, and gives what sends a part or completes it. */
  async function openUpload({ at }: Managed) {
    const { upload_id } = ok(await clients[0].post(`${at}/multipart_write/create`, {}));
    return {
      send: async (client: Client) => client.arrow(`${at}/insert?upload_id=${upload_id}`, sampleStream(5)),
      complete: async (client: Client) => client.post(`${at}/multipart_write/complete?upload_id=${upload_id}`, {}),
    };
  }

  test('a refused batch takes no table, and an upload continues on every node', async () => {
    const tables = [await createOwned('kept-one'), await createOwned('kept-two')];
    const [table = await createOwned('kept')] = tables;
    const upload = await openUpload(table);
    ok(await upload.send(clients[0]));
    const [entry, ...others] = await toEntries(tables);
    const stale = { ...entry, ...(await stage(table)) };
    ok(await clients[0].post(`${table.at}/update`, { updates: [['price', '1']] }));
    const refused = await clients[1].post('/v1/table/version/batch-create', { entries: [...others, stale] });
    assert.equal(refused.status, 409, refused.text);
    const deletion = { id: [table.name], ranges: [{ start_version: 1, end_version: 2 }] };
    const undeleted = await clients[1].post('/v1/table/batch-commit', {
      operations: [{ delete_table_versions: deletion }],
    });
    assert.equal(undeleted.status, 409, undeleted.text);
    for (const client of clients) ok(await upload.send(client));
    assert.equal(ok(await upload.complete(clients[2])).num_inserted_rows, 20);
    assert.deepEqual(await counts([table]), [30, 30, 30]);
  });

  test('an upload whose table a batch has taken is completed by the node that has its parts', async () => {
    const table = await createOwned('taken');
    const upload = await openUpload(table);
    ok(await upload.send(clients[0]));
    ok(await clients[1].post('/v1/table/version/batch-create', { entries: await toEntries([table]) }));
    const elsewhere = await upload.send(clients[2]);
    assert.equal(elsewhere.status, 400, elsewhere.text);
    assert.match(elsewhere.json.detail, /another node takes over the table/);
    ok(await upload.send(clients[0]));
    assert.equal(ok(await upload.complete(clients[0])).num_inserted_rows, 10);
    assert.deepEqual(await counts([table]), [19, 19, 19]);
  });

  test('of batches of the same tables through all nodes at once one wins, and the others are conflicts', async () => {
    const tables = [await createOwned('shared-one'), await createOwned('shared-two', clients[1])];
    cluster.store.latencyMilliseconds = 20;
    try {
      for (let round = 0; round < 4; round += 1) {
        const batches = await Promise.all(clients.map(async () => toEntries(tables)));
        const answers = await Promise.all(
          clients.map(async (client, index) =>
            client.post('/v1/table/version/batch-create', { entries: batches[index] }),
          ),
        );
        assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
      }
    } finally {
      cluster.store.latencyMilliseconds = 0;
    }
  });

  test('a batch of deletions finds out by itself that another node has taken the table', async () => {
    const table = await createOwned('trimmed');
    ok(await clients[1].post('/v1/table/version/batch-create', { entries: await toEntries([table]) }));
    const deletion = { id: [table.name], ranges: [{ start_version: 100, end_version: 101 }] };
    const answer = await clients[0].post('/v1/table/batch-commit', {
      operations: [{ delete_table_versions: deletion }],
    });
    assert.equal(ok(answer).results[0].delete_table_versions.deleted_count, 0);
  });

  test('a batch with a key that is sent again through another node while it runs is applied once', async () => {
    const tables = [await createOwned('twice-one'), await createOwned('twice-two')];
    const entries = await toEntries(tables);
    const send = async (client: Client): Promise<Answer> =>
      client.post('/v1/table/version/batch-create', { entries }, { 'idempotency-key': 'twice' });
    const commit = cluster.store.faults.hold({ method: 'PUT', path: /twice-.*_versions\/\d{20}\.manifest$/ });
    const first = send(clients[0]);
    await commit.reached;
    // The second request has found no result of the first when it reads the staged manifests.
    const check = cluster.store.faults.hold({ method: 'GET', path: /twice-.*_versions\/\d{20}\.manifest-/ });
    const second = send(clients[1]);
    await check.reached;
    check.release();
    commit.release();
    const answers = [await first, await second, await send(clients[2])];
    for (const answer of answers) {
      assert.deepEqual(
        ok(answer).versions.map(({ version }: { version: number }) => version),
        [3, 3],
      );
    }
    assert.equal((await second).headers.get('idempotency-replayed'), 'true');
    assert.deepEqual(await counts(tables), [9, 9, 9, 9, 9, 9]);
  });

  test('a batch of declarations with a key is applied once, also when all nodes get it at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const operations = [{ declare_table: { id: [`declared-${round}`] } }];
      const answers = await Promise.all(
        clients.map(async (client) =>
          client.post('/v1/table/batch-commit', { operations }, { 'idempotency-key': `declared ${round}` }),
        ),
      );
      const ids = answers.map((answer) => ok(answer).results[0].declare_table.transaction_id);
      assert.equal(new Set(ids).size, 1);
    }
  });

  test('a batch whose node is killed between two tables is undone by its successor', async () => {
    const tables = [await createOwned('cut-one'), await createOwned('cut-two')];
    const entries = await toEntries(tables);
    // The second of the two, whichever it is.
    const first = cluster.store.faults.hold({ method: 'PUT', path: /cut-.*_versions\/\d{20}\.manifest$/ });
    const late = clients[0].post('/v1/table/version/batch-create', { entries }).catch(() => undefined);
    await first.reached;
    const second = cluster.store.faults.hold({ method: 'PUT', path: /cut-.*_versions\/\d{20}\.manifest$/ });
    first.release();
    await second.reached;
    for (const client of clients.slice(1)) {
      for (const table of tables) assert.equal(await count(client, table), 10);
    }
    await cluster.node(0).kill();
    second.release();
    await late;
    for (const { at } of tables) ok(await clients[1].post(`${at}/update`, { updates: [['price', '1']] }));
    for (const client of clients.slice(1)) {
      for (const table of tables) assert.equal(await count(client, table), 10);
    }
    for (const { at } of tables) {
      const { versions } = ok(await clients[1].post(`${at}/version/list`, {}));
      assert.ok(versions.every(({ metadata }: { metadata: object }) => !('predicate' in metadata)));
    }
    ok(await clients[2].post('/v1/table/version/batch-create', { entries: await toEntries(tables) }));
    await cluster.node(0).start();
    for (const table of tables) assert.equal((await latestMetadata(table))[1], 'id = 3');
    assert.deepEqual(await counts(tables), [9, 9, 9, 9, 9, 9]);
  });

  test('a batch of which the store refuses a version leaves nothing that a late version could follow', async () => {
    const tables = [await createOwned('torn-one'), await createOwned('torn-two')];
    const path = /torn-.*_versions\/\d{20}\.manifest$/;
    // The second of the two, whichever it is, and every repetition of it.
    const entries = await toEntries(tables);
    cluster.store.faults.add('error-before', { method: 'PUT', path, skip: 1 }, 5);
    const answer = await clients[0].post('/v1/table/version/batch-create', { entries });
    cluster.store.faults.clear();
    assert.equal(answer.status, 503, answer.text);
    assert.deepEqual(await counts(tables), [10, 10, 10, 10, 10, 10]);
    for (const { at } of tables) assert.ok(ok(await clients[0].post(`${at}/describe`, {})).version > 2);
  });

  test('an index that a batch of another node takes back is built again before it is reported', async () => {
    const tables = [await createOwned('indexed-one'), await createOwned('indexed-two')];
    const [table] = tables;
    assert.ok(table !== undefined);
    const entries = await toEntries(tables);
    const hold = (name: string) =>
      cluster.store.faults.hold({ method: 'PUT', path: new RegExp(`${name}.*_versions/\\d{20}\\.manifest$`) });
    const index = hold('indexed-one');
    const built = clients[0].post(`${table.at}/create_scalar_index`, { column: 'id', index_type: 'BTREE' });
    await index.reached;
    const second = hold('indexed-two');
    const batch = clients[1].post('/v1/table/version/batch-create', { entries });
    await second.reached;
    index.release();
    const manifests = () =>
      cluster.store.objects.paths('').filter((path) => /indexed-one.*_versions\/\d{20}\.manifest$/.test(path));
    await eventually(async () => manifests().length === 4);
    const path = /indexed-two.*_versions\/\d{20}\.manifest$/;
    cluster.store.faults.add('error-before', { method: 'PUT', path }, 5);
    second.release();
    assert.equal((await batch).status, 503, (await batch).text);
    cluster.store.faults.clear();
    const { job_id } = ok(await built);
    await eventually(async () => ok(await clients[2].post('/v1/jobs/describe', { job_id })).job_state === 'DONE');
    for (const client of clients) {
      const { indexes } = ok(await client.post(`${table.at}/index/list`, {}));
      assert.deepEqual(
        indexes.map(({ index_name }: { index_name: string }) => index_name),
        ['id_idx'],
      );
    }
    assert.deepEqual(await counts([table]), [10, 10, 10]);
  });
});
