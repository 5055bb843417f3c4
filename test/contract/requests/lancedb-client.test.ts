import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import {
  BooleanQuery,
  BoostQuery,
  Index,
  MatchQuery,
  MultiMatchQuery,
  Occur,
  PhraseQuery,
  connect,
} from '@lancedb/lancedb';
import type { Connection, ConnectionOptions, Table, VectorQuery } from '@lancedb/lancedb';
import { Field, Float32, FixedSizeList, Int32, Schema, Utf8 } from 'apache-arrow';
import { sampleStream } from '../../support/arrow-tables.ts';
import { startIdentityProvider } from '../../support/identity-provider.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import { count } from '../contract-tables.ts';

/** The unmodified client, told nothing but where the service is. */
let server: ContractServer;
let client: Connection;
before(async () => {
  server = await ContractServer.start();
  await server.namespace(['sales']);
  client = await open();
});
after(async () => {
  client.close();
  await server.close();
});

async function open(options: Partial<ConnectionOptions> = {}, database = 'default'): Promise<Connection> {
  return connect(`db://${database}`, { apiKey: ADMIN_KEY, hostOverride: server.url, ...options });
}

function toRows(rows: number): Record<string, unknown>[] {
  return count(rows).map((id) => ({
    id,
    text: `word ${id % 2 === 0 ? 'even' : 'odd'} number${id}`,
    vector: [id, id + 1, id + 2, id + 3],
  }));
}

/** The table that the client made, as the embedded engine finds it in the folder of the service. */
async function embedded(name: string): Promise<Table> {
  const answer = await server.admin.arrow(`/v1/table/${name}/create?mode=exist_ok`, new Uint8Array());
  return server.embedded(answer.json);
}

function outputRows(plan: string): number {
  return Number(/output_rows=(\d+)/.exec(plan)?.[1]);
}

async function rowsOf(query: { analyzePlan(): Promise<string> }): Promise<number> {
  return outputRows(await query.analyzePlan());
}

suite('the LanceDB client creates', () => {
  test('a table from rows, which arrive as they were', async () => {
    const name = server.name();
    const table = await client.createTable(name, toRows(5));
    assert.equal(table.name, name);
    const rows = await (await embedded(name)).query().toArray();
    assert.deepEqual(
      rows.map((row: { id: number; text: string }) => [row.id, row.text]),
      toRows(5).map((row) => [row['id'], row['text']]),
    );
  });

  test('a table of many rows, compressed and in chunks', async () => {
    const name = server.name();
    await client.createTable(name, toRows(20_000));
    assert.equal(await (await embedded(name)).countRows(), 20_000);
  });

  test('an empty table from a schema', async () => {
    const name = server.name();
    const vector = new FixedSizeList(4, new Field('item', new Float32(), true));
    const schema = new Schema([
      new Field('id', new Int32(), false),
      new Field('text', new Utf8(), true),
      new Field('vector', vector, true),
    ]);
    const table = await client.createEmptyTable(name, schema);
    assert.deepEqual(
      (await table.schema()).fields.map((field) => [field.name, field.nullable]),
      [
        ['id', false],
        ['text', true],
        ['vector', true],
      ],
    );
    assert.equal(await (await embedded(name)).countRows(), 0);
  });

  test('no table that exists: it says that it already exists', async () => {
    const name = server.name();
    await client.createTable(name, toRows(3));
    await assert.rejects(client.createTable(name, toRows(1)), /already exists/);
    await assert.rejects(
      client.createEmptyTable(name, new Schema([new Field('id', new Int32(), true)])),
      /already exists/,
    );
    assert.equal(await (await embedded(name)).countRows(), 3);
  });

  test('with existOk: the table that is there stays, and is opened', async () => {
    const name = server.name();
    await client.createTable(name, toRows(3), { existOk: true });
    const table = await client.createTable(name, toRows(1), { existOk: true });
    assert.equal(await table.version(), 1);
    const other = await client.createEmptyTable(name, new Schema([new Field('id', new Int32(), true)]), {
      existOk: true,
    });
    assert.equal((await other.schema()).fields.length, 3);
    assert.equal(await (await embedded(name)).countRows(), 3);
  });

  test('with mode overwrite: a new version of the table', async () => {
    const name = server.name();
    await client.createTable(name, toRows(3));
    const table = await client.createTable(name, toRows(7), { mode: 'overwrite' });
    assert.equal(await table.version(), 2);
    assert.equal(await (await embedded(name)).countRows(), 7);
    await client.createTable(server.name(), toRows(2), { mode: 'overwrite' });
  });

  test('in a namespace, with its own delimiter too', async () => {
    const name = server.name();
    await client.createTable(name, toRows(2), ['sales']);
    const dotted = await open({ clientConfig: { idDelimiter: '.' } });
    const table = await dotted.openTable(name, ['sales']);
    assert.equal((await table.update({ values: { text: 'x' } })).rowsUpdated, 2);
    await assert.rejects(client.createTable(name, toRows(2), ['nowhere']), /not found/);
  });

  test('names as it pastes them into addresses', async () => {
    for (const name of ['a b', 'é', 'a"b', 'a+b', 'a;b', 'a.b', 'a&b']) {
      await client.createTable(name, toRows(1));
      assert.equal((await (await open()).openTable(name)).name, name);
      assert.ok((await server.listed()).includes(name), name);
    }
  });
});

suite('the LanceDB client opens', () => {
  test('a table, and reads its schema, version and rows by plan', async () => {
    const name = server.name();
    await server.table({ id: name, stream: sampleStream(6) });
    const table = await client.openTable(name);
    assert.deepEqual(
      (await table.schema()).fields.map((field) => field.name),
      ['id', 'price', 'name', 'point', 'vec'],
    );
    assert.equal(await table.version(), 1);
    assert.equal(outputRows(await table.query().analyzePlan()), 6);
  });

  test('no table that is missing: it says that it was not found', async () => {
    await assert.rejects(client.openTable('absent'), /not found/);
  });

  test('a table at a version, and comes back to the latest', async () => {
    const name = server.name();
    const table = await client.createTable(name, toRows(4));
    await table.update({ values: { text: 'changed' } });
    await table.checkout(1);
    assert.equal(await table.version(), 1);
    assert.equal(outputRows(await table.query().where("text = 'changed'").analyzePlan()), 0);
    await table.checkoutLatest();
    assert.equal(outputRows(await table.query().where("text = 'changed'").analyzePlan()), 4);
    await assert.rejects(table.checkout(99), /99|not found/);
  });

  test('only what its key lets it see', async () => {
    const name = server.name();
    await client.createTable(name, toRows(1));
    const stranger = await open({ apiKey: 'not-a-key' });
    await assert.rejects(stranger.openTable(name), /401/);
    const reader = await open({ apiKey: await server.key([{ role: 'reader', database: 'default', path: [name] }]) });
    const table = await reader.openTable(name);
    await assert.rejects(table.update({ values: { text: 'x' } }), /403/);
    await assert.rejects(reader.createTable(server.name(), toRows(1)), /403/);
  });

  test('the database of its address', async () => {
    const database = await server.database();
    const other = await open({}, database);
    await other.createTable('only-there', toRows(1));
    await assert.rejects(client.openTable('only-there'), /not found/);
  });

  test('a service behind an address that ends with a slash', async () => {
    const name = server.name();
    const slashed = await open({ hostOverride: `${server.url}/` });
    assert.equal(await (await slashed.createTable(name, toRows(1))).version(), 1);
  });
});

suite('the LanceDB client updates', () => {
  test('rows by values and by SQL, with a condition or without', async () => {
    const name = server.name();
    const table = await client.createTable(name, toRows(4));
    assert.deepEqual(
      { ...(await table.update({ values: { text: "it's" }, where: 'id = 1' })) },
      { rowsUpdated: 1, version: 2 },
    );
    assert.deepEqual({ ...(await table.update({ valuesSql: { id: 'id + 100' } })) }, { rowsUpdated: 4, version: 3 });
    assert.equal((await table.update({ values: { vector: [9, 9, 9, 9] }, where: 'id >= 102' })).rowsUpdated, 2);
    assert.equal((await table.update({ values: { text: 'none' }, where: 'id < 0' })).rowsUpdated, 0);
    const rows = await (await embedded(name)).query().where("text = 'it''s'").toArray();
    assert.equal(rows[0].id, 101);
  });

  test('nested fields', async () => {
    const name = server.name();
    await server.table({ id: name, stream: sampleStream(3) });
    const table = await client.openTable(name);
    assert.equal((await table.update({ valuesSql: { 'point.x': 'point.x + 1' } })).rowsUpdated, 3);
  });

  test('nothing where a column is missing: it hears of the column, asks once, and does not hear of a missing table', async () => {
    const table = await client.createTable(server.name(), toRows(2));
    const asked = async (): Promise<number> =>
      (await ShownMetrics.read(server.url, ADMIN_KEY)).value('tiltyard_requests_total', { operation: 'update_table' });
    const before = await asked();
    await assert.rejects(table.update({ valuesSql: { nope: '1' } }), (error: Error) => {
      assert.match(error.message, /400/);
      assert.match(error.message, /nope/);
      return true;
    });
    await assert.rejects(table.update({ valuesSql: { id: '1' }, where: 'nope = 1' }), /400.*nope/s);
    assert.equal(await asked(), before + 2, 'the client tried again');
  });

  test('the metadata of fields', async () => {
    const table = await client.createTable(server.name(), toRows(2));
    const { version } = await table.updateFieldMetadata([{ path: 'text', metadata: { lang: 'en', old: null } }]);
    assert.equal(version, 2);
    const field = (await table.schema()).fields.find((each) => each.name === 'text');
    assert.equal(field?.metadata.get('lang'), 'en');
  });
});

suite('the LanceDB client analyzes', () => {
  let table: Table;
  before(async () => {
    const name = server.name();
    table = await client.createTable(name, toRows(30));
    await (await embedded(name)).createIndex('text', { config: Index.fts({ withPosition: true }) });
    // A fresh connection, so that the client has to ask for all that it knows.
    table = await (await open()).openTable(name);
  });

  test('a scan, whole, filtered, limited, with an offset, of some columns', async () => {
    assert.equal(await rowsOf(table.query()), 30);
    assert.equal(await rowsOf(table.query().where('id < 4').where('id > 1')), 2);
    assert.equal(await rowsOf(table.query().limit(7).offset(25)), 5);
    assert.equal(await rowsOf(table.query().limit(0)), 0);
    assert.equal(await rowsOf(table.query().select(['id']).limit(3)), 3);
    assert.match(await table.query().select({ twice: 'id * 2' }).withRowId().analyzePlan(), /twice/);
  });

  const near = (): VectorQuery => table.query().nearestTo([0, 1, 2, 3]);

  test('a vector search with each of its options', async () => {
    assert.equal(await rowsOf(near()), 10);
    assert.equal(await rowsOf(near().limit(3)), 3);
    assert.equal(await rowsOf(near().where('id >= 28')), 2);
    assert.equal(await rowsOf(near().where('id >= 28').postfilter()), 0);
    assert.match(await near().distanceType('cosine').analyzePlan(), /metric=cosine/);
    assert.equal(await rowsOf(near().distanceRange(0, 5)), 2);
    for (const query of [
      near().column('vector'),
      near().nprobes(5),
      near().minimumNprobes(2),
      near().maximumNprobes(0),
      near().refineFactor(2),
      near().ef(50),
      near().bypassVectorIndex(),
      near().withRowId(),
      near().select(['id']),
    ]) {
      assert.equal(await rowsOf(query), 10);
    }
    assert.equal(await rowsOf(near().fastSearch()), 0);
  });

  test('a search for several vectors', async () => {
    assert.equal(await rowsOf(table.query().nearestTo([0, 1, 2, 3]).addQueryVector([29, 30, 31, 32]).limit(4)), 8);
  });

  test('a full-text search, by string and by every kind of query', async () => {
    const search = (query: Parameters<ReturnType<Table['query']>['fullTextSearch']>[0]) =>
      table.query().fullTextSearch(query).limit(100);
    assert.equal(await rowsOf(search('even')), 15);
    assert.equal(
      await rowsOf(
        table
          .query()
          .fullTextSearch('even', { columns: ['text'] })
          .limit(4),
      ),
      4,
    );
    const [even, seven] = [new MatchQuery('even', 'text'), new MatchQuery('number7', 'text')];
    assert.equal(await rowsOf(search(even)), 15);
    assert.equal(await rowsOf(search(new PhraseQuery('odd number7', 'text'))), 1);
    assert.equal(await rowsOf(search(new BoostQuery(even, seven))), 15);
    assert.equal(await rowsOf(search(new MultiMatchQuery('number7', ['text']))), 1);
    assert.equal(
      await rowsOf(
        search(
          new BooleanQuery([
            [Occur.Must, new MatchQuery('odd', 'text')],
            [Occur.MustNot, seven],
          ]),
        ),
      ),
      14,
    );
    assert.equal(await rowsOf(table.query().fullTextSearch('even').where('id < 4').limit(100)), 2);
  });

  test('nothing that is wrong: it hears why', async () => {
    await assert.rejects(table.query().where('nope = 1').analyzePlan(), /400.*nope/s);
    await assert.rejects(table.query().where('id =').analyzePlan(), /400/);
    await assert.rejects(table.query().nearestTo([1, 2]).analyzePlan(), /400.*dimension/s);
  });
});

test('the LanceDB client gets in by its own OAuth configuration', async (t) => {
  const provider = await startIdentityProvider();
  t.after(async () => provider.close());
  const grants = [{ claim: 'scope', value: 'tables.write', role: 'writer', database: 'default' }];
  const issuers = JSON.stringify([{ issuer: provider.issuer, audience: provider.audience, grants }]);
  const guarded = await ContractServer.start({ env: { TILTYARD_AUTH_ISSUERS: issuers } });
  t.after(async () => guarded.close());
  const { issuer, clientId, clientSecret } = provider;
  const oauthConfig = { issuerUrl: issuer, clientId, clientSecret, scopes: ['tables.write'] };
  const connection = await connect('db://default', { hostOverride: guarded.url, oauthConfig });
  const table = await connection.createTable('t', toRows(2));
  assert.equal((await table.update({ values: { text: 'x' } })).rowsUpdated, 2);
});
