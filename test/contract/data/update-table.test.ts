import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import {
  Field,
  Int32,
  List,
  Struct,
  Utf8,
  count,
  nestedStream,
  optional,
  streamOf,
  vectorType,
  vectors,
} from '../contract-tables.ts';
import { sendRaw } from '../raw-request.ts';
import {
  CODE,
  assertRefused,
  badRequest,
  columnNotFound,
  forbidden,
  tableNotFound,
  unauthenticated,
} from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

async function update(table: Pick<MadeTable, 'at'>, body: object, client: Client = server.admin): Promise<Answer> {
  return client.post(`${table.at}/update`, body);
}

async function column(table: MadeTable, name: string): Promise<readonly unknown[]> {
  return (await server.rows(table)).map((row) => row[name]);
}

/** Refused, and the table is as it was. */
async function assertUnchanged(
  table: MadeTable,
  body: object,
  expected: Parameters<typeof assertRefused>[1],
): Promise<void> {
  const rows = await server.rows(table);
  const version = await (await server.embedded(table)).version();
  assertRefused(await update(table, body), expected);
  assert.deepEqual(await server.rows(table), rows);
  assert.equal(await (await server.embedded(table)).version(), version);
}

suite('an update answers 200 with', () => {
  test('the fields of the update response, each of its type', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    const { json } = await updated(server.admin, table, { updates: [['price', '1']] });
    const fields = ['context', 'properties', 'rows_updated', 'transaction_id', 'updated_rows', 'version'];
    assert.deepEqual(Object.keys(json).toSorted(), fields);
    assert.equal(json.updated_rows, 4);
    assert.equal(json.version, 2);
    assert.equal(typeof json.transaction_id, 'string');
    assert.deepEqual(json.properties, {});
    assert.equal(typeof json.context, 'object');
  });

  test('the same number under the name that the LanceDB client reads', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    const { json } = await updated(server.admin, table, { updates: [['price', '1']], predicate: 'id > 2' });
    assert.deepEqual([json.updated_rows, json.rows_updated], [1, 1]);
  });

  test('only that name for the LanceDB client, which newer releases take for the same field as the other and refuse twice', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    const { json } = await server.admin.post(`${table.at}/update/`, { updates: [['price', '1']], predicate: 'id > 2' });
    assert.deepEqual([json.updated_rows, json.rows_updated], [undefined, 1]);
  });

  test('the version that the commit made', async () => {
    const table = await server.table();
    for (const version of [2, 3, 4]) {
      assert.equal((await updated(server.admin, table, { updates: [['price', '1']] })).json.version, version);
      assert.equal(await (await server.embedded(table)).version(), version);
    }
  });

  test('updated_rows 0 when no row matches', async () => {
    const table = await server.table();
    const { json } = await updated(server.admin, table, { updates: [['price', '1']], predicate: 'id = 99' });
    assert.equal(json.updated_rows, 0);
    assert.equal(json.version, await (await server.embedded(table)).version());
  });

  test('a transaction id by which the service has recorded who wrote which version of what', async () => {
    const table = await server.table();
    const answer = await server.admin.post(
      `${table.at}/update`,
      { updates: [['price', '1']] },
      { 'x-request-id': 'tx-1' },
    );
    const record = await server.catalog.transactions.find(answer.json.transaction_id);
    assert.deepEqual([record?.path, record?.version, record?.requestId], [[table.id], 2, 'tx-1']);
  });
});

suite('the updates of a request', () => {
  test('are pairs of field path and SQL expression, evaluated against the current row', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    await updated(server.admin, table, {
      updates: [
        ['price', 'price * 2 + id'],
        ['name', "upper(name) || '!'"],
      ],
    });
    assert.deepEqual(await column(table, 'price'), [0, 4, 8, 12]);
    assert.deepEqual(await column(table, 'name'), ['NAME 0!', 'NAME 1!', 'NAME 2!', 'NAME 3!']);
  });

  test('never read a value that the same request has changed', async () => {
    const stream = streamOf({
      id: { type: new Int32(), values: [1] },
      a: { type: new Int32(), values: [10] },
      b: { type: new Int32(), values: [20] },
    });
    const table = await server.table({ stream });
    await updated(server.admin, table, {
      updates: [
        ['a', "a + id + length('b')"],
        ['b', 'b * 2'],
      ],
    });
    assert.deepEqual(await server.rows(table), [{ id: 1, a: 12, b: 40 }]);
  });

  test('may set null, and every type keeps its own', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    await updated(server.admin, table, {
      updates: [
        ['price', 'NULL'],
        ['id', "'7'"],
        ['vec', '[1, 2, 3, 4]'],
      ],
      predicate: 'id = 1',
    });
    const row = (await server.rows(table)).find((each) => each['id'] === 7);
    assert.deepEqual([row?.['price'], row?.['vec']], [null, [1, 2, 3, 4]]);
    const types = (await (await server.embedded(table)).schema()).fields.map((field) => String(field.type));
    assert.deepEqual(types.slice(0, 3), ['Int32', 'Float64', 'Utf8']);
  });

  // The fallback refuses them.
  const noItemMetadata = readEngineRelease().isFallback ? 'the fallback engine cannot set them' : false;

  test('may set lists whose items have metadata', { skip: noItemMetadata }, async () => {
    const lists = new List(new Field('item', new Int32(), true, new Map([['unit', 'cm']])));
    const nested = new List(optional('item', new List(optional('item', new Int32()))));
    const stream = streamOf({
      id: { type: new Int32(), values: [0, 1, 2, 3] },
      lists: { type: lists, values: [[1], [2], [3], null] },
      nested: { type: nested, values: [[[1]], [[2]], [[3]], null] },
    });
    const table = await server.table({ stream });
    const metadata = { updates: [{ path: 'nested.item.item', metadata: { unit: 'cm' } }] };
    assert.equal((await server.admin.post(`${table.at}/update_field_metadata`, metadata)).status, 200);
    const set = async (id: number, value: string, nestedValue: string) => {
      const updates = [
        ['lists', value],
        ['nested', nestedValue],
      ];
      await updated(server.admin, table, { updates, predicate: `id = ${id}` });
    };
    await set(0, '[5, 6]', '[[5], [6, 7]]');
    await set(1, 'lists', 'nested');
    await set(2, 'NULL', 'NULL');
    await set(3, 'make_array()', '[[1]]');
    const rows = (await server.rows(table)).toSorted((a, b) => Number(a['id']) - Number(b['id']));
    assert.deepEqual(rows, [
      { id: 0, lists: [5, 6], nested: [[5], [6, 7]] },
      { id: 1, lists: [2], nested: [[2]] },
      { id: 2, lists: null, nested: null },
      { id: 3, lists: [], nested: [[1]] },
    ]);
  });

  test('are required, and at least one', async () => {
    const table = await server.table();
    await assertUnchanged(table, {}, badRequest(/updates/));
    await assertUnchanged(table, { updates: null }, badRequest(/updates/));
    await assertUnchanged(table, { updates: [] }, badRequest(/updates/));
  });

  test('have exactly two elements each, both texts', async () => {
    const table = await server.table();
    for (const pair of [
      [],
      ['price'],
      ['price', '1', '2'],
      ['price', 1],
      [1, '1'],
      ['price', null],
      [['price', '1']],
      'price',
      { price: '1' },
    ]) {
      await assertUnchanged(table, { updates: [['name', "'x'"], pair] }, badRequest(/updates/));
    }
    await assertUnchanged(table, { updates: { price: '1' } }, badRequest(/updates/));
  });

  test('with a field that is not there are a 404 TableColumnNotFound', async () => {
    const table = await server.table();
    await assertUnchanged(table, { updates: [['nope', '1']] }, { ...columnNotFound, detail: /"nope"/ });
    await assertUnchanged(table, { updates: [['point.nope', '1']] }, { ...columnNotFound, detail: /"point.nope"/ });
    await assertUnchanged(table, { updates: [['Price', '1']] }, { ...columnNotFound, detail: /"Price"/ });
    await assertUnchanged(table, { updates: [['price', 'nope + 1']] }, { ...columnNotFound, detail: /nope/ });
    await assertUnchanged(table, { updates: [['_rowid', '1']] }, columnNotFound);
  });

  test('with a path that does not parse are a 400', async () => {
    const table = await server.table();
    for (const path of ['', '.', 'point.', '.x', 'point..x', '`price', 'pri`ce', '`price`x']) {
      await assertUnchanged(table, { updates: [[path, '1']] }, badRequest());
    }
  });

  test('with an expression that is no single SQL expression are a 400', async () => {
    const table = await server.table();
    for (const expression of [
      '',
      ' ',
      '1,',
      '1; 2',
      '1 FROM t',
      '1)',
      '(1',
      'price +',
      "'open",
      'SELECT 1',
      '(SELECT 1)',
      '$1',
      '?',
      'sum(price)',
      '1 -- tail',
      '1 /* x */ 2',
      'nofunction(1)',
    ]) {
      await assertUnchanged(table, { updates: [['price', expression]] }, badRequest());
    }
  });

  test('with a value that does not fit the column are a 400', async () => {
    const table = await server.table();
    for (const [path, expression] of [
      ['price', "'abc'"],
      ['id', '99999999999'],
      ['id', '1 / 0'],
      ['vec', '1'],
      ['price', '[1, 2]'],
    ]) {
      await assertUnchanged(table, { updates: [[path, expression]] }, badRequest());
    }
  });

  test('with null for a column that may not be null are a 400 of the schema’s kind', async () => {
    const stream = streamOf({
      id: { type: new Int32(), values: [1, 2], nullable: false },
      a: { type: new Int32(), values: [1, 2] },
    });
    const table = await server.table({ stream });
    await assertUnchanged(table, { updates: [['id', 'NULL']] }, badRequest(/"id"/, CODE.schema));
  });

  test('with a vector of the wrong length are a 400, never a null', async () => {
    const table = await server.table();
    for (const expression of ['[1, 2, 3]', '[1, 2, 3, 4, 5]', '[1]', "[1, 2, 3, 'x']"]) {
      await assertUnchanged(table, { updates: [['vec', expression]] }, badRequest());
    }
    assert.ok((await column(table, 'vec')).every((vector) => Array.isArray(vector) && vector.length === 4));
  });

  test('that name a field twice, or a field and its parent, are a 400', async () => {
    const table = await server.table();
    await assertUnchanged(
      table,
      {
        updates: [
          ['price', '1'],
          ['price', '2'],
        ],
      },
      badRequest(/"price"/),
    );
    await assertUnchanged(
      table,
      {
        updates: [
          ['price', '1'],
          ['`price`', '2'],
        ],
      },
      badRequest(/"price"/),
    );
    await assertUnchanged(
      table,
      {
        updates: [
          ['point.x', '1'],
          ['point.x', '2'],
        ],
      },
      badRequest(/"point.x"/),
    );
    await assertUnchanged(
      table,
      {
        updates: [
          ['point', 'NULL'],
          ['point.x', '2'],
        ],
      },
      badRequest(/"point/),
    );
    await assertUnchanged(
      table,
      {
        updates: [
          ['point.x', '2'],
          ['point', 'NULL'],
        ],
      },
      badRequest(/"point/),
    );
  });
});

suite('the update of a nested field', () => {
  test('changes that field, keeps its siblings, and keeps null structs null', async () => {
    const table = await server.table({ stream: sampleStream(6) });
    const { json } = await updated(server.admin, table, { updates: [['point.x', 'point.x + 100']] });
    assert.equal(json.updated_rows, 6);
    assert.deepEqual(await column(table, 'point'), [
      { x: 100, label: 'p0' },
      { x: 100.5, label: 'p1' },
      null,
      { x: 101.5, label: 'p3' },
      { x: 102, label: 'p4' },
      null,
    ]);
  });

  test('keeps null structs null where a predicate selects nothing but them', async () => {
    const table = await server.table({ stream: sampleStream(6) });
    await updated(server.admin, table, { updates: [['point.x', '1']], predicate: 'id = 2' });
    await updated(server.admin, table, { updates: [['price', '1']], predicate: 'id = 5' });
    const point = await column(table, 'point');
    assert.deepEqual([point[2], point[5]], [null, null]);
    assert.equal(await (await server.embedded(table)).countRows('point IS NULL'), 2);
  });

  test('combines with other fields of the same struct, and with the whole of others', async () => {
    const table = await server.table({ stream: nestedStream(4) });
    const updates = [
      ['place.x', '1.5'],
      ['place.label', "'new'"],
      ['place.deep.leaf', 'place.deep.leaf * 2'],
      ['label', "'top'"],
    ];
    await updated(server.admin, table, { updates });
    const places = await column(table, 'place');
    assert.equal(places[1], null);
    assert.deepEqual(places[2], {
      x: 1.5,
      'x.y': 20,
      'b`t': 200,
      label: 'new',
      deep: { leaf: 4, word: 'w2' },
      vec: [2, 2],
    });
    assert.deepEqual(places[3], { x: 1.5, 'x.y': 30, 'b`t': 300, label: 'new', deep: null, vec: [3, 3] });
    assert.deepEqual(await column(table, 'label'), ['top', 'top', 'top', 'top']);
  });

  test('keeps the types of all fields of the struct', async () => {
    const table = await server.table({ stream: nestedStream(4) });
    const types = async (): Promise<readonly string[]> =>
      (await (await server.embedded(table)).schema()).fields.map((field) => String(field.type));
    const original = await types();
    await updated(server.admin, table, {
      updates: [
        ['place.deep.leaf', "'12'"],
        ['place.vec', '[7, 8]'],
      ],
    });
    assert.deepEqual(await types(), original);
    assert.deepEqual((await server.rows(table))[0]?.['place'].vec, [7, 8]);
  });

  test('may be of a whole struct', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    await updated(server.admin, table, {
      updates: [['point', "named_struct('x', 9.0, 'label', 'z')"]],
      predicate: 'id = 0',
    });
    assert.deepEqual((await column(table, 'point'))[0], { x: 9, label: 'z' });
  });

  test('with a vector of the wrong length in it is a 400, never a null', async () => {
    const table = await server.table({ stream: nestedStream(4) });
    await assertUnchanged(table, { updates: [['place.vec', '[1, 2, 3]']] }, badRequest());
  });

  test('inside a list of structs is a 400 with that reason', async () => {
    const item = new Struct([optional('a', new Int32())]);
    const stream = streamOf({
      id: { type: new Int32(), values: [1] },
      items: { type: new List(optional('item', item)), values: [[{ a: 1 }]] },
    });
    const table = await server.table({ stream });
    await assertUnchanged(table, { updates: [['items.item.a', '1']] }, badRequest(/list/));
  });

  test('in a struct with a child that may not be null is a 400 with that reason', async () => {
    const type = new Struct([new Field('must', new Int32(), false), optional('may', new Int32())]);
    const stream = streamOf({
      id: { type: new Int32(), values: [1] },
      pair: { type, values: [{ must: 1, may: 2 }], nullable: false },
    });
    const table = await server.table({ stream });
    await assertUnchanged(table, { updates: [['pair.may', '1']] }, badRequest(/is not nullable/));
  });
});

suite('the predicate of an update', () => {
  test('selects the rows; without it all rows are updated', async () => {
    const table = await server.table({ stream: sampleStream(5) });
    assert.equal((await updated(server.admin, table, { updates: [['price', '0']] })).json.updated_rows, 5);
    const { json } = await updated(server.admin, table, {
      updates: [['price', '1']],
      predicate: "id >= 3 OR name = 'name 0'",
    });
    assert.equal(json.updated_rows, 3);
    assert.deepEqual(await column(table, 'price'), [1, 0, 0, 1, 1]);
  });

  test('that is null counts as not given', async () => {
    const table = await server.table({ stream: sampleStream(5) });
    assert.equal(
      (await updated(server.admin, table, { updates: [['price', '0']], predicate: null })).json.updated_rows,
      5,
    );
  });

  test('may look into structs', async () => {
    const table = await server.table({ stream: sampleStream(6) });
    const { json } = await updated(server.admin, table, {
      updates: [['price', '0']],
      predicate: "point.label = 'p3' OR point IS NULL",
    });
    assert.equal(json.updated_rows, 3);
  });

  test('that is no single condition is a 400, and no row is updated', async () => {
    const table = await server.table();
    for (const predicate of [
      '',
      ' ',
      'id',
      '1',
      'id = 1 garbage',
      'id = 1; DROP TABLE t',
      'id = 1) OR (1 = 1',
      'id =',
      "id = 'one",
      'id = (SELECT 1)',
      'id = $1',
      '1 = 1 --',
    ]) {
      await assertUnchanged(table, { updates: [['price', '0']], predicate }, badRequest());
    }
    for (const predicate of [1, true, ['id = 1'], {}]) {
      await assertUnchanged(table, { updates: [['price', '0']], predicate }, badRequest(/predicate/));
    }
  });

  test('with a column that is not there is a 404 TableColumnNotFound', async () => {
    const table = await server.table();
    await assertUnchanged(
      table,
      { updates: [['price', '0']], predicate: 'nope = 1' },
      { ...columnNotFound, detail: /nope/ },
    );
  });

  test('that is misspelt is a 400 that names it, and no row is updated', async () => {
    const table = await server.table();
    for (const name of ['predicat', 'filter', 'where', 'Predicate']) {
      await assertUnchanged(
        table,
        { updates: [['price', '0']], [name]: 'id = 1' },
        badRequest(new RegExp(`"${name}"`)),
      );
    }
  });
});

suite('the properties of an update', () => {
  test('count together with those of updates at the same time', async () => {
    const table = await server.table();
    const answers = await Promise.all(
      count(4).map(async (id) => {
        const properties = { [`k${id}`]: 'x'.repeat(700_000) };
        return update(table, { updates: [['price', 'price + 1']], predicate: `id = ${id}`, properties });
      }),
    );
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 400, 400]);
    const refused = answers.filter(({ status }) => status === 400);
    for (const answer of refused) assertRefused(answer, badRequest(/properties has 2,100,006 bytes in total/));
    const { properties } = (await server.admin.post(`${table.at}/describe`, {})).json;
    assert.equal(Object.keys(properties).length, 2);
  });

  test('are stored with the table and returned', async () => {
    const table = await server.table({ query: { properties: '{"a":"1","b":"1"}' } });
    const { json } = await updated(server.admin, table, { updates: [['price', '0']], properties: { b: '2', c: '' } });
    assert.deepEqual(json.properties, { a: '1', b: '2', c: '' });
    const again = await updated(server.admin, table, { updates: [['price', '0']] });
    assert.deepEqual(again.json.properties, { a: '1', b: '2', c: '' });
    const found = await server.admin.arrow(`${table.at}/create?mode=exist_ok`, new Uint8Array());
    assert.deepEqual(found.json.properties, { a: '1', b: '2', c: '' });
  });

  test('are not stored when the update is refused', async () => {
    const table = await server.table({ query: { properties: '{"a":"1"}' } });
    assertRefused(await update(table, { updates: [['nope', '0']], properties: { a: '2' } }), columnNotFound);
    const { json } = await updated(server.admin, table, { updates: [['price', '0']] });
    assert.deepEqual(json.properties, { a: '1' });
  });

  test('are a map of texts', async () => {
    const table = await server.table();
    for (const properties of [{ a: 1 }, { a: null }, { a: {} }, 'a', ['a'], { a: true }]) {
      await assertUnchanged(table, { updates: [['price', '0']], properties }, badRequest(/properties/));
    }
  });

  test('are bounded in total, with those that the table has already, however many requests send them', async () => {
    const table = await server.table();
    const send = async (key: string) =>
      update(table, { updates: [['id', 'id']], properties: { [key]: 'x'.repeat(900_000) } });
    for (const key of ['a', 'b']) assert.equal((await send(key)).status, 200);
    const refused = await send('c');
    assert.equal(refused.status, 400);
    assertRefused(refused, badRequest(/properties has 2,700,003 bytes in total; at most 2 MiB are allowed/));
    const query = { mode: 'overwrite', properties: JSON.stringify({ d: 'x'.repeat(20_000) }) };
    const overwrite = async () =>
      server.admin.arrow(`${table.at}/create?${String(new URLSearchParams(query))}`, sampleStream(1));
    assert.equal((await overwrite()).status, 200);
    assert.equal((await send('a')).status, 200, 'a property may be replaced');
    const full = { updates: [['id', 'id']], properties: { e: 'x'.repeat(270_000) } };
    assert.equal((await update(table, full)).status, 200);
    query.properties = JSON.stringify({ f: 'x'.repeat(20_000) });
    const { status, json } = await overwrite();
    assert.deepEqual([status, json.code], [400, CODE.invalidInput]);
  });
});

suite('updates of one table that come at once', () => {
  test('are all applied, each with its own version', async () => {
    const table = await server.table({
      stream: streamOf({ id: { type: new Int32(), values: [1] }, n: { type: new Int32(), values: [0] } }),
    });
    const answers = await Promise.all(count(12).map(async () => update(table, { updates: [['n', 'n + 1']] })));
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
    assert.deepEqual(
      answers.map((answer) => answer.json.version).toSorted((a, b) => a - b),
      count(12).map((index) => index + 2),
    );
    assert.deepEqual(await server.rows(table), [{ id: 1, n: 12 }]);
  });

  test('are all applied beside those of another writer of the same files', async () => {
    const table = await server.table({
      stream: streamOf({ id: { type: new Int32(), values: [1] }, n: { type: new Int32(), values: [0] } }),
    });
    const other = await server.embedded(table);
    const [answers] = await Promise.all([
      Promise.all(count(5).map(async () => update(table, { updates: [['n', 'n + 1']] }))),
      (async () => {
        for (let times = 0; times < 5; times += 1) await other.update({ valuesSql: { n: 'n + 100' } });
      })(),
    ]);
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
    assert.deepEqual(await server.rows(table), [{ id: 1, n: 505 }]);
  });
});

suite('updates of different rows that come at once', () => {
  const ROWS = 32;

  async function counters(): Promise<MadeTable> {
    const ids = count(ROWS);
    const stream = streamOf({
      id: { type: new Int32(), values: ids.map((id) => (id === 31 ? 30 : id)) },
      n: { type: new Int32(), values: ids.map(() => 0) },
      label: { type: new Utf8(), values: ids.map(() => '') },
    });
    return server.table({ stream });
  }

  test('all land, each with its own count and its own transaction, and may share a version', async () => {
    const table = await counters();
    const answers = await Promise.all(
      count(ROWS).map(async (id) => update(table, { updates: [['n', 'n + 1']], predicate: `id = ${id}` })),
    );
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
    assert.deepEqual(
      answers.map(({ json }) => [json.updated_rows, json.rows_updated]),
      count(ROWS).map((id) => (id < 30 ? [1, 1] : id === 30 ? [2, 2] : [0, 0])),
    );
    assert.deepEqual(new Set(await column(table, 'n')), new Set([1]));
    assert.equal(new Set(answers.map(({ json }) => json.transaction_id)).size, ROWS);
    const latest = await (await server.embedded(table)).version();
    assert.equal(Math.max(...answers.map(({ json }) => json.version)), latest);
    assert.ok(latest <= ROWS, `${latest} versions`);
  });

  test('each write their own value', async () => {
    const table = await counters();
    const answers = await Promise.all(
      count(ROWS).map(async (id) => update(table, { updates: [['label', `'it''s ${id}'`]], predicate: `id = ${id}` })),
    );
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
    for (const row of await server.rows(table)) assert.equal(row['label'], `it's ${row['id']}`);
  });

  test('are all applied but the one that is wrong', async () => {
    const table = await counters();
    const answers = await Promise.all(
      count(ROWS).map(async (id) => update(table, { updates: [['n', '100 / (id - 17)']], predicate: `id = ${id}` })),
    );
    for (const [id, answer] of answers.entries()) {
      if (id === 17) assertRefused(answer, badRequest(/divides by zero/));
      else assert.equal(answer.status, 200, answer.text);
    }
    const untouched = (await server.rows(table)).filter((row) => row['n'] === 0);
    assert.deepEqual(
      untouched.map((row) => row['id']),
      [17],
    );
  });

  test('are seen by every read after the reply', async () => {
    const table = await counters();
    await Promise.all(
      count(ROWS).map(async (id) => {
        await updated(server.admin, table, { updates: [['n', '7']], predicate: `id = ${id}` });
        if (id === 31) return;
        const again = await updated(server.admin, table, {
          updates: [['label', "'seen'"]],
          predicate: `n = 7 AND id = ${id}`,
        });
        assert.equal(again.json.updated_rows, id === 30 ? 2 : 1);
      }),
    );
  });
});

suite('an update is refused', () => {
  const BODY = { updates: [['price', '1']] };

  test('with 404 when the table is missing', async () => {
    const answer = await update({ at: '/v1/table/absent' }, BODY);
    assertRefused(answer, { ...tableNotFound, detail: /"absent"/, instance: '/v1/table/absent/update' });
  });

  test('with 401 without a credential', async () => {
    assertRefused(await update(await server.table(), BODY, server.stranger()), unauthenticated);
  });

  test('with 403 to a caller who may only read, and nothing changes', async () => {
    const table = await server.table();
    assertRefused(await update(table, BODY, await server.caller('reader')), forbidden);
    assert.equal(await (await server.embedded(table)).version(), 1);
  });

  test('with 404 to a caller who may not see the table, as if it were not there', async () => {
    const table = await server.table();
    const other = await server.caller('writer', ['elsewhere']);
    const [hidden, absent] = [await update(table, BODY, other), await update({ at: '/v1/table/absent' }, BODY, other)];
    assertRefused(hidden, tableNotFound);
    assert.equal(hidden.text.replaceAll(table.id, 'absent'), absent.text);
  });

  test('with 415 for a body that is not JSON, and 400 for no body', async () => {
    const { at } = await server.table();
    const answer = await sendRaw(server.url, {
      path: `${at}/update`,
      headers: { 'content-type': 'text/plain' },
      body: JSON.stringify(BODY),
    });
    assertRefused(answer, { status: 415, code: CODE.invalidInput });
    assertRefused(await sendRaw(server.url, { path: `${at}/update` }), badRequest(/updates/));
  });

  test('with 405 for another method', async () => {
    const { at } = await server.table();
    assertRefused(await server.admin.get(`${at}/update`), { status: 405, code: CODE.invalidInput });
  });
});

test('an update of a table with vectors and text keeps what it does not name', async () => {
  const stream = streamOf({
    id: { type: new Int32(), values: count(3) },
    text: { type: new Utf8(), values: ['a', null, ''] },
    vec: { type: vectorType(2), values: [null, ...vectors(2, 2)] },
  });
  const table = await server.table({ stream });
  await updated(server.admin, table, { updates: [['id', 'id']] });
  assert.deepEqual(
    (await server.rows(table)).map((row) => row['text']),
    ['a', null, ''],
  );
  assert.equal((await server.rows(table))[0]?.['vec'], null);
});
