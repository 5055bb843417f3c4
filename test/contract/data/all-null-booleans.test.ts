import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Bool, Field, List, Struct } from 'apache-arrow';
import { ContractServer } from '../contract-server.ts';
import { Int32, count, streamOf } from '../contract-tables.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const ROWS = 20;
const bool = new Field('flag', new Bool(), true);

/** Arrow for JavaScript sends no values of booleans that are all null. */
function nullsStream(rows = ROWS): Uint8Array {
  const all = <Value>(value: Value): readonly Value[] => count(rows).map(() => value);
  return streamOf({
    id: { type: new Int32(), values: count(rows) },
    flag: { type: new Bool(), values: all(null) },
    nested: { type: new Struct([bool, new Field('n', new Int32(), true)]), values: all({ flag: null, n: 1 }) },
    list: { type: new List(bool), values: all([null, null]) },
    last: { type: new Int32(), values: count(rows).map((row) => row * 2) },
  });
}

test('a table is created from booleans that are all null, and gets more of them', async () => {
  const table = await server.table({ stream: nullsStream() });
  const inserted = await server.admin.arrow(`${table.at}/insert`, nullsStream(3));
  assert.equal(inserted.status, 200, inserted.text);
  const rows = await server.rows(table);
  assert.equal(rows.length, ROWS + 3);
  for (const row of rows) {
    const { id } = row;
    assert.deepEqual(JSON.parse(JSON.stringify(row)), {
      id,
      flag: null,
      nested: { flag: null, n: 1 },
      list: [null, null],
      last: Number(id) * 2,
    });
  }
});

test('they are merged, and later values replace them', async () => {
  const table = await server.table({ stream: nullsStream() });
  const merged = await server.admin.arrow(
    `${table.at}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true`,
    nullsStream(),
  );
  assert.equal(merged.status, 200, merged.text);
  const updated = await server.admin.post(`${table.at}/update`, { updates: [['flag', 'id > 10']] });
  assert.equal(updated.status, 200, updated.text);
  const { text } = await server.admin.post(`${table.at}/count_rows`, { predicate: 'flag' });
  assert.equal(text, '9');
});
