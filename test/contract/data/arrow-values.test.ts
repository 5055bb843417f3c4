import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Null } from 'apache-arrow';
import type { DataType } from 'apache-arrow';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Field, FixedSizeList, Int32, List, Struct, Utf8, count, optional, streamOf } from '../contract-tables.ts';
import type { ColumnSpec } from '../contract-tables.ts';
import { CODE, assertRefused, badRequest } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

function withIds(rows: number, columns: Readonly<Record<string, ColumnSpec>>): Uint8Array {
  return streamOf({ id: { type: new Int32(), values: count(rows) }, ...columns });
}

function json(...values: readonly (string | null)[]): Uint8Array {
  const metadata = { 'ARROW:extension:name': 'arrow.json' };
  return withIds(values.length, { doc: { type: new Utf8(), values, metadata } });
}

const JSON_FIELD = new Field('doc', new Utf8(), true, new Map([['ARROW:extension:name', 'arrow.json']]));

const MERGE = 'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true';

/** Each way to bring rows into a table. */
const WAYS: readonly (readonly [string, string])[] = [
  ['an insert', 'insert'],
  ['an overwrite', 'insert?mode=overwrite'],
  ['a merge', MERGE],
];

async function merge({ at }: MadeTable, stream: Uint8Array): Promise<Answer> {
  return server.admin.arrow(`${at}/${MERGE}`, stream);
}

async function readRows(client: Client, at: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const answer = await client.post(`${at}/query`, { k: 100 }, { accept: 'application/json' });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.rows;
}

suite('the texts of a JSON column', () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['{"a": 1, "a": 2}', /"doc", which in row 1 has the key "a" more than once in one object.*without repeated keys/],
    ['{', /"doc", which in row 1 is not valid JSON: expected a key in double quotes, found the end/],
    ['tru', /"doc", which in row 1 is not valid JSON: expected a value, found "tru" at byte 0/],
    ['"\\ud800"', /"doc", which in row 1 contains an escape sequence for an unpaired surrogate/],
  ];
  for (const [text, detail] of refused) {
    test(`are refused by column and row, and nothing is created: ${text}`, async () => {
      const id = server.name();
      assertRefused(await server.admin.arrow(`/v1/table/${id}/create`, json('1', text)), badRequest(detail));
      assert.ok(!(await server.listed()).includes(id));
    });

    for (const [way, path] of WAYS) {
      test(`are refused by ${way}, which changes nothing: ${text}`, async () => {
        const table = await server.table({ stream: json('{"x": 1}') });
        assertRefused(await server.admin.arrow(`${table.at}/${path}`, json('1', text)), badRequest(detail));
        assert.equal(await (await server.embedded(table)).version(), table.version);
      });
    }
  }

  test('are stored as they are meant, null and empty ones among them', async () => {
    const table = await server.table({
      stream: json('{"a": {"a": [1, "é"]}, "b": null}', null, '', '"\\ud83d\\ude00"'),
    });
    assert.deepEqual(
      (await readRows(server.admin, table.at)).map((row) => row['doc']),
      ['{"a":{"a":[1,"é"]},"b":null}', null, 'null', '"😀"'],
    );
  });

  test('cannot be what rows are matched on, alone or in a struct', async () => {
    const nested = withIds(1, { doc: { type: new Struct([JSON_FIELD]), values: [{ doc: '1' }] } });
    for (const stream of [json('1', '2'), nested]) {
      const table = await server.table({ stream });
      for (const action of ['when_not_matched_insert_all', 'when_not_matched_by_source_delete']) {
        const path = `${table.at}/merge_insert?on=doc&when_matched_update_all=true&${action}=true`;
        assertRefused(await server.admin.arrow(path, stream), badRequest(/matched on the column "doc".* JSON/));
      }
      assert.equal(await (await server.embedded(table)).version(), table.version);
    }
  });

  const skip = readEngineRelease().isFallback ? 'the fallback engine does not convert it in a merge' : false;

  test('are merged from columns of text, as they are inserted', { skip }, async () => {
    const table = await server.table({ stream: json('{"a": 1}', '[2]') });
    const values = ['{"b": 2}', null, '3'];
    const plain = withIds(3, { doc: { type: new Utf8(), values } });
    const answer = await merge(table, plain);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([answer.json.num_updated_rows, answer.json.num_inserted_rows], [2, 1]);
    assert.deepEqual((await readRows(server.admin, table.at)).map(({ id, doc }) => [id, doc]).toSorted(), [
      [0, '{"b":2}'],
      [1, null],
      [2, '3'],
    ]);
    const faulty = withIds(1, { doc: { type: new Utf8(), values: ['{'] } });
    assertRefused(await merge(table, faulty), badRequest(/not valid JSON/));
  });

  test('are merged from texts in a struct', { skip }, async () => {
    const toStream = (doc: Field, text: string) =>
      withIds(1, { outer: { type: new Struct([doc]), values: [{ doc: text }] } });
    const table = await server.table({ stream: toStream(JSON_FIELD, '1') });
    const { status, text } = await merge(table, toStream(optional('doc', new Utf8()), '{"b": 2}'));
    assert.equal(status, 200, text);
    assert.deepEqual(await readRows(server.admin, table.at), [{ id: 0, outer: { doc: '{"b":2}' } }]);
  });

  test('are refused in an update that sets what is not JSON', async () => {
    const table = await server.table({ stream: json('1', '2') });
    const answer = await server.admin.post(`${table.at}/update`, { updates: [['doc', `'{'`]] });
    assert.equal(answer.status, 400, answer.text);
    assert.equal(await (await server.embedded(table)).version(), table.version);
  });
});

suite('values that the storage engine cannot hold', () => {
  const item = (type: DataType, nullable = true) => new Field('item', type, nullable);
  const nullField = new Struct([optional('a', new Null()), optional('b', new Int32())]);
  const required = new Struct([new Field('a', new Int32(), false), optional('b', new Int32())]);

  const refused: readonly (readonly [string, ColumnSpec, number, RegExp])[] = [
    [
      'a null struct with a field of nulls only',
      { type: nullField, values: [{ a: null, b: 1 }, null, { a: null, b: 2 }] },
      CODE.invalidInput,
      /"c\.a", which has the null type, in a struct that is null in row 1\. Give the field a type/,
    ],
    [
      'a null list of fixed size whose items may not be null',
      { type: new FixedSizeList(2, item(new Int32(), false)), values: [[1, 2], [3, 4], null, [5, 6]] },
      CODE.invalidInput,
      /"c\.item", which has 2 nulls although the schema allows none, the first in row 4\. Mark the field as nullable/,
    ],
    [
      'a struct without fields',
      { type: new Struct([]), values: [{}, {}] },
      CODE.schema,
      /"c" has the type struct.*A struct needs at least one field/,
    ],
    [
      'a list of fixed size of structs',
      { type: new FixedSizeList(2, item(required)), values: [[{ a: 1 }, { a: 2 }]] },
      CODE.schema,
      /"c" has the type struct.*send a list instead/,
    ],
  ];
  for (const [what, column, code, detail] of refused) {
    test(`are a 400 that names the column: ${what}`, async () => {
      const id = server.name();
      const stream = withIds(column.values.length, { c: column });
      assertRefused(await server.admin.arrow(`/v1/table/${id}/create`, stream), badRequest(detail, code));
      assert.ok(!(await server.listed()).includes(id));
    });
  }

  const stored: readonly (readonly [string, ColumnSpec])[] = [
    ['a struct with a field of nulls only', { type: nullField, values: [{ a: null, b: 1 }] }],
    ['a null struct with a field that may not be null', { type: required, values: [{ a: 1, b: null }, null] }],
    ['a null list of fixed size', { type: new FixedSizeList(2, item(new Int32())), values: [null, [1, 2]] }],
    ['a list of structs', { type: new List(item(required)), values: [[{ a: 1, b: 2 }], null, []] }],
  ];
  const { isFallback } = readEngineRelease();
  for (const [what, column] of stored) {
    // The fallback refuses it, with the column.
    const skip = isFallback && column.type === required ? 'the fallback engine cannot store it' : false;
    test(`are not refused with what it can hold: ${what}`, { skip }, async () => {
      const table = await server.table({ stream: withIds(column.values.length, { c: column }) });
      assert.deepEqual(
        (await readRows(server.admin, table.at)).map((row) => row['c']),
        column.values,
      );
    });
  }

  test('are a 400 when an update of all rows would have to write them', async () => {
    const table = await server.table({ stream: withIds(1, { c: { type: nullField, values: [{ a: null, b: 1 }] } }) });
    assert.equal((await server.admin.arrow(`${table.at}/insert`, withIds(2, {}))).status, 200);
    const answer = await server.admin.post(`${table.at}/update`, { updates: [['id', 'id + 1']] });
    assertRefused(answer, badRequest(/A struct is null and has a field of the null type/, CODE.schema));
  });
});
