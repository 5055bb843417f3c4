import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Float64, Int32, Utf8 } from 'apache-arrow';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { documentStream, nestedStream, streamOf } from '../contract-tables.ts';
import {
  CODE,
  assertRefused,
  badRequest,
  columnNotFound,
  forbidden,
  tableNotFound,
  unauthenticated,
} from '../refusal.ts';
import { ITEMS, TOTAL, column, itemsStream, itemsWithTotal } from './computed-tables.ts';

let server: ContractServer;
/** Only refusals are tried on it. */
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await itemsWithTotal(server);
});
after(async () => server.close());

const computed = (name: string, text: unknown): object => ({ new_columns: [{ name, computed: text }] });

async function schema(made: MadeTable): Promise<Readonly<Record<string, any>>> {
  const { json } = await server.admin.post(`${made.at}/describe`, {});
  return Object.fromEntries(json.schema.fields.map((field: { name: string }) => [field.name, field]));
}

async function post(made: MadeTable, operation: string, body: object): Promise<number> {
  const answer = await server.admin.post(`${made.at}/${operation}`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.version;
}

async function send(made: MadeTable, operation: string, stream: Uint8Array): Promise<void> {
  const answer = await server.admin.arrow(`${made.at}/${operation}`, stream);
  assert.equal(answer.status, 200, answer.text);
}

suite('add_columns with computed', () => {
  test('adds a column of nulls in one commit, with its type and its definition', async () => {
    const made = await server.table({ stream: itemsStream(ITEMS) });
    assert.equal(await post(made, 'add_columns', TOTAL), made.version + 1);
    const { total } = await schema(made);
    assert.deepEqual([total.type, total.nullable], [{ type: 'float64' }, true]);
    assert.equal(total.metadata['tiltyard.computed'], 'price * quantity');
    assert.deepEqual(await column(server, made), [null, null, null]);
  });

  test('adds several at once, of types that follow from their expressions', async () => {
    const made = await server.table({ stream: documentStream(2) });
    const columns = [
      { name: 'shout', computed: 'upper(title)' },
      { name: 'next', computed: 'id + 1' },
      { name: 'is_odd', computed: 'id % 2 = 1' },
    ];
    await post(made, 'add_columns', { new_columns: columns });
    const { shout, next, is_odd: isOdd } = await schema(made);
    assert.deepEqual([shout.type.type, next.type.type, isOdd.type.type], ['utf8', 'int32', 'bool']);
    await send(made, 'insert', documentStream(1));
    const rows = (await server.rows(made)).filter((row) => row['next'] !== null);
    assert.deepEqual(
      rows.map((row) => [row['shout'], row['next'], row['is_odd']]),
      [['TITLE EVEN', 1, false]],
    );
  });

  test('adds to a branch alone', async () => {
    const made = await server.table({ stream: itemsStream(ITEMS) });
    await (await (await server.embedded(made)).branches()).create('side');
    await post(made, 'add_columns', { ...TOTAL, branch: 'side' });
    assert.equal((await schema(made))['total'], undefined);
  });

  const refusals: readonly (readonly [title: string, body: object, detail: RegExp, code?: number])[] = [
    ['SQL that is more than an expression', computed('x', 'id; DROP'), /new_columns\[0\]\.computed/],
    [
      'a function whose value changes',
      computed('x', 'price * random()'),
      /"random" returns a different value on each call/,
    ],
    ['the time, written without parentheses', computed('x', 'coalesce(price, current_date)'), /"current_date"/],
    ['the address of a row', computed('x', 'id + _rowid'), /"_rowid"/],
    ['another computed column', computed('x', 'total + 1'), /"total", which is also a computed column/],
    ['a constant', computed('x', '1 + 1'), /at least one column/],
    ['a name that is there', computed('price', 'id + 1'), /already has a field "price"/],
    ['a name that the engine keeps', computed('_rowid', 'id + 1'), /reserved/, CODE.schema],
    ['computed beside expression', { new_columns: [{ name: 'x', computed: 'id', expression: '1' }] }, /together with/],
    [
      'computed columns together with others',
      {
        new_columns: [
          { name: 'x', computed: 'id + 1' },
          { name: 'y', expression: '1' },
        ],
      },
      /new_columns\[1\]/,
    ],
    ['a number', computed('x', 7), /computed/],
  ];
  for (const [title, body, detail, code] of refusals) {
    test(`refuses ${title}`, async () =>
      assertRefused(await server.admin.post(`${table.at}/add_columns`, body), badRequest(detail, code)));
  }

  test('refuses an unknown column, a missing table, and callers without permission', async () => {
    const at = `${table.at}/add_columns`;
    assertRefused(await server.admin.post(at, computed('x', 'nope + 1')), columnNotFound);
    assertRefused(await server.admin.post('/v1/table/none/add_columns', TOTAL), tableNotFound);
    assertRefused(await server.stranger().post(at, TOTAL), unauthenticated);
    assertRefused(await (await server.caller('reader')).post(at, TOTAL), forbidden);
  });

  test('keeps its definition out of the reach of update_field_metadata', async () => {
    const made = await itemsWithTotal(server);
    const set = { updates: [{ path: 'total', metadata: { 'tiltyard.computed': 'id' } }] };
    const answer = await server.admin.post(`${made.at}/update_field_metadata`, set);
    assertRefused(answer, badRequest(/only the server sets it/));
    const replace = { updates: [{ path: 'total', metadata: { unit: 'EUR' }, replace: true }] };
    await post(made, 'update_field_metadata', replace);
    const { metadata } = (await schema(made))['total'];
    assert.deepEqual(metadata, { unit: 'EUR', 'tiltyard.computed': 'price * quantity' });
  });
});

suite('rows of a table with computed columns', () => {
  test('are computed when they are inserted', async () => {
    const made = await itemsWithTotal(server);
    await send(
      made,
      'insert',
      itemsStream([
        [4, 3, 3],
        [5, null, 2],
      ]),
    );
    assert.deepEqual(await column(server, made), [null, null, null, 9, null]);
  });

  test('are computed from null where an input was left out', async () => {
    const made = await server.table({ stream: itemsStream(ITEMS) });
    await post(made, 'add_columns', computed('known', 'coalesce(price, -1.0) + id'));
    await send(made, 'insert', streamOf({ id: { type: new Int32(), values: [9], nullable: false } }));
    assert.deepEqual(await column(server, made, 'known'), [null, null, null, 8]);
  });

  test('are computed from values as they are stored, whatever type they were sent in', async () => {
    const made = await itemsWithTotal(server);
    const stream = streamOf({
      quantity: { type: new Float64(), values: [3] },
      price: { type: new Int32(), values: [2] },
      id: { type: new Int32(), values: [4], nullable: false },
    });
    const answer = await server.admin.arrow(`${made.at}/insert`, stream);
    // A float is not silently cut to an integer.
    assertRefused(answer, badRequest(/"quantity"/, CODE.schema));
    const integers = streamOf({
      quantity: { type: new Int32(), values: [3] },
      price: { type: new Int32(), values: [2] },
      id: { type: new Int32(), values: [4], nullable: false },
    });
    await send(made, 'insert', integers);
    assert.equal((await column(server, made)).at(-1), 6);
  });

  test('are computed when many inserts share a commit', async () => {
    const made = await itemsWithTotal(server);
    const ids = Array.from({ length: 20 }, (_unused, index) => index + 4);
    await Promise.all(ids.map(async (id) => send(made, 'insert', itemsStream([[id, id, 2]]))));
    assert.deepEqual(
      (await column(server, made)).slice(3),
      ids.map((id) => id * 2),
    );
  });

  test('are computed in every part of an upload', async () => {
    const made = await itemsWithTotal(server);
    const { json } = await server.admin.post(`${made.at}/multipart_write/create`, {});
    for (const id of [4, 5]) await send(made, `insert?upload_id=${json.upload_id}`, itemsStream([[id, id, 5]]));
    await post(made, `multipart_write/complete?upload_id=${json.upload_id}`, {});
    assert.deepEqual((await column(server, made)).slice(3), [20, 25]);
  });

  test('keep structs, lists and JSON as they were sent', async () => {
    const json = { type: new Utf8(), values: ['{"a":1}', null], metadata: { 'ARROW:extension:name': 'arrow.json' } };
    const stream = streamOf({ id: { type: new Int32(), values: [1, 2] }, doc: json });
    const made = await server.table({ stream });
    await post(made, 'add_columns', computed('a', "json_extract(doc, '$.a')"));
    await send(made, 'insert', stream);
    const { json: found } = await server.admin.post(
      `${made.at}/query`,
      { filter: 'a IS NOT NULL' },
      { accept: 'application/json' },
    );
    assert.deepEqual(
      found.rows.map((row: any) => [row.id, row.doc, row.a]),
      [[1, '{"a":1}', '1']],
    );

    const plain = await server.table({ stream: nestedStream() });
    const names = Object.keys(await schema(plain));
    await post(plain, 'add_columns', computed('twice', 'id * 2'));
    await send(plain, 'insert', nestedStream());
    const rows = await server.rows(plain);
    const [one, other] = [rows.filter((row) => row['twice'] === null), rows.filter((row) => row['twice'] !== null)];
    const given = (list: readonly any[]) => list.map((row) => names.map((name) => row[name]));
    assert.deepEqual(given(other), given(one));
  });

  test('are refused with values for a computed column, or with values that cannot be computed', async () => {
    const given = streamOf({
      id: { type: new Int32(), values: [4], nullable: false },
      total: { type: new Float64(), values: [1] },
    });
    assertRefused(await server.admin.arrow(`${table.at}/insert`, given), badRequest(/"total" is computed/));
    const merge = `${table.at}/merge_insert?on=id&when_not_matched_insert_all=true`;
    assertRefused(await server.admin.arrow(merge, given), badRequest(/"total" is computed/));
    const made = await server.table({ stream: itemsStream(ITEMS) });
    await post(made, 'add_columns', computed('share', '100 / quantity'));
    const answer = await server.admin.arrow(`${made.at}/insert`, itemsStream([[4, 1, 0]]));
    assertRefused(answer, badRequest(/divides by zero/));
    assert.equal((await server.rows(made)).length, 3);
  });

  test('are refused when another program has broken a definition', async () => {
    const made = await itemsWithTotal(server);
    const embedded: any = await server.embedded(made);
    await embedded.inner.updateFieldMetadata([{ path: 'total', metadata: { 'tiltyard.computed': 'now()' } }]);
    const answer = await server.admin.arrow(`${made.at}/insert`, itemsStream([[4, 3, 3]]));
    assertRefused(answer, badRequest(/definition of the computed column "total" cannot be used.*"now"/, CODE.schema));
    await post(made, 'drop_columns', { columns: ['total'] });
    await send(made, 'insert', itemsStream([[4, 3, 3]]));
  });

  test('are computed by a merge, for rows that match and for new ones', async () => {
    const made = await itemsWithTotal(server);
    const at = 'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
    await send(
      made,
      at,
      itemsStream([
        [2, 10, 2],
        [7, 7, 7],
      ]),
    );
    assert.deepEqual(await column(server, made), [null, 20, null, 49]);
  });

  test('are refused by a merge that changes some of the inputs without the others', async () => {
    const half = streamOf({
      id: { type: new Int32(), values: [1], nullable: false },
      price: { type: new Float64(), values: [9] },
    });
    const at = `${table.at}/merge_insert?on=id&when_matched_update_all=true`;
    assertRefused(await server.admin.arrow(at, half), badRequest(/have no column "quantity"/, CODE.schema));
  });
});

suite('update of a table with computed columns', () => {
  test('computes them anew in the same commit', async () => {
    const made = await itemsWithTotal(server);
    await post(made, 'update', { updates: [['price', '10']], predicate: 'id < 3' });
    assert.deepEqual(await column(server, made), [20, 40, null]);
    const version = await post(made, 'update', {
      updates: [
        ['quantity', 'id'],
        ['price', '2.0'],
      ],
    });
    assert.equal(version, made.version + 3);
    assert.deepEqual(await column(server, made), [2, 4, 6]);
  });

  test('computes them from new values that depend on the old ones', async () => {
    const made = await itemsWithTotal(server);
    const body = { updates: [['price', 'price + 1']], predicate: 'price < 2' };
    const answer = await server.admin.post(`${made.at}/update`, body);
    assert.deepEqual([answer.status, answer.json.updated_rows], [200, 1], answer.text);
    // Only the row that was updated is computed.
    assert.deepEqual(await column(server, made), [5, null, null]);
    for (let round = 0; round < 8; round += 1) {
      await post(made, 'update', { updates: [['quantity', 'quantity + 1']], predicate: 'id = 1' });
    }
    assert.deepEqual(await column(server, made), [25, null, null]);
  });

  test('computes them from the values that volatile functions gave', async () => {
    const made = await itemsWithTotal(server);
    await post(made, 'update', { updates: [['price', 'random()']] });
    const prices = await column(server, made, 'price');
    assert.deepEqual(await column(server, made), [Number(prices[0]) * 2, Number(prices[1]) * 4, prices[2]]);
    const texts = await server.table({ stream: streamOf({ text: { type: new Utf8(), values: ['a', 'b'] } }) });
    await post(texts, 'add_columns', computed('copy', "concat(text, '!')"));
    for (const expression of ['uuid()', 'CAST(now() AS string)']) {
      await post(texts, 'update', { updates: [['text', expression]] });
      const stored = await column(server, texts, 'text');
      const marked = stored.map((text) => `${String(text)}!`);
      assert.deepEqual(await column(server, texts, 'copy'), marked, expression);
    }
  });

  test('computes them for updates that come at the same time', async () => {
    const made = await itemsWithTotal(server);
    const body = { updates: [['quantity', 'quantity + 1']], predicate: 'id = 2' };
    await Promise.all(Array.from({ length: 6 }, async () => post(made, 'update', body)));
    const other = Array.from({ length: 4 }, async (_unused, step) =>
      post(made, 'update', { updates: [['price', String(step + 1)]], predicate: `id = ${step}` }),
    );
    await Promise.all(other);
    assert.deepEqual(await column(server, made), [4, 30, 4]);
  });

  test('computes them also when the computed column is added just before it', async () => {
    const made = await server.table({ stream: itemsStream(ITEMS) });
    const body = { updates: [['quantity', 'quantity + 1']], predicate: 'id = 2' };
    const added = post(made, 'add_columns', TOTAL);
    await Promise.all([added, ...Array.from({ length: 6 }, async () => post(made, 'update', body))]);
    await post(made, 'update', body);
    assert.deepEqual(await column(server, made), [null, 27.5, null]);
  });

  test('leaves them alone when it changes other columns', async () => {
    const made = await itemsWithTotal(server);
    await post(made, 'add_columns', { new_columns: [{ name: 'note', data_type: 'string' }] });
    await post(made, 'update', { updates: [['note', "'x'"]] });
    assert.deepEqual(await column(server, made), [null, null, null]);
  });

  test('refuses to set one', async () => {
    const answer = await server.admin.post(`${table.at}/update`, { updates: [['total', '1']] });
    assertRefused(answer, badRequest(/"total" is computed/));
  });
});

suite('columns that others are computed from', () => {
  test('cannot be renamed, converted or dropped; the message names the computed column', async () => {
    const refused = async (operation: string, body: object) =>
      assertRefused(
        await server.admin.post(`${table.at}/${operation}`, body),
        badRequest(/"total" is computed from it/),
      );
    await refused('alter_columns', { alterations: [{ path: 'price', rename: 'cost' }] });
    await refused('alter_columns', { alterations: [{ path: 'price', data_type: 'float32' }] });
    await refused('drop_columns', { columns: ['price'] });
  });

  test('can be dropped together with them, or after them', async () => {
    const made = await itemsWithTotal(server);
    await post(made, 'drop_columns', { columns: ['price', 'total'] });
    assert.deepEqual(Object.keys(await schema(made)), ['id', 'quantity']);
  });

  test('a computed column keeps its type, and its definition under another name', async () => {
    const made = await itemsWithTotal(server);
    const retype = { alterations: [{ path: 'total', data_type: 'float32' }] };
    assertRefused(
      await server.admin.post(`${made.at}/alter_columns`, retype),
      badRequest(/is computed: its type cannot change/),
    );
    await post(made, 'alter_columns', { alterations: [{ path: 'total', rename: 'sum' }] });
    await send(made, 'insert', itemsStream([[4, 3, 3]]));
    assert.deepEqual(await column(server, made, 'sum'), [null, null, null, 9]);
  });

  test('definitions go with the versions: a restore brings them back', async () => {
    const made = await itemsWithTotal(server);
    await post(made, 'drop_columns', { columns: ['total'] });
    await post(made, 'restore', { version: made.version + 1 });
    await send(made, 'insert', itemsStream([[4, 3, 3]]));
    assert.deepEqual(await column(server, made), [null, null, null, 9]);
  });
});
