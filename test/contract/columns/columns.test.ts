import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { DateMillisecond, Decimal, Field, Schema, Table, Utf8, tableToIPC } from 'apache-arrow';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, documentStream, nestedStream, streamOf, vectorType } from '../contract-tables.ts';
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
/** Only refusals are tried on these. */
let table: MadeTable;
let nested: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await server.table({ stream: documentStream() });
  nested = await server.table({ stream: nestedStream() });
  assert.equal((await post(table, 'create_index', { column: 'id', index_type: 'BTREE' })).status, 200);
});
after(async () => server.close());

async function post(made: MadeTable, operation: string, body: object): Promise<Answer> {
  return server.admin.post(`${made.at}/${operation}`, body);
}

async function changed(made: MadeTable, operation: string, body: object): Promise<number> {
  const answer = await post(made, operation, body);
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.json.transaction_id, /./);
  return answer.json.version;
}

async function fields(made: MadeTable): Promise<Readonly<Record<string, any>>> {
  const { json } = await post(made, 'describe/', {});
  return Object.fromEntries(json.schema.fields.map((field: { name: string }) => [field.name, field]));
}

const add = (...columns: readonly object[]): object => ({ new_columns: columns });
const alter = (...alterations: readonly object[]): object => ({ alterations });

suite('add_columns', () => {
  test('takes the schema of an Arrow stream for columns of nulls, also on a branch', async () => {
    const made = await server.table({ stream: documentStream(2) });
    const empty = streamOf({
      note: { type: new Utf8(), values: [] },
      embedding: { type: vectorType(4), values: [] },
    });
    assert.equal((await server.admin.arrow(`${made.at}/add_columns/`, empty)).status, 200);
    const { note, embedding } = await fields(made);
    assert.deepEqual([note.type.type, note.nullable], ['string', true]);
    assert.deepEqual([embedding.type.type, embedding.type.length], ['fixed_size_list', 4]);
    assert.deepEqual(
      (await server.rows(made)).map((row) => row['note']),
      [null, null],
    );

    assert.equal((await post(made, 'branches/create', { name: 'side' })).status, 200);
    const later = streamOf({ later: { type: new Int32(), values: [] } });
    assert.equal((await server.admin.arrow(`${made.at}/add_columns/?branch=side`, later)).status, 200);
    assert.equal((await fields(made))['later'], undefined);
    const { json } = await post(made, 'describe/', { branch: 'side' });
    assert.ok(json.schema.fields.some((field: { name: string }) => field.name === 'later'));
  });

  test('refuses rows, metadata and columns without nulls in such a schema', async () => {
    const send = async (stream: Uint8Array): Promise<Answer> => server.admin.arrow(`${table.at}/add_columns/`, stream);
    assertRefused(await send(streamOf({ note: { type: new Int32(), values: [1] } })), badRequest(/has rows/));
    const strict = new Schema([new Field('note', new Int32(), false)]);
    assertRefused(await send(tableToIPC(new Table(strict), 'stream')), badRequest(/is not nullable/));
    const marked = new Schema([new Field('note', new Int32(), true, new Map([['unit', 'EUR']]))]);
    assertRefused(await send(tableToIPC(new Table(marked), 'stream')), badRequest(/has metadata/));
    assertRefused(await send(new Uint8Array()), badRequest());
  });

  test('calculates new columns from each row', async () => {
    const made = await server.table({ stream: documentStream(3) });
    const columns = [
      { name: 'double', expression: 'id * 2' },
      { name: 'shout', expression: 'upper(title)' },
    ];
    assert.equal(await changed(made, 'add_columns', add(...columns)), made.version + 1);
    const rows = await server.rows(made);
    assert.deepEqual(
      rows.map((row) => [row['double'], row['shout']]),
      [
        [0, 'TITLE EVEN'],
        [2, 'TITLE ODD'],
        [4, 'TITLE EVEN'],
      ],
    );
  });

  test('is one commit that makes the column as the engine does: one of constants may not be null', async () => {
    const made = await server.table({ stream: documentStream(3) });
    const embedded = await server.embedded(await server.table({ stream: documentStream(3) }));
    await embedded.addColumns([{ name: 'state', valueSql: "'new'" }]);
    const version = await changed(made, 'add_columns', add({ name: 'state', expression: "'new'" }));
    const own = await server.embedded(made);
    assert.deepEqual([version, await own.version()], [made.version + 1, await embedded.version()]);
    assert.equal(String(await own.schema()), String(await embedded.schema()));
    assert.equal((await fields(made))['state'].nullable, false);
    assert.deepEqual(
      (await server.rows(made)).map((row) => row['state']),
      ['new', 'new', 'new'],
    );
  });

  test('adds columns of nulls by their type, in the words of either family', async () => {
    const made = await server.table({ stream: documentStream(2) });
    const item = { name: 'item', nullable: true, type: { type: 'float32' } };
    await changed(
      made,
      'add_columns',
      add(
        { name: 'a', data_type: 'string' },
        { name: 'b', data_type: { type: 'fixed_size_list', length: 3, fields: [item] } },
        { name: 'c', data_type: { type: 'timestamp:us:UTC' }, all_null: true },
        { name: 'd', data_type: '{"type":"struct","fields":[{"name":"x","type":"int64"}]}' },
      ),
    );
    const { a, b, c, d } = await fields(made);
    assert.deepEqual([a.type, c.type], [{ type: 'string' }, { type: 'timestamp:us:UTC' }]);
    assert.deepEqual([b.type.type, b.type.length, b.type.fields[0].type], ['fixed_size_list', 3, { type: 'float' }]);
    assert.deepEqual([d.type.type, d.type.fields[0].name], ['struct', 'x']);
    for (const row of await server.rows(made)) assert.deepEqual([row['a'], row['b'], row['c']], [null, null, null]);
  });

  test('adds to a branch alone', async () => {
    const made = await server.table({ stream: documentStream(3) });
    await (await (await server.embedded(made)).branches()).create('side');
    await changed(made, 'add_columns', { ...add({ name: 'extra', expression: '1' }), branch: 'side' });
    assert.equal((await fields(made))['extra'], undefined);
  });

  const refusals: readonly (readonly [title: string, body: object, detail: RegExp, code?: number])[] = [
    ['nothing', add(), /new_columns is empty/],
    ['a name that is there', add({ name: 'id', expression: '1' }), /already has a field "id"/],
    ['a name twice', add({ name: 'x', expression: '1' }, { name: 'x', expression: '2' }), /already has a field "x"/],
    ['an empty name', add({ name: '', expression: '1' }), /is empty/, CODE.schema],
    ['a name with a dot', add({ name: 'a.b', expression: '1' }), /dot/, CODE.schema],
    ['a name that would make the table unreadable', add({ name: '_rowid', expression: '1' }), /reserved/, CODE.schema],
    ['SQL that is more than an expression', add({ name: 'x', expression: '1; DROP' }), /new_columns\[0\]/],
    ['SQL that takes all memory', add({ name: 'x', expression: "repeat('a', 1000000000)" }), /repeat/],
    ['a cast that fails', add({ name: 'x', expression: 'CAST(title AS INT)' }), /converted/],
    ['a division by zero', add({ name: 'x', expression: 'id / 0' }), /divides by zero/],
    ['neither expression nor type', add({ name: 'x' }), /expression or a data_type/],
    ['both', add({ name: 'x', expression: '1', data_type: 'string' }), /expression or a data_type/],
    ['an unknown type', add({ name: 'x', data_type: 'strnig' }), /"strnig"/],
    ['a list without its item', add({ name: 'x', data_type: { type: 'list' } }), /has no fields/],
    ['a dictionary', add({ name: 'x', data_type: 'dict:string:int32:false' }), /dictionary/],
    ['an unknown field', add({ name: 'x', expression: '1', colour: 'red' }), /colour/],
  ];
  for (const [title, body, detail, code] of refusals) {
    test(`refuses ${title}`, async () =>
      assertRefused(await post(table, 'add_columns', body), badRequest(detail, code)));
  }

  test('refuses what it does not offer', async () => {
    for (const entry of [
      { name: 'x', virtual_column: { input_columns: [] } },
      { name: 'x', all_null: true },
    ]) {
      assertRefused(await post(table, 'add_columns', add(entry)), { status: 406, code: CODE.unsupported });
    }
  });

  test('refuses an unknown column in an expression, in the words of each family', async () => {
    const body = add({ name: 'x', expression: 'nope + 1' });
    assertRefused(await post(table, 'add_columns', body), columnNotFound);
    assertRefused(await post(table, 'add_columns/', body), badRequest(/nope/, CODE.columnNotFound));
  });

  test('adds all columns or none', async () => {
    const body = add({ name: 'good', expression: '1' }, { name: 'bad', expression: 'CAST(title AS INT)' });
    assertRefused(await post(table, 'add_columns', body), badRequest());
    assert.equal((await fields(table))['good'], undefined);
  });

  test('keeps to the bound of columns', async () => {
    const narrow = await ContractServer.start({ flags: ['--arrow-columns-max=6', '--sql-updates-max=3'] });
    try {
      const made = await narrow.table({ stream: documentStream() });
      const path = `${made.at}/add_columns`;
      const many = ['a', 'b', 'c'].map((name) => ({ name, expression: '1' }));
      assertRefused(await narrow.admin.post(path, add(...many)), badRequest(/at most 6/));
      assertRefused(await narrow.admin.post(path, add(...many, ...many)), badRequest(/at most 3/));
    } finally {
      await narrow.close();
    }
  });
});

suite('alter_columns', () => {
  test('renames, and keeps the values and the index', async () => {
    const made = await server.table({ stream: documentStream(3) });
    await post(made, 'create_index', { column: 'title', index_type: 'BTREE' });
    await changed(made, 'alter_columns', alter({ path: 'title', rename: 'heading' }));
    assert.equal((await server.rows(made))[1]?.['heading'], 'title odd');
    const { json } = await post(made, 'index/list', {});
    assert.deepEqual(json.indexes[0].columns, ['heading']);
  });

  test('exchanges two names', async () => {
    const made = await server.table({ stream: documentStream(3) });
    const body = alter({ path: 'title', rename: 'body' }, { path: 'body', rename: 'title' });
    await changed(made, 'alter_columns', body);
    assert.equal((await server.rows(made))[1]?.['body'], 'title odd');
  });

  test('changes a type, given as an object, as text, or in the other family’s words', async () => {
    const item = (type: string) => ({ name: 'item', nullable: true, type: { type } });
    for (const [path, type, wanted] of [
      ['id', { type: 'int64' }, 'int64'],
      ['id', 'int16', 'int16'],
      ['title', '{"type":"large_utf8"}', 'large_string'],
      ['vec', { type: 'fixed_size_list', length: 4, fields: [item('float64')] }, 'fixed_size_list'],
    ] as const) {
      const made = await server.table({ stream: documentStream(3) });
      await changed(made, 'alter_columns', alter({ path, data_type: type }));
      assert.equal((await fields(made))[path].type.type, wanted);
      assert.equal(await (await server.embedded(made)).countRows(), 3);
    }
  });

  test('changes whether nulls are allowed', async () => {
    const made = await server.table({ stream: documentStream(3) });
    await changed(made, 'alter_columns', alter({ path: 'id', nullable: false }));
    assert.equal((await fields(made))['id'].nullable, false);
    await changed(made, 'alter_columns', alter({ path: 'id', nullable: true, rename: null }));
    assert.equal((await fields(made))['id'].nullable, true);
  });

  test('refuses to forbid nulls while a type changes, and says to send two requests', async () => {
    const made = await server.table({ stream: documentStream(3) });
    const [type, required] = [{ data_type: { type: 'int64' } }, { nullable: false }];
    for (const body of [
      alter({ path: 'id', ...type, ...required }),
      alter({ path: 'id', ...type }, { path: 'title', ...required }),
    ]) {
      const answer = await post(made, 'alter_columns', body);
      assertRefused(answer, badRequest(/"(id|title)" cannot become non-nullable .* two requests/));
    }
    for (const part of [type, required]) await changed(made, 'alter_columns', alter({ path: 'id', ...part }));
    const { id } = await fields(made);
    assert.deepEqual([id.type.type, id.nullable], ['int64', false]);
    await changed(made, 'alter_columns', alter({ path: 'id', data_type: { type: 'int32' }, nullable: true }));
  });

  test('renames nested fields by their path', async () => {
    const made = await server.table({ stream: nestedStream() });
    const body = alter({ path: 'place.`x.y`', rename: 'z' }, { path: 'place.deep.leaf', rename: 'twig' });
    await changed(made, 'alter_columns', body);
    const names = (await fields(made))['place'].type.fields.map((field: { name: string }) => field.name);
    assert.ok(names.includes('z') && !names.includes('x.y'), names.join());
    assert.equal((await server.rows(made))[2]?.['place'].z, 20);
  });

  const refusals: readonly (readonly [title: string, body: object, detail: RegExp, code?: number])[] = [
    ['nothing', alter(), /alterations is empty/],
    ['an alteration that changes nothing', alter({ path: 'id' }), /has no change/],
    ['a path twice', alter({ path: 'id', rename: 'a' }, { path: 'id', rename: 'b' }), /more than once/],
    ['a name that is there', alter({ path: 'id', rename: 'title' }), /already has a field "title"/],
    ['one name for two', alter({ path: 'id', rename: 'x' }, { path: 'body', rename: 'x' }), /already has a field "x"/],
    ['an empty name', alter({ path: 'id', rename: '' }), /is empty/, CODE.schema],
    ['a name that would make the table unreadable', alter({ path: 'id', rename: '_rowid' }), /reserved/, CODE.schema],
    ['a type of another family', alter({ path: 'title', data_type: 'int32' }), /"title" cannot be changed/],
    ['a type that the values do not fit', alter({ path: 'body', data_type: 'date32' }), /cannot be changed/],
    ['a new type of an indexed column', alter({ path: 'id', data_type: 'int64' }), /Drop the index/],
    ['a type that is none', alter({ path: 'id', data_type: 5 }), /alterations\[0\].data_type/],
    ['a path that does not parse', alter({ path: 'id.', rename: 'x' }), /empty segment/],
    ['a virtual column', alter({ path: 'id', virtual_column: {} }), /virtual_column/, CODE.unsupported],
  ];
  for (const [title, body, detail, code] of refusals) {
    test(`refuses ${title}`, async () => {
      const expected = badRequest(detail, code);
      const status = code === CODE.unsupported ? 406 : 400;
      assertRefused(await post(table, 'alter_columns', body), { ...expected, status });
    });
  }

  test('refuses numbers that do not fit the new type', async () => {
    const made = await server.table({ stream: documentStream(200) });
    const answer = await post(made, 'alter_columns', alter({ path: 'id', data_type: 'int8' }));
    assertRefused(answer, badRequest(/converted/));
  });

  test('refuses to round decimals, or to make dates of 64 bits shorter', async () => {
    const price = { type: new Decimal(2, 10, 128), values: [new Uint32Array([125, 0, 0, 0])] };
    const day = { type: new DateMillisecond(), values: [new Date(0)] };
    const made = await server.table({ stream: streamOf({ price, day }) });
    for (const [path, data_type, detail] of [
      ['price', 'decimal:128:10:1', /"price" has the type decimal128\(10, 2\), .*decimal128\(10, 1\).*CAST/],
      ['day', 'date32', /"day" has the type date64, .*date32/],
    ] as const) {
      assertRefused(await post(made, 'alter_columns', alter({ path, data_type })), badRequest(detail, CODE.schema));
    }
    const hinted = { new_columns: [{ name: 'short', expression: 'CAST(price AS DECIMAL(10, 1))' }] };
    await changed(made, 'add_columns', hinted);
    await changed(made, 'alter_columns', alter({ path: 'price', data_type: 'decimal:128:12:3' }));
    const { json } = await server.admin.post(`${made.at}/query`, { k: 1 }, { accept: 'application/json' });
    assert.deepEqual([json.rows[0].price, json.rows[0].short], [1.25, 1.3]);
  });

  test('refuses to forbid nulls where there are some', async () => {
    const answer = await post(nested, 'alter_columns', alter({ path: 'place', nullable: false }));
    assertRefused(answer, badRequest(/"place" contains nulls/, CODE.schema));
  });

  test('refuses the type of a nested field, an empty nested name, and the item of a list', async () => {
    for (const [entry, detail] of [
      [{ path: 'place.x', data_type: 'float' }, /nested field "place.x"/],
      [{ path: 'place.x', rename: '' }, /empty/],
      [{ path: 'place.x', rename: 'label' }, /already has a field "place.label"/],
    ] as const) {
      const answer = await post(nested, 'alter_columns', alter(entry));
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.json.detail, detail);
    }
  });

  test('refuses an unknown field, in the words of each family', async () => {
    const body = alter({ path: 'titel', rename: 'x' });
    assertRefused(await post(table, 'alter_columns', body), { ...columnNotFound, detail: /Did you mean "title"/ });
    assertRefused(await post(table, 'alter_columns/', body), badRequest(/titel/, CODE.columnNotFound));
  });
});

suite('drop_columns', () => {
  test('drops columns, nested ones too, with their indexes', async () => {
    const made = await server.table({ stream: nestedStream() });
    await post(made, 'create_index', { column: 'label', index_type: 'BTREE' });
    await changed(made, 'drop_columns', { columns: ['label', 'place.`b``t`', 'place.deep.word'] });
    const { place, ...rest } = await fields(made);
    assert.deepEqual(Object.keys(rest), ['id']);
    assert.deepEqual(
      place.type.fields.map((field: { name: string }) => field.name),
      ['x', 'x.y', 'label', 'deep', 'vec'],
    );
    assert.deepEqual((await post(made, 'index/list', {})).json.indexes, []);
    assert.equal((await server.rows(made))[2]?.['place'].label, 'inner 2');
  });

  const refusals: readonly (readonly [title: string, columns: readonly string[], detail: RegExp])[] = [
    ['nothing', [], /columns is empty/],
    ['a field twice', ['label', 'label'], /more than once/],
    ['a field and its parent', ['place', 'place.x'], /part of "place"/],
    ['every column', ['id', 'label', 'place'], /The last columns of a table/],
    ['every field of a struct', ['place.deep.leaf', 'place.deep.word'], /"place.deep"/],
    ['a path that does not parse', ['a..b'], /empty segment/],
  ];
  for (const [title, columns, detail] of refusals) {
    test(`refuses ${title}`, async () =>
      assertRefused(await post(nested, 'drop_columns', { columns }), badRequest(detail)));
  }

  test('refuses an unknown field, in the words of each family', async () => {
    assertRefused(await post(table, 'drop_columns', { columns: ['id', 'nope'] }), columnNotFound);
    assertRefused(await post(table, 'drop_columns/', { columns: ['nope'] }), badRequest(/nope/, CODE.columnNotFound));
  });
});

suite('rights', () => {
  const bodies = {
    add_columns: add({ name: 'x', expression: '1' }),
    alter_columns: alter({ path: 'id', rename: 'x' }),
    drop_columns: { columns: ['id'] },
  };

  test('changing columns needs a writer', async () => {
    const stranger = server.client({ key: undefined });
    const reader = await server.caller('reader');
    const elsewhere = await server.caller('owner', ['elsewhere']);
    for (const [operation, body] of Object.entries(bodies)) {
      assertRefused(await stranger.post(`${table.at}/${operation}`, body), unauthenticated);
      assertRefused(await reader.post(`${table.at}/${operation}`, body), forbidden);
      assertRefused(await elsewhere.post(`${table.at}/${operation}`, body), tableNotFound);
      assertRefused(await server.admin.post(`/v1/table/nowhere/${operation}`, body), tableNotFound);
      const missing = { status: 404, code: CODE.branchNotFound };
      assertRefused(await post(table, operation, { ...body, branch: 'nowhere' }), missing);
    }
  });
});
