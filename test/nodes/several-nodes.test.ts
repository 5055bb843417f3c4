import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import { hopHeader } from '../../src/http/forwarding/hop.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client, ok } from '../support/client.ts';
import { NO_CLUSTERS } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { startThreeNodes } from './three-nodes.ts';
import type { ThreeNodes } from './three-nodes.ts';

suite('three nodes on one catalog and one store', { skip: NO_CLUSTERS }, () => {
  let nodes: ThreeNodes;
  let cluster: ThreeNodes['cluster'];
  let clients: ThreeNodes['clients'];
  before(async () => {
    nodes = await startThreeNodes('--storage-poll-seconds=0.2');
    ({ cluster, clients } = nodes);
  });
  after(async () => nodes.close());

  /** Created through the first node, which owns it from its first write on. */
  async function createOwned(name: string): Promise<string> {
    const table = `/v1/table/${name}`;
    ok(await clients[0].arrow(`${table}/create`, sampleStream(10)));
    ok(await clients[0].arrow(`${table}/insert`, sampleStream(1)));
    return table;
  }

  const count = async (client: Client, table: string): Promise<number> =>
    ok(await client.post(`${table}/count_rows`, {}));

  test('a write through any node is seen by the next read of every node', async () => {
    const table = await createOwned('seen');
    let rows = 11;
    for (const writer of [...clients, ...clients]) {
      ok(await writer.arrow(`${table}/insert`, sampleStream(3)));
      rows += 3;
      for (const reader of clients) assert.equal(await count(reader, table), rows);
    }
  });

  test('a result that one node has cached is not given out after a write through another', async () => {
    const table = await createOwned('cached');
    const read = async (client: Client) => {
      const answer = await client.post(`${table}/query`, { k: 1, filter: 'id = 3' }, { accept: 'application/json' });
      return { price: ok(answer).rows[0].price, cache: answer.headers.get('cache-status') };
    };
    for (const [round, writer] of clients.entries()) {
      for (const reader of clients) {
        const { price } = await read(reader);
        assert.deepEqual(await read(reader), { price, cache: 'tiltyard; hit' });
      }
      ok(await writer.post(`${table}/update`, { updates: [['price', String(round)]] }));
      for (const reader of clients) assert.equal((await read(reader)).price, round);
    }
  });

  test('every kind of write is forwarded to the owner of the table', async () => {
    const table = await createOwned('forwarded');
    const [, b, c] = clients;
    ok(await b.post(`${table}/update`, { updates: [['id', 'id + 100']] }));
    ok(await c.post(`${table}/delete`, { predicate: 'id = 100' }));
    ok(await b.arrow(`${table}/merge_insert?on=id&when_not_matched_insert_all=true`, sampleStream(2)));
    ok(await c.post(`${table}/add_columns`, { new_columns: [{ name: 'twice', expression: 'id * 2' }] }));
    ok(await b.post(`${table}/tags/create`, { tag: 'now', version: 3 }));
    ok(await c.post(`${table}/branches/create`, { name: 'trial' }));
    ok(await b.arrow(`${table}/create?mode=overwrite`, sampleStream(4)));
    for (const mode of ['Over_Write', '"overwrite"']) {
      ok(await b.arrow(`${table}/create?mode=${encodeURIComponent(mode)}`, sampleStream(4)));
    }
    for (const client of clients) assert.equal(await count(client, table), 4);
    ok(await c.post(`${table}/restore`, { version: 2 }));
    for (const client of clients) assert.equal(await count(client, table), 11);
    ok(await b.post(`${table}/rename`, { new_table_name: 'renamed' }));
    ok(await c.post('/v1/table/renamed/drop', {}));
    for (const client of clients) assert.equal((await client.post('/v1/table/renamed/describe', {})).status, 404);
  });

  test('refusals of a forwarded write are those of the owner', async () => {
    const table = await createOwned('refused');
    const [, b] = clients;
    assert.equal((await b.post(`${table}/update`, { updates: [['missing', '1']] })).status, 404);
    assert.equal((await b.post(`${table}/delete`, { predicate: 'id = = 1' })).status, 400);
    const mismatch = await b.post(`${table}/update`, { updates: [['id', '1']] }, { 'if-match': '"99"' });
    assert.equal(mismatch.status, 412, mismatch.text);
    const stranger = new Client(cluster.node(1).url, { key: undefined });
    assert.equal((await stranger.post(`${table}/update`, { updates: [['id', '1']] })).status, 401);
  });

  test('a write with a key that is repeated through another node is applied once', async () => {
    const table = await createOwned('keyed');
    const headers = { 'idempotency-key': 'once' };
    const replies = [];
    for (const client of clients) replies.push(await client.arrow(`${table}/insert`, sampleStream(5), headers));
    for (const reply of replies) assert.equal(ok(reply).version, 3);
    assert.equal(await count(clients[2], table), 16);
  });

  test('a write that runs while its table is deregistered is recorded first: its key holds for the data', async () => {
    const [a, b, c] = clients;
    const table = await createOwned('released');
    const { location } = ok(await a.post(`${table}/describe`, {}));
    const insert = async (client: Client) =>
      client.arrow(`${table}/insert`, sampleStream(2), { 'idempotency-key': 'released' });
    const held = cluster.store.faults.hold({ method: 'PUT', path: /released.*_versions/ });
    const inserted = insert(a);
    await held.reached;
    const operations = [{ deregister_table: { id: ['released'] } }];
    const refused = await c.post('/v1/table/batch-commit', { operations });
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.text, /not finished/);
    const deregistered = b.post(`${table}/deregister`, {});
    held.release();
    const { version, transaction_id } = ok(await inserted);
    assert.deepEqual([version, typeof transaction_id], [3, 'string']);
    ok(await deregistered);
    ok(await c.post(`${table}/register`, { location: location.split('/').at(-1) }));
    assert.equal((await insert(b)).status, 400);
    assert.equal(await count(c, table), 13);
  });

  test('a write that waits while its table is dropped finds no table', async () => {
    const [a, , c] = clients;
    const table = await createOwned('vanished');
    const insert = async () => a.arrow(`${table}/insert`, sampleStream(2));
    const held = cluster.store.faults.hold({ method: 'PUT', path: /vanished.*_versions/ });
    const first = insert();
    await held.reached;
    const second = a.post(`${table}/update`, { updates: [['id', '1']] });
    const dropped = c.post(`${table}/drop`, {});
    await eventually(async () => (await c.post(`${table}/describe`, {})).status === 404);
    held.release();
    ok(await first);
    assert.equal((await second).status, 404, (await second).text);
    ok(await dropped);
  });

  test('of writes that follow one another, a node that forwards them asks the catalog about few', async () => {
    const table = await createOwned('remembered');
    const { toCatalog } = cluster.node(1);
    const write = async (): Promise<unknown> =>
      ok(await clients[1].post(`${table}/update`, { updates: [['id', '1']] }));
    await write();
    let checks = 0;
    toCatalog.onSent = (piece) => {
      if (piece.includes('as generation')) checks += 1;
    };
    const startedAt = performance.now();
    for (let round = 0; round < 20; round += 1) await write();
    const halfSeconds = Math.ceil((performance.now() - startedAt) / 500);
    toCatalog.onSent = undefined;
    assert.ok(checks <= halfSeconds && checks < 20, `${checks} checks in ${halfSeconds} half seconds`);
  });

  test('what a node remembers of a table that is elsewhere decides no write', async () => {
    const table = await createOwned('changing');
    const [a, b, c] = clients;
    const rename = { updates: [['name', "'x'"]] };
    const writeAt = async (client: Client) => client.post(`${table}/update`, rename);
    const updatedRows = async (client: Client): Promise<number> => ok(await writeAt(client)).updated_rows;
    assert.equal(await updatedRows(b), 11);
    // Another table, of another owner.
    ok(await a.post(`${table}/drop`, {}));
    assert.equal((await writeAt(b)).status, 404);
    ok(await c.arrow(`${table}/create`, sampleStream(3)));
    assert.equal(await updatedRows(c), 3);
    assert.equal(await updatedRows(b), 3);
    ok(await c.post(`${table}/drop`, {}));
    ok(await b.arrow(`${table}/create`, sampleStream(2)));
    assert.equal(await updatedRows(b), 2);
    // A grant.
    const owned = await createOwned('granted');
    const made = ok(
      await a.post('/v1/access/key/create', { name: 'granted', grants: [{ role: 'reader', database: 'default' }] }),
    );
    const granted = new Client(cluster.node(1).url, { key: made.key });
    ok(await b.post(`${owned}/update`, rename));
    assert.equal((await granted.post(`${owned}/update`, rename)).status, 403);
    ok(await c.post('/v1/access/grant/create', { principal: made.principal, role: 'writer', database: 'default' }));
    ok(await granted.post(`${owned}/update`, rename));
    ok(await c.post('/v1/access/key/revoke', { key_id: made.id }));
    assert.equal((await granted.post(`${owned}/update`, rename)).status, 401);
  });

  test('of many creates of one name through all nodes exactly one succeeds', async () => {
    for (let round = 0; round < 5; round += 1) {
      const attempts = [...clients, ...clients].map(async (client) =>
        client.arrow(`/v1/table/raced${round}/create`, sampleStream(1)),
      );
      const statuses = (await Promise.all(attempts)).map(({ status }) => status).toSorted((one, other) => one - other);
      assert.deepEqual(statuses, [200, 409, 409, 409, 409, 409]);
    }
  });

  test('a key that is revoked at one node is refused by the others at once', async () => {
    const [a, b, c] = clients;
    const made = ok(
      await a.post('/v1/access/key/create', { name: 'short', grants: [{ role: 'admin', all_databases: true }] }),
    );
    const client = new Client(cluster.node(1).url, { key: made.key });
    ok(await client.get('/v1/namespace/$/table/list'));
    ok(await c.post('/v1/access/key/revoke', { key_id: made.id }));
    assert.equal((await client.get('/v1/namespace/$/table/list')).status, 401);
    ok(await b.get('/v1/namespace/$/table/list'));
  });

  test('a warm read asks neither the store for metadata nor the catalog more than once', async () => {
    const table = await createOwned('warm');
    for (let round = 0; round < 3; round += 1) await count(clients[1], table);
    const requests = cluster.store.log.length;
    // Within the time of one poll.
    for (let round = 0; round < 3; round += 1) await count(clients[1], table);
    const metadata = cluster.store.log
      .slice(requests)
      .filter(({ path, query }) => /_versions|list-type/.test(path + query));
    assert.ok(metadata.length <= 2, JSON.stringify(metadata));
  });

  test('a commit of another program is seen by readers who repeat one query', async () => {
    const table = await createOwned('watched');
    const { location } = ok(await clients[1].post(`${table}/describe`, {}));
    const read = async (): Promise<number> =>
      ok(await clients[1].post(`${table}/query`, { k: 100 }, { accept: 'application/json' })).rows.length;
    for (let round = 0; round < 3; round += 1) assert.equal(await read(), 11);
    const { storageOptions } = cluster.store;
    const folderUri = location.slice(0, location.lastIndexOf('/'));
    const db = await connect(folderUri, { storageOptions: { ...storageOptions } });
    const outside = await db.openTable(location.slice(folderUri.length + 1).replace(/\.lance$/, ''));
    await outside.delete('id = 3');
    db.close();
    await eventually(async () => (await read()) < 11);
  });

  test('a header of a hop without proof changes nothing', async () => {
    const table = await createOwned('unproven');
    const message = { method: 'POST', url: `${table}/update` };
    const forged = hopHeader('node', 'x'.repeat(40), message);
    const body = { updates: [['id', 'id + 1']] };
    ok(await clients[1].post(`${table}/update`, body, forged));
  });

  test('a table whose owner is killed is written by another node within its lease time', async () => {
    const table = await createOwned('killed');
    await cluster.node(0).kill();
    const startedAt = performance.now();
    ok(await clients[1].post(`${table}/update`, { updates: [['id', 'id + 1']] }));
    assert.ok(performance.now() - startedAt < 30_000);
    ok(await clients[2].arrow(`${table}/insert`, sampleStream(1)));
    assert.equal(await count(clients[1], table), 12);
    await cluster.node(0).start();
    assert.equal(await count(clients[0], table), 12);
  });

  test('an owner that is paused past its lease undoes nothing when it resumes', async () => {
    const table = await createOwned('paused');
    const held = cluster.store.faults.hold({ method: 'PUT', path: /paused.*_versions/ });
    const late = clients[0].post(`${table}/update`, { updates: [['id', 'id + 1000']] });
    await held.reached;
    cluster.node(0).pause();
    ok(await clients[1].arrow(`${table}/insert`, sampleStream(2)));
    held.release();
    cluster.node(0).resume();
    const { status } = await late;
    assert.equal(status, 503);
    assert.equal(await count(clients[0], table), 13);
    const changed = await clients[2].post(`${table}/count_rows`, { predicate: 'id >= 1000' });
    assert.equal(ok(changed), 0);
  });

  test('readers of an owner that was paused past its lease see what another node has written since', async () => {
    for (const branch of ['main', 'work']) {
      const table = await createOwned(`overtaken-${branch}`);
      if (branch !== 'main') ok(await clients[0].post(`${table}/branches/create`, { name: branch }));
      const countAll = async (client: Client): Promise<number> =>
        ok(await client.post(`${table}/count_rows`, { branch }));
      const { upload_id } = ok(await clients[0].post(`${table}/multipart_write/create?branch=${branch}`, {}));
      const query = `branch=${branch}&upload_id=${encodeURIComponent(upload_id)}`;
      for (const part of ['1', '2']) {
        ok(await clients[0].arrow(`${table}/insert?${query}&upload_part_id=${part}`, sampleStream(5)));
      }
      const held = cluster.store.faults.hold({ method: 'PUT', path: new RegExp(`overtaken-${branch}.*_versions`) });
      const late = clients[0].post(`${table}/multipart_write/complete?${query}`, {});
      await held.reached;
      cluster.node(0).pause();
      try {
        ok(await clients[1].arrow(`${table}/insert?branch=${branch}`, sampleStream(2)));
        cluster.node(0).resume();
        if (branch !== 'main') await eventually(async () => cluster.node(0).isReady());
        for (const reader of clients) assert.equal(await countAll(reader), 13, branch);
      } finally {
        held.release();
      }
      assert.equal((await late).status, 503);
      for (const reader of clients) assert.equal(await countAll(reader), 13, branch);
    }
  });

  test('an overwrite that arrives after a takeover is found, and not applied again', async () => {
    const table = await createOwned('replaced');
    const held = cluster.store.faults.hold({ method: 'PUT', path: /replaced.*_versions/ });
    const overwrite = async (client: Client) =>
      client.arrow(`${table}/insert?mode=overwrite`, sampleStream(5), { 'idempotency-key': 'replaced' });
    const late = overwrite(clients[0]);
    await held.reached;
    cluster.node(0).pause();
    ok(await clients[1].arrow(`${table}/insert`, sampleStream(2)));
    held.release();
    cluster.node(0).resume();
    assert.equal((await late).status, 503);
    ok(await clients[1].arrow(`${table}/insert`, sampleStream(3)));
    const before = await count(clients[1], table);
    await eventually(async () => (await overwrite(clients[2])).status === 200);
    const again = await overwrite(clients[1]);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual([before, await count(clients[2], table)], [8, 8]);
  });

  test('an overwrite in parts of an owner that is paused past its lease is applied as a whole or not at all', async () => {
    for (const [commit, branch] of [
      [0, 'main'],
      [1, 'main'],
      [2, 'work'],
    ] as const) {
      const name = `renewed-${branch}-${commit}`;
      const table = await createOwned(name);
      if (branch !== 'main') ok(await clients[0].post(`${table}/branches/create`, { name: branch }));
      const created = await clients[0].post(`${table}/multipart_write/create?branch=${branch}`, {});
      const query = `branch=${branch}&upload_id=${encodeURIComponent(ok(created).upload_id)}`;
      for (const part of ['1', '2']) {
        const path = `${table}/insert?mode=overwrite&${query}&upload_part_id=${part}`;
        ok(await clients[0].arrow(path, sampleStream(100)));
      }
      const held = cluster.store.faults.hold({ method: 'PUT', path: new RegExp(`${name}.*_versions`), skip: commit });
      const late = clients[0].post(`${table}/multipart_write/complete?${query}`, {});
      await held.reached;
      cluster.node(0).pause();
      ok(await clients[1].arrow(`${table}/insert?branch=${branch}`, sampleStream(2)));
      held.release();
      cluster.node(0).resume();
      assert.notEqual((await late).status, 200, name);
      ok(await clients[1].arrow(`${table}/insert?branch=${branch}`, sampleStream(3)));
      for (const reader of clients) {
        assert.equal(ok(await reader.post(`${table}/count_rows`, { branch })), 16, name);
      }
    }
  });

  test('what an owner that is paused past its lease does to tags does not undo later changes of another node', async () => {
    const [a, b, c] = clients;
    const late = await Promise.all(
      (['update', 'create', 'delete'] as const).map(async (change) => {
        const table = await createOwned(`tag-${change}`);
        if (change !== 'create') ok(await a.post(`${table}/tags/create`, { tag: 'live', version: 1 }));
        const method = change === 'delete' ? 'DELETE' : 'PUT';
        const held = cluster.store.faults.hold({ method, path: new RegExp(`tag-${change}.*_refs/tags/live`) });
        const body = change === 'delete' ? { tag: 'live' } : { tag: 'live', version: 1 };
        const reply = a.post(`${table}/tags/${change}`, body);
        await held.reached;
        return { table, change, held, reply };
      }),
    );
    cluster.node(0).pause();
    for (const { table, change } of late) {
      ok(await b.post(`${table}/tags/${change === 'create' ? 'create' : 'update'}`, { tag: 'live', version: 2 }));
    }
    for (const { held } of late) held.release();
    cluster.node(0).resume();
    for (const { table, change, reply } of late) {
      const { status, text } = await reply;
      assert.equal(status, change === 'create' ? 409 : 503, `${change}: ${text}`);
      assert.match(text, /The tag \\"live\\" (?:already exists|was changed by another request)/);
      assert.equal(ok(await c.post(`${table}/tags/version`, { tag: 'live' })).version, 2, change);
    }
  });

  test('an owner that is paused past its lease does not report the change of a tag as made', async () => {
    const table = await createOwned('tag-unknown');
    const held = cluster.store.faults.hold({ method: 'PUT', path: /tag-unknown.*_refs\/tags\/live/ });
    const late = clients[0].post(`${table}/tags/create`, { tag: 'live', version: 1 });
    await held.reached;
    cluster.node(0).pause();
    ok(await clients[1].arrow(`${table}/insert`, sampleStream(1)));
    held.release();
    cluster.node(0).resume();
    const { status, text } = await late;
    assert.equal(status, 503, text);
    assert.match(text, /not known whether/);
  });

  test('a write without a key that its node could not record is not applied twice when it is sent again', async () => {
    const table = await createOwned('unrecorded');
    const body = { updates: [['id', 'id + 1000']] };
    const held = cluster.store.faults.hold({ method: 'PUT', path: /unrecorded.*_versions/ });
    const first = clients[0].post(`${table}/update`, body);
    await held.reached;
    cluster.node(0).toCatalog.cut();
    held.release();
    assert.equal((await first).status, 503);
    const again = ok(await clients[1].post(`${table}/update`, body));
    assert.equal(again.updated_rows, 11);
    cluster.node(0).toCatalog.resume();
    assert.equal(ok(await clients[2].post(`${table}/count_rows`, { predicate: 'id >= 1000' })), 11);
    assert.equal(ok(await clients[2].post(`${table}/count_rows`, { predicate: 'id >= 2000' })), 0);
    ok(await clients[2].post(`${table}/update`, body));
    assert.equal(ok(await clients[1].post(`${table}/count_rows`, { predicate: 'id >= 2000' })), 11);
    await eventually(async () => cluster.node(0).isReady());
  });

  test('a version that its node has not recorded yet is neither listed nor cloned', async () => {
    const table = await createOwned('early');
    const { location } = ok(await clients[1].post(`${table}/describe`, {}));
    const held = cluster.store.faults.hold({ method: 'PUT', path: /early.*_versions/ });
    const update = clients[0].post(`${table}/update`, { updates: [['id', 'id + 1000']] });
    await held.reached;
    cluster.node(0).toCatalog.cut();
    held.release();
    await eventually(
      async () => cluster.store.objects.paths('').filter((path) => /early.*_versions/.test(path)).length === 3,
    );
    const { versions } = ok(await clients[1].post(`${table}/version/list`, {}));
    const clone = ok(await clients[1].post('/v1/table/early-clone/clone', { source_location: location }));
    assert.equal((await update).status, 503);
    cluster.node(0).toCatalog.resume();
    assert.deepEqual([versions.length, clone.version], [2, 2]);
    assert.equal(ok(await clients[1].post('/v1/table/early-clone/count_rows', { predicate: 'id >= 1000' })), 0);
    await eventually(async () => cluster.node(0).isReady());
  });

  test('the tables of a node that shuts down are written by others without a failure', async () => {
    const table = await createOwned('drained');
    const body = { updates: [['id', 'id + 1']] };
    let isOver = false;
    const writer = async (client: Client): Promise<void> => {
      while (!isOver) ok(await client.post(`${table}/update`, body));
    };
    const writers = Promise.all([writer(clients[1]), writer(clients[2])]);
    await Promise.race([writers, cluster.node(0).drain()]);
    const before = ok(await clients[1].post(`${table}/update`, body)).version;
    await eventually(async () => ok(await clients[1].post(`${table}/describe`, {})).version > before);
    isOver = true;
    await writers;
    await cluster.node(0).start();
  });

  test('a node that cannot reach the catalog shuts down cleanly', async () => {
    const node = cluster.node(2);
    node.toCatalog.cut();
    assert.equal(await node.drain(), 0);
    const ends = node.log.map(({ event }) => event).filter((event) => /^worker-(?:stopped|died)$/.test(event));
    assert.equal(ends.at(-1), 'worker-stopped');
    node.toCatalog.resume();
    await node.start();
  });
});
