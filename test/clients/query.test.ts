import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import {
  BooleanQuery,
  BoostQuery,
  Index,
  MatchQuery,
  MultiMatchQuery,
  Occur,
  Operator,
  PhraseQuery,
  connect,
  rerankers,
} from '@lancedb/lancedb';
import type { Connection, Table } from '@lancedb/lancedb';
import type { Table as ArrowTable } from 'apache-arrow';
import { ContractServer } from '../contract/contract-server.ts';
import {
  count,
  nestedStream,
  streamOf,
  vectorType,
  vectors,
  Int32,
  Utf8,
  Float64,
} from '../contract/contract-tables.ts';
import { ADMIN_KEY } from '../support/server.ts';

/** The same calls of the unmodified client on the same table: over the service, and embedded. */
let server: ContractServer;
let connection: Connection;
let remote: Table;
let embedded: Table;

const ROWS = 200;

before(async () => {
  server = await ContractServer.start();
  const made = await server.table({ id: 'documents', stream: documents() });
  embedded = await server.embedded(made);
  connection = await connect('db://default', { apiKey: ADMIN_KEY, hostOverride: server.url });
  remote = await connection.openTable('documents');
  for (const column of ['title', 'body']) {
    await remote.createIndex(column, { config: Index.fts({ withPosition: true }) });
  }
});
after(async () => {
  connection.close();
  await server.close();
});

function documents(): Uint8Array {
  return streamOf({
    id: { type: new Int32(), values: count(ROWS) },
    title: {
      type: new Utf8(),
      values: count(ROWS).map(
        (row) => `title ${row % 2 === 0 ? 'even' : 'odd'}${' again'.repeat(row)}${row % 3 === 0 ? ' shared' : ''}`,
      ),
    },
    body: {
      type: new Utf8(),
      values: count(ROWS).map(
        (row) =>
          `the quick brown fox number${row % 7} jumps${' and jumps'.repeat(row)}${row % 5 === 0 ? ' shared' : ''}`,
      ),
    },
    price: { type: new Float64(), values: count(ROWS).map((row) => (row % 10 === 3 ? null : (row * 37) % 101)) },
    vec: { type: vectorType(4), values: vectors(ROWS, 4) },
  });
}

interface Query {
  toArrow(): Promise<ArrowTable>;
}

const QUERIES: Readonly<Record<string, (table: Table) => Query>> = {
  'all rows': (table) => table.query(),
  'some columns': (table) => table.query().select(['price', 'id']),
  'one column': (table) => table.query().select('title'),
  'columns by expression': (table) =>
    table.query().select(
      new Map([
        ['a', 'id + 1'],
        ['b', 'upper(title)'],
      ]),
    ),
  'a filter': (table) => table.query().where('id > 190 AND price IS NOT NULL'),
  'two filters': (table) => table.query().where('id > 10').where('id < 20'),
  'a filter that nothing passes': (table) => table.query().where('id > 1000').withRowId(),
  'a limit and an offset': (table) => table.query().limit(7).offset(5),
  'no rows': (table) => table.query().limit(0),
  'row ids': (table) => table.query().withRowId().limit(3),
  'an order': (table) =>
    table
      .query()
      .orderBy([{ columnName: 'price', ascending: false, nullsFirst: true }, { columnName: 'id' }])
      .limit(30),
  'an order after a filter': (table) => table.query().where('id < 50').orderBy({ columnName: 'id', ascending: false }),
  'rows by id': (table) => table.takeRowIds([5n, 1n, 199n]),
  'rows by id, with columns and row id': (table) => table.takeRowIds([7n, 3n]).select(['id']).withRowId(),
  'rows by offset': (table) => table.takeOffsets([150, 0, 3]),
  'no rows by offset': (table) => table.takeOffsets([5000]).select(['id']),
  'the nearest': (table) => table.query().nearestTo([3, 3, 3, 3]),
  'the nearest of a column, by cosine': (table) =>
    table.query().nearestTo([3, 4, 5, 6]).column('vec').distanceType('cosine').limit(5),
  'the nearest that pass a filter': (table) => table.query().nearestTo([3, 3, 3, 3]).where('id > 100').limit(5),
  'the nearest, then a filter': (table) =>
    table.query().nearestTo([3, 3, 3, 3]).where('id % 2 = 0').postfilter().limit(6),
  'the nearest, none of which passes': (table) => table.query().nearestTo([3, 3, 3, 3]).where('id > 1000').withRowId(),
  'the nearest with columns and row id': (table) =>
    table.query().nearestTo([9, 9, 9, 9]).select(['id', '_distance']).withRowId().limit(4),
  'the nearest within a distance': (table) => table.query().nearestTo([9, 9, 9, 9]).distanceRange(1, 40).limit(50),
  'the nearest after others': (table) => table.query().nearestTo([9, 9, 9, 9]).limit(4).offset(3),
  'the nearest, past any index': (table) =>
    table.query().nearestTo([9, 9, 9, 9]).bypassVectorIndex().refineFactor(2).nprobes(5).ef(50).limit(4),
  'words in all indexed columns': (table) => table.query().fullTextSearch('number3').limit(5),
  'a word that is in both columns of some': (table) => table.query().fullTextSearch('shared').limit(20),
  'words in one column': (table) =>
    table
      .query()
      .fullTextSearch('even', { columns: ['title'] })
      .limit(5),
  'words that are nowhere': (table) => table.query().fullTextSearch('nowhere').withRowId(),
  'words after a filter': (table) =>
    table
      .query()
      .fullTextSearch('even', { columns: ['title'] })
      .where('id > 100')
      .select(['id'])
      .limit(4),
  'a match query': (table) =>
    table
      .query()
      .fullTextSearch(new MatchQuery('qick fox', 'body', { fuzziness: 1, operator: Operator.And }))
      .limit(3),
  'a phrase query': (table) => table.query().fullTextSearch(new PhraseQuery('quick brown', 'body')).limit(3),
  'a boost query': (table) =>
    table
      .query()
      .fullTextSearch(
        new BoostQuery(new MatchQuery('number1', 'body'), new MatchQuery('odd', 'title'), { negativeBoost: 0.2 }),
      )
      .limit(6),
  'a multi-match query': (table) =>
    table
      .query()
      .fullTextSearch(new MultiMatchQuery('even', ['title', 'body']))
      .limit(5),
  'a boolean query': (table) =>
    table
      .query()
      .fullTextSearch(
        new BooleanQuery([
          [Occur.Must, new MatchQuery('number2', 'body')],
          [Occur.MustNot, new MatchQuery('odd', 'title')],
        ]),
      )
      .limit(20),
};

suite('the LanceDB client gets what it gets embedded', () => {
  for (const [title, build] of Object.entries(QUERIES)) {
    test(title, async () => {
      const [over, local] = await Promise.all([build(remote).toArrow(), build(embedded).toArrow()]);
      // The client itself drops the columns of a result of no rows.
      assert.deepEqual(columnsOf(over), columnsOf(local));
      assert.deepEqual(rowsOf(over), rowsOf(local));
    });
  }

  test('the nearest to several vectors, whichever is found first', async () => {
    const find = async (table: Table): Promise<ArrowTable> =>
      table.query().nearestTo([3, 3, 3, 3]).addQueryVector([90, 90, 90, 90]).limit(3).select(['id']).toArrow();
    const [over, local] = await Promise.all([find(remote), find(embedded)]);
    assert.deepEqual(columnsOf(over), columnsOf(local));
    assert.deepEqual(rowsOf(over).toSorted(), rowsOf(local).toSorted());
  });

  test('a hybrid search, fused by the client', async () => {
    const find = async (table: Table): Promise<ArrowTable> => {
      const reranker = await rerankers.RRFReranker.create(60);
      return table.query().fullTextSearch('number3').nearestTo([7, 7, 7, 7]).rerank(reranker).limit(8).toArrow();
    };
    const [over, local] = await Promise.all([find(remote), find(embedded)]);
    assert.ok(over.numRows > 0);
    assert.deepEqual(rowsOf(over), rowsOf(local));
  });

  test('rows as objects', async () => {
    const [over, local] = await Promise.all([remote.query().limit(3).toArray(), embedded.query().limit(3).toArray()]);
    assert.deepEqual(JSON.stringify(over), JSON.stringify(local));
  });

  test('batches, one after the other', async () => {
    const ids: number[] = [];
    for await (const batch of remote.query().select(['id'])) ids.push(...(batch.getChild('id')?.toArray() ?? []));
    assert.deepEqual(ids, count(ROWS));
  });

  test('counts', async () => {
    for (const filter of [undefined, 'id >= 150', 'title = "never"'.replaceAll('"', "'")]) {
      assert.equal(await remote.countRows(filter), await embedded.countRows(filter));
    }
  });

  test('the schema of a result', async () => {
    for (const title of ['some columns', 'the nearest with columns and row id', 'a match query']) {
      const build = QUERIES[title];
      assert.ok(build);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Every query of the client has this call.
      const schemaOf = async (query: Query) => (query as ReturnType<Table['query']>).outputSchema();
      const [over, local] = await Promise.all([schemaOf(build(remote)), schemaOf(build(embedded))]);
      assert.deepEqual(over.fields.map(String), local.fields.map(String));
    }
  });

  test('plans, without the place of the data', async () => {
    for (const build of [
      (table: Table) => table.query().where('id > 5').limit(3),
      (table: Table) => table.query().nearestTo([1, 2, 3, 4]).limit(3),
      (table: Table) =>
        table
          .query()
          .fullTextSearch('fox', { columns: ['body'] })
          .limit(3),
    ]) {
      const [over, local] = await Promise.all([build(remote).explainPlan(true), build(embedded).explainPlan(true)]);
      const strip = (plan: string): string =>
        plan
          .replaceAll(/uri=[^,]*/g, 'uri=')
          .replaceAll(/[()]/g, '')
          .trimEnd();
      assert.equal(strip(over), strip(local));
      assert.match(await build(remote).analyzePlan(), /output_rows=3/);
    }
  });

  test('the plan of a hybrid search, which embedded is refused', async () => {
    const plan = await remote.query().fullTextSearch('fox').nearestTo([1, 2, 3, 4]).limit(3).explainPlan();
    assert.match(plan, /^HybridFusionExec: reranker=rrf\(60\), fetch=3\n {2}\w+/);
  });
});

suite('the LanceDB client reads', () => {
  test('what it has just written, and an earlier version by checkout', async () => {
    const table = await connection.createTable('moving', [{ id: 1, price: 1 }]);
    await table.update({ values: { price: 5 } });
    const prices = async (): Promise<readonly unknown[]> => [
      ...((await table.query().toArrow()).getChild('price') ?? []),
    ];
    assert.deepEqual(await prices(), [5]);
    await table.checkout(1);
    assert.deepEqual(await prices(), [1]);
    assert.equal(await table.countRows(), 1);
    await table.checkoutLatest();
    assert.deepEqual(await prices(), [5]);
  });

  test('null structs as null, also through a filter', async () => {
    const made = await server.table({ stream: nestedStream(30) });
    const table = await connection.openTable(made.id);
    for (const filter of ['id = 4', 'id < 30']) {
      for (const row of await table.query().where(filter).toArray()) {
        assert.equal(row.place === null, row.id % 3 === 1, `row ${row.id}`);
      }
    }
  });

  test('a column that is not there: an error that is no missing table', async () => {
    await assert.rejects(remote.query().select(['nope']).toArray(), /400 Bad Request.*nope/s);
    await assert.rejects(remote.query().where('nope = 1').toArray(), /400 Bad Request.*nope/s);
  });
});

function columnsOf(table: ArrowTable): readonly string[] {
  return table.schema.fields.map((field) => `${field.name}: ${field.type} ${field.nullable}`);
}

function rowsOf(table: ArrowTable): readonly string[] {
  return table
    .toArray()
    .map((row: object) =>
      JSON.stringify(row, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    );
}
