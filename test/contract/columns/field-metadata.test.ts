import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Answer, Client } from '../../support/client.ts';
import { fixtureStream } from '../../support/arrow-fixtures.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, count, nestedStream, streamOf } from '../contract-tables.ts';
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

interface Entry {
  readonly path: string;
  readonly metadata: Readonly<Record<string, string | null>>;
  readonly replace?: boolean;
}

async function send(table: Pick<MadeTable, 'at'>, body: object, client: Client = server.admin): Promise<Answer> {
  return client.post(`${table.at}/update_field_metadata`, body);
}

async function apply(table: MadeTable, ...updates: readonly Entry[]): Promise<Record<string, Record<string, string>>> {
  const answer = await send(table, { updates });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.fields;
}

function isNamed(name: string | undefined): (field: { readonly name: string }) => boolean {
  return (field) => field.name === name;
}

/** As the embedded engine reads it. */
async function stored(table: MadeTable, ...path: readonly string[]): Promise<Record<string, string>> {
  const schema = await (await server.embedded(table)).schema();
  let field = schema.fields.find(isNamed(path[0]));
  for (const name of path.slice(1)) field = field?.type.children.find(isNamed(name));
  assert.ok(field !== undefined, `no field ${path.join('.')}`);
  return Object.fromEntries(field.metadata);
}

/** One column that has metadata from the start, and one that has none. */
async function twoColumns(): Promise<MadeTable> {
  const stream = streamOf({
    price: { type: new Int32(), values: [1], metadata: { unit: 'EUR', source: 'import' } },
    id: { type: new Int32(), values: [1] },
  });
  return server.table({ stream });
}

async function assertUnchanged(
  table: MadeTable,
  body: object,
  expected: Parameters<typeof assertRefused>[1],
): Promise<void> {
  const version = await (await server.embedded(table)).version();
  assertRefused(await send(table, body), expected);
  assert.equal(await (await server.embedded(table)).version(), version);
}

suite('a field metadata update answers 200 with', () => {
  test('the fields of its response, each of its type', async () => {
    const table = await twoColumns();
    const { status, json } = await send(table, { updates: [{ path: 'id', metadata: { a: '1' } }] });
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json).toSorted(), ['context', 'fields', 'transaction_id', 'version']);
    assert.equal(json.version, 2);
    assert.deepEqual(json.fields, { id: { a: '1' } });
    assert.equal(typeof json.context, 'object');
  });

  test('the version that the commit made', async () => {
    const table = await twoColumns();
    for (const value of ['1', '2']) {
      const { json } = await send(table, { updates: [{ path: 'id', metadata: { a: value } }] });
      assert.equal(json.version, await (await server.embedded(table)).version());
    }
  });

  test('the resulting metadata of every field that it updated, and of no other', async () => {
    const fields = await apply(
      await twoColumns(),
      { path: 'price', metadata: { unit: 'USD' } },
      { path: 'id', metadata: { key: 'yes' } },
    );
    assert.deepEqual(fields, { price: { unit: 'USD', source: 'import' }, id: { key: 'yes' } });
  });

  test('a transaction id by which the service has recorded it', async () => {
    const table = await twoColumns();
    const { json } = await send(table, { updates: [{ path: 'id', metadata: {} }] });
    const record = await server.catalog.transactions.find(json.transaction_id);
    assert.deepEqual(
      [record?.path, record?.version, record?.operation],
      [[table.id], json.version, 'update_field_metadata'],
    );
  });
});

suite('the metadata of an entry', () => {
  test('is merged into what the field has', async () => {
    const table = await twoColumns();
    assert.deepEqual(await apply(table, { path: 'price', metadata: { unit: 'USD', note: 'new' } }), {
      price: { unit: 'USD', source: 'import', note: 'new' },
    });
    assert.deepEqual(await stored(table, 'price'), { unit: 'USD', source: 'import', note: 'new' });
    assert.deepEqual(await stored(table, 'id'), {});
  });

  test('deletes a key by null, and does not mind one that is not there', async () => {
    const table = await twoColumns();
    assert.deepEqual(await apply(table, { path: 'price', metadata: { unit: null, absent: null } }), {
      price: { source: 'import' },
    });
    assert.deepEqual(await stored(table, 'price'), { source: 'import' });
  });

  test('replaces all that was there when replace is true', async () => {
    const table = await twoColumns();
    assert.deepEqual(await apply(table, { path: 'price', metadata: { a: '1', b: null }, replace: true }), {
      price: { a: '1' },
    });
    assert.deepEqual(await stored(table, 'price'), { a: '1' });
    assert.deepEqual(await apply(table, { path: 'price', metadata: {}, replace: true }), { price: {} });
    assert.deepEqual(await stored(table, 'price'), {});
  });

  test('is merged when replace is false', async () => {
    assert.deepEqual(await apply(await twoColumns(), { path: 'price', metadata: { a: '1' }, replace: false }), {
      price: { unit: 'EUR', source: 'import', a: '1' },
    });
  });

  test('may be empty, and may hold any text', async () => {
    const table = await twoColumns();
    const metadata = { '': 'empty key', ü: '✓', 'a.b': '', long: 'x'.repeat(10_000), constructor: 'c' };
    assert.deepEqual(await apply(table, { path: 'id', metadata }), { id: metadata });
    assert.deepEqual(await stored(table, 'id'), metadata);
    assert.deepEqual(await apply(table, { path: 'id', metadata: {} }), { id: metadata });
  });

  test('survives updates of rows', async () => {
    const table = await twoColumns();
    await apply(table, { path: 'id', metadata: { a: '1' } });
    assert.equal((await server.admin.post(`${table.at}/update`, { updates: [['price', '2']] })).status, 200);
    assert.deepEqual(await stored(table, 'id'), { a: '1' });
  });
});

function price(metadata: Entry['metadata'], replace = false): Entry {
  return { path: 'price', metadata, replace };
}

suite('several entries', () => {
  test('for one field apply in order', async () => {
    const merged = await apply(await twoColumns(), price({ a: '1', b: '1' }), price({ a: '2', unit: null }));
    assert.deepEqual(merged, { price: { source: 'import', a: '2', b: '1' } });
    const replaced = await apply(await twoColumns(), price({ a: '1' }), price({ b: '2' }, true), price({ c: '3' }));
    assert.deepEqual(replaced, { price: { b: '2', c: '3' } });
  });

  test('for one field under different spellings are for one field', async () => {
    const fields = await apply(
      await twoColumns(),
      { path: 'id', metadata: { a: '1' } },
      { path: '`id`', metadata: { b: '2' } },
    );
    assert.deepEqual(fields, { id: { a: '1', b: '2' } });
  });

  test('are applied all or not at all', async () => {
    const table = await twoColumns();
    const good = { path: 'price', metadata: { unit: 'USD' } };
    await assertUnchanged(
      table,
      { updates: [good, { path: 'nope', metadata: {} }] },
      { ...columnNotFound, detail: /"nope"/ },
    );
    await assertUnchanged(table, { updates: [good, { path: 'id', metadata: { packed: 'true' } }] }, badRequest());
    assert.deepEqual(await stored(table, 'price'), { unit: 'EUR', source: 'import' });
  });

  test('in requests that come at once are all kept', async () => {
    const table = await twoColumns();
    const answers = await Promise.all(
      count(8).map(async (each) => send(table, { updates: [{ path: 'id', metadata: { [`k${each}`]: 'v' } }] })),
    );
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
    assert.equal(Object.keys(await stored(table, 'id')).length, 8);
    assert.equal(new Set(answers.map((answer) => answer.json.version)).size, 8);
  });
});

suite('the path of an entry', () => {
  test('may go into structs, at any depth, and the reply has it in its canonical form', async () => {
    const table = await server.table({ stream: nestedStream(3) });
    const fields = await apply(
      table,
      { path: 'place.deep.leaf', metadata: { a: '1' } },
      { path: '`place`.`x.y`', metadata: { b: '2' } },
      { path: 'place.`b``t`', metadata: { c: '3' } },
      { path: '`place`.`label`', metadata: { d: '4' } },
      { path: 'place', metadata: { e: '5' } },
    );
    assert.deepEqual(fields, {
      'place.deep.leaf': { a: '1' },
      'place.`x.y`': { b: '2' },
      'place.`b``t`': { c: '3' },
      'place.label': { d: '4' },
      place: { e: '5' },
    });
    assert.deepEqual(await stored(table, 'place', 'deep', 'leaf'), { a: '1' });
    assert.deepEqual(await stored(table, 'place', 'x.y'), { b: '2' });
    assert.deepEqual(await stored(table, 'place', 'b`t'), { c: '3' });
    assert.deepEqual(await stored(table, 'label'), {});
  });

  test('that is a bare leaf name finds a top-level field only', async () => {
    const table = await server.table({ stream: nestedStream(3) });
    await assertUnchanged(
      table,
      { updates: [{ path: 'leaf', metadata: {} }] },
      { ...columnNotFound, detail: /"leaf"/ },
    );
    assert.deepEqual(await apply(table, { path: 'label', metadata: { top: 'yes' } }), { label: { top: 'yes' } });
    assert.deepEqual(await stored(table, 'place', 'label'), {});
  });

  test('that is not there is a 404 TableColumnNotFound with the canonical path', async () => {
    const table = await twoColumns();
    await assertUnchanged(
      table,
      { updates: [{ path: '`nope`', metadata: {} }] },
      { ...columnNotFound, detail: /"nope"/ },
    );
    await assertUnchanged(table, { updates: [{ path: 'ID', metadata: {} }] }, { ...columnNotFound, detail: /"ID"/ });
  });

  test('that does not parse is a 400', async () => {
    const table = await twoColumns();
    for (const path of ['', '.', 'a.', '.a', 'a..b', '`a', 'a`b', '`a`b']) {
      await assertUnchanged(table, { updates: [{ path, metadata: {} }] }, badRequest());
    }
  });
});

suite('the keys of metadata', () => {
  test('that belong to the storage format are refused with 400, in every spelling, also for deletion', async () => {
    const table = await twoColumns();
    for (const key of [
      'lance-encoding:blob',
      'lance-schema:unenforced-primary-key',
      'lance-anything',
      'lance:x',
      'packed',
      'ARROW:extension:name',
      'ARROW:extension:metadata',
      'LANCE-encoding:blob',
    ]) {
      for (const value of ['true', null]) {
        await assertUnchanged(
          table,
          { updates: [{ path: 'id', metadata: { [key]: value } }] },
          badRequest(/storage format/),
        );
      }
    }
  });

  test('that belong to the storage format survive a replacement, so that the column keeps its type', async () => {
    const table = await server.table({ stream: fixtureStream('uuid_ext') });
    const original = await stored(table, 'x');
    assert.ok('ARROW:extension:name' in original);
    await apply(table, { path: 'x', metadata: { a: '1' }, replace: true });
    assert.deepEqual(await stored(table, 'x'), { ...original, a: '1' });
  });
});

suite('a field metadata update is refused', () => {
  const BODY = { updates: [{ path: 'id', metadata: { a: '1' } }] };

  test('with 400 for updates that are missing, empty or of another form', async () => {
    const table = await twoColumns();
    for (const updates of [
      undefined,
      null,
      [],
      {},
      'id',
      [[]],
      ['id'],
      [{ path: 'id' }],
      [{ metadata: {} }],
      [{ path: 1, metadata: {} }],
      [{ path: 'id', metadata: [] }],
      [{ path: 'id', metadata: 'a' }],
      [{ path: 'id', metadata: { a: 1 } }],
      [{ path: 'id', metadata: { a: {} } }],
      [{ path: 'id', metadata: {}, replace: 'yes' }],
      [{ path: 'id', metadata: {}, replaces: true }],
    ]) {
      await assertUnchanged(table, { updates }, badRequest());
    }
  });

  test('with 400 for a field that is not known, by its name', async () => {
    await assertUnchanged(await twoColumns(), { ...BODY, replace: true }, badRequest(/"replace"/));
  });

  test('with 404 when the table is missing', async () => {
    const answer = await send({ at: '/v1/table/absent' }, BODY);
    assertRefused(answer, { ...tableNotFound, detail: /"absent"/, instance: '/v1/table/absent/update_field_metadata' });
  });

  test('with 401 without a credential', async () => {
    assertRefused(await send(await twoColumns(), BODY, server.stranger()), unauthenticated);
  });

  test('with 403 to a caller who may only read, and nothing changes', async () => {
    const table = await twoColumns();
    assertRefused(await send(table, BODY, await server.caller('reader', [table.id])), forbidden);
    assert.deepEqual(await stored(table, 'id'), {});
  });

  test('with 404 to a caller who may not see the table', async () => {
    assertRefused(await send(await twoColumns(), BODY, await server.caller('owner', ['elsewhere'])), tableNotFound);
  });

  test('with 415 for a body that is not JSON, and 405 for another method', async () => {
    const { at } = await twoColumns();
    const path = `${at}/update_field_metadata`;
    const wrong = await server.admin.send('POST', path, { headers: { 'content-type': 'text/csv' }, body: 'a' });
    assertRefused(wrong, { status: 415, code: CODE.invalidInput });
    assertRefused(await server.admin.get(path), { status: 405, code: CODE.invalidInput });
  });
});
