import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import {
  DateDay,
  DateMillisecond,
  Decimal,
  Float16,
  Float32,
  Int64,
  List,
  Struct,
  Table,
  TimeMillisecond,
  TimeSecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  Uint8,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import type { DataType } from 'apache-arrow';
import { fixtureStream, expectedTables } from '../../support/arrow-fixtures.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Float64, Int32, Utf8, count, optional, streamOf, vectorType } from '../contract-tables.ts';
import { openRaw } from '../raw-request.ts';
import { CODE, assertRefused, badRequest, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  // Small chunks, so that a stream of some kilobytes is a long one.
  server = await ContractServer.start({ flags: ['--arrow-chunk-bytes=1MiB'] });
});
after(async () => server.close());

async function insert(
  table: Pick<MadeTable, 'at'>,
  body: Uint8Array,
  query: Readonly<Record<string, string>> = {},
  client: Client = server.admin,
): Promise<Answer> {
  return client.arrow(`${table.at}/insert?${new URLSearchParams(query).toString()}`, body);
}

async function rowCount(table: MadeTable): Promise<number> {
  return (await server.embedded(table)).countRows();
}

/** Refused, and the table is as it was. */
async function assertUnchanged(
  table: MadeTable,
  answering: Promise<Answer>,
  expected: Parameters<typeof assertRefused>[1],
) {
  const embedded = await server.embedded(table);
  const before = [await embedded.countRows(), await embedded.version()];
  assertRefused(await answering, expected);
  assert.deepEqual([await embedded.countRows(), await embedded.version()], before);
}

/** So many batches of 256 KiB of text, 16 rows each: some of them fill a chunk. */
function longStream(batches: number): Uint8Array {
  const text = vectorFromArray(
    count(16).map((row) => `${row}`.padStart(16 * 1024, '.')),
    new Utf8(),
  );
  const table = new Table({ id: vectorFromArray([...count(16)], new Int32()), text });
  return tableToIPC(new Table(count(batches).flatMap(() => table.batches)), 'stream');
}

suite('an insert answers 200 with', () => {
  test('the fields of the insert response, each of its type', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    const answer = await insert(table, sampleStream(3));
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(Object.keys(answer.json).toSorted(), [
      'context',
      'num_inserted_rows',
      'transaction_id',
      'version',
    ]);
    assert.deepEqual([answer.json.num_inserted_rows, answer.json.version], [3, 2]);
    const record = await server.catalog.transactions.find(answer.json.transaction_id);
    assert.deepEqual([record?.operation, record?.version, record?.path], ['insert_into_table', 2, [table.id]]);
  });

  test('the rows behind those of the table, as they were sent', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    const before = await server.rows(table);
    assert.equal((await insert(table, sampleStream(4))).status, 200);
    const after = await server.rows(table);
    assert.deepEqual(
      after.filter((_, row) => row % 2 === 0),
      before,
    );
    assert.deepEqual(
      after.filter((_, row) => row % 2 === 1),
      before,
    );
  });

  test('no rows and the version that is, for a stream without rows', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    const { json } = await insert(table, fixtureWithoutBatches());
    assert.deepEqual([json.num_inserted_rows, json.version], [0, 1]);
  });

  test('rows that leave out columns, which are null then', async () => {
    const table = await server.table({ stream: sampleStream(1) });
    const rows = streamOf({ name: { type: new Utf8(), values: ['new'] }, id: { type: new Int32(), values: [9] } });
    assert.equal((await insert(table, rows)).status, 200);
    assert.deepEqual((await server.rows(table)).at(-1), { id: 9, price: null, name: 'new', point: null, vec: null });
  });

  test('to the LanceDB family as well, which ends the address with a slash', async () => {
    const table = await server.table({ stream: sampleStream(1) });
    const answer = await server.admin.arrow(`${table.at}/insert/`, sampleStream(2));
    assert.deepEqual([answer.status, answer.json.version], [200, 2]);
  });
});

suite('the mode of an insert', () => {
  for (const mode of ['overwrite', 'Overwrite', 'OVERWRITE']) {
    test(`${mode} replaces rows and schema by a new version of the same table`, async () => {
      const table = await server.table({ stream: sampleStream(4) });
      const { json } = await insert(table, streamOf({ only: { type: new Int32(), values: [1, 2] } }), { mode });
      assert.deepEqual([json.version, json.num_inserted_rows], [2, 2]);
      assert.deepEqual(await server.rows(table), [{ only: 1 }, { only: 2 }]);
    });
  }

  test('is append when it is absent or called so', async () => {
    const table = await server.table({ stream: sampleStream(1) });
    for (const query of [{}, { mode: 'append' }, { mode: 'Append' }]) await insert(table, sampleStream(1), query);
    assert.equal(await rowCount(table), 4);
  });

  test('that is not known is a 400', async () => {
    const table = await server.table();
    await assertUnchanged(table, insert(table, sampleStream(1), { mode: 'upsert' }), badRequest(/append or overwrite/));
  });
});

suite('an insert of more than one chunk', () => {
  for (const mode of ['append', 'overwrite']) {
    test(`is seen as a whole (${mode}), though it takes several commits`, async () => {
      const table = await server.table({ stream: longStream(1) });
      const seen = new Set<number>();
      const inserting = insert(table, longStream(24), { mode });
      let isOver = false;
      const watching = (async () => {
        while (!isOver) {
          const { json } = await server.admin.post(`${table.at}/describe`, {});
          seen.add(json.version);
        }
      })();
      const { json } = await inserting;
      isOver = true;
      await watching;
      assert.ok(json.version > 2, 'it was one commit');
      assert.ok(
        [...seen].every((version) => version === 1 || version === json.version),
        `saw ${[...seen].join()}`,
      );
      assert.equal(await rowCount(table), (mode === 'append' ? 25 : 24) * 16);
      assert.equal((await server.catalog.tables.unfinished()).held.length, 0);
    });
  }

  test('keeps no other writer waiting while it arrives', async () => {
    const table = await server.table({ stream: longStream(1) });
    const stream = longStream(24);
    const headers = { 'content-type': 'application/vnd.apache.arrow.stream' };
    const slow = openRaw(server.url, { path: `${table.at}/insert`, headers });
    slow.write(stream.subarray(0, stream.length - 100));
    const answer = await server.admin.post(`${table.at}/update`, { updates: [['id', '-1']], predicate: 'id = 0' });
    assert.equal(answer.status, 200, answer.text);
    slow.end(stream.subarray(stream.length - 100));
    await new Promise((resolve) => slow.once('response', (message) => message.resume().once('end', resolve)));
    assert.equal(await rowCount(table), 25 * 16);
  });

  test('that breaks off commits nothing', async () => {
    const table = await server.table({ stream: longStream(1) });
    const headers = { 'content-type': 'application/vnd.apache.arrow.stream' };
    const broken = openRaw(server.url, { path: `${table.at}/insert`, headers });
    const closed = new Promise((resolve) => broken.once('close', resolve));
    broken.on('error', () => {});
    broken.write(longStream(24).subarray(0, 3 * 1024 * 1024), () => broken.destroy());
    await closed;
    assert.equal((await insert(table, longStream(1))).status, 200);
    const embedded = await server.embedded(table);
    assert.deepEqual([await embedded.countRows(), await embedded.version()], [32, 2]);
  });
});

suite('an insert into a branch', () => {
  test('leaves the main one alone, and main is a name of the main one', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    await (await (await server.embedded(table)).branches()).create('trial');
    assert.equal((await insert(table, sampleStream(3), { branch: 'trial' })).json.num_inserted_rows, 3);
    assert.equal(await rowCount(table), 2);
    assert.equal((await insert(table, sampleStream(3), { branch: 'main' })).status, 200);
    assert.equal(await rowCount(table), 5);
  });

  test('that is not there is a 404', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    await assertUnchanged(table, insert(table, sampleStream(1), { branch: 'none' }), {
      status: 404,
      code: CODE.branchNotFound,
    });
  });
});

suite('an insert into a table that was only declared', () => {
  test('makes the table from the rows, and the next adds to it', async () => {
    const id = server.name();
    const at = `/v1/table/${id}`;
    assert.equal((await server.admin.post(`${at}/declare`, {})).status, 200);
    const first = await insert({ at }, sampleStream(3));
    assert.deepEqual([first.status, first.json.num_inserted_rows], [200, 3], first.text);
    assert.deepEqual((await insert({ at }, sampleStream(2))).json.version, first.json.version + 1);
    const { json } = await server.admin.post(`${at}/describe`, {});
    assert.equal(await (await server.embedded(json)).countRows(), 5);
  });

  test('of several at once, one makes it, and the others add to it or are told to come again', async () => {
    const id = server.name();
    const at = `/v1/table/${id}`;
    await server.admin.post(`${at}/declare`, {});
    const answers = await Promise.all(count(4).map(async () => insert({ at }, sampleStream(2))));
    for (const answer of answers) assert.ok([200, 503].includes(answer.status), answer.text);
    const done = answers.filter(({ status }) => status === 200).length;
    assert.ok(done > 0);
    const { json } = await server.admin.post(`${at}/describe`, {});
    assert.equal(await (await server.embedded(json)).countRows(), 2 * done);
  });

  test('on a branch, or with a body that stops early, leaves it as it was', async () => {
    const id = server.name();
    const at = `/v1/table/${id}`;
    await server.admin.post(`${at}/declare`, {});
    assert.equal((await insert({ at }, sampleStream(1), { branch: 'trial' })).status, 404);
    assertRefused(await insert({ at }, sampleStream(9).subarray(0, 500)), badRequest());
    const { json } = await server.admin.post(`${at}/describe`, { check_declared: true });
    assert.equal(json.is_only_declared, true);
  });
});

/** A decimal of 128 bits, unscaled. */
const raw = (value: number): Uint32Array => new Uint32Array([value, 0, 0, 0]);

suite('rows that do not fit', () => {
  const MISFITS: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
    'an unknown column': [streamOf({ id: ints(1), extra: ints(1) }), /"extra"/],
    'text for a number': [streamOf({ id: { type: new Utf8(), values: ['1'] } }), /"id"/],
    'a fraction for an integer': [streamOf({ id: { type: new Float64(), values: [1.5] } }), /"id"/],
    'a vector of another length': [streamOf({ vec: { type: vectorType(3), values: [[1, 2, 3]] } }), /"vec".* 3 .* 4/],
  };
  for (const [name, [body, detail]] of Object.entries(MISFITS)) {
    test(`are a 400 that names the column: ${name}`, async () => {
      const table = await server.table({ stream: sampleStream(2) });
      await assertUnchanged(table, insert(table, body), badRequest(detail, CODE.schema));
    });
  }

  test('are a 400 that names the items whose fractions would be cut off: in lists, vectors and structs; or the decimal', async () => {
    const listOf = (item: DataType): List => new List(optional('item', item));
    const structOf = (item: DataType): Struct => new Struct([optional('x', item)]);
    const decimal = (scale: number): Decimal => new Decimal(scale, 10, 128);
    const cases: readonly (readonly [DataType, unknown, DataType, unknown, RegExp])[] = [
      [listOf(new Int64()), [1n], listOf(new Float64()), [1.5], /"c.item"/],
      [vectorType(2, new Uint8()), [1, 2], vectorType(2), [1.5, 2], /"c.item"/],
      [vectorType(2, new Uint8()), [1, 2], listOf(new Float64()), [1.5, 2], /"c.item"/],
      [listOf(structOf(new Int32())), [{ x: 1 }], listOf(structOf(new Float32())), [{ x: 1.5 }], /"c.item.x"/],
      [new Int64(), 1n, decimal(2), new Uint32Array([150, 0, 0, 0]), /"c" has the type decimal/],
    ];
    for (const [wanted, value, given, fraction, detail] of cases) {
      const table = await server.table({ stream: streamOf({ c: { type: wanted, values: [value] } }) });
      const rows = streamOf({ c: { type: given, values: [fraction] } });
      await assertUnchanged(table, insert(table, rows), badRequest(detail, CODE.schema));
    }
  });

  test('are a 400 that names the columns whose values were converted, if one is out of range', async () => {
    const column = (type: DataType, values: readonly unknown[]) => ({ type, values });
    const ints = { a: column(new Int32(), [1]), b: column(new Int32(), [1]), c: column(new Int32(), [1]) };
    const table = await server.table({ stream: streamOf(ints) });
    const [small, large] = [column(new Int64(), [1n]), column(new Int64(), [2n ** 40n])];
    const one = streamOf({ ...ints, b: large });
    await assertUnchanged(table, insert(table, one), badRequest(/: "b" \(int64 to int32\)\./, CODE.schema));
    const two = streamOf({ ...ints, a: small, b: large });
    const detail = /: "a" \(int64 to int32\) or "b" \(int64 to int32\)\./;
    await assertUnchanged(table, insert(table, two), badRequest(detail, CODE.schema));
  });

  test('are a 400 when decimals would be rounded, or dates could be out of range', async () => {
    const listOf = (item: DataType): List => new List(optional('item', item));
    const decimal = (scale: number): Decimal => new Decimal(scale, 10, 128);
    const cases: readonly (readonly [DataType, unknown, DataType, unknown, RegExp])[] = [
      [decimal(1), raw(10), decimal(2), raw(125), /"c" has the type decimal128\(10, 2\).*decimal128\(10, 1\)/],
      [listOf(decimal(1)), [raw(10)], listOf(decimal(2)), [raw(125)], /"c.item" has the type decimal/],
      [new DateDay(), new Date(0), new DateMillisecond(), new Date(0), /"c" has the type date64; .*date32/],
    ];
    for (const [wanted, value, given, other, detail] of cases) {
      const table = await server.table({ stream: streamOf({ c: { type: wanted, values: [value] } }) });
      const rows = streamOf({ c: { type: given, values: [other] } });
      await assertUnchanged(table, insert(table, rows), badRequest(detail, CODE.schema));
    }
  });

  test('are a 400 that names the column when the unit or the decimal of the table is too small', async () => {
    for (const [wanted, value, given, other] of [
      [new TimestampNanosecond(), 0, new TimestampSecond(), 253_402_214_400_000],
      [new Decimal(2, 5, 128), raw(1), new Int64(), -1_000_000n],
    ] as const) {
      const table = await server.table({ stream: streamOf({ c: { type: wanted, values: [value] } }) });
      const rows = streamOf({ c: { type: given, values: [other] } });
      await assertUnchanged(table, insert(table, rows), badRequest(/"c" \(.* to .*\)/, CODE.schema));
    }
  });

  test('are rounded to floats and from floats to decimals, and lose what a coarser unit cannot hold', async () => {
    for (const [wanted, value, given, other, stored] of [
      [new Decimal(2, 5, 128), raw(1), new Float64(), 1.245, 1.25],
      [new Float64(), 1, new Int64(), 2n ** 53n + 1n, 2 ** 53],
      [new Float16(), 1, new Float32(), 1e30, 'Infinity'],
      [new TimestampSecond(), 0, new TimestampMillisecond(), -1500, '1969-12-31T23:59:59'],
      [new TimeSecond(), 0, new TimeMillisecond(), 1999, '00:00:01'],
      [new Decimal(3, 12, 128), raw(1), new Decimal(2, 10, 128), raw(125), 1.25],
    ] as const) {
      const table = await server.table({ stream: streamOf({ c: { type: wanted, values: [value] } }) });
      const answer = await insert(table, streamOf({ c: { type: given, values: [other] } }));
      assert.equal(answer.status, 200, answer.text);
      const read = await server.admin.post(`${table.at}/query`, { k: 9 }, { accept: 'application/json' });
      assert.deepEqual(read.json.rows[1].c, stored);
    }
  });

  test('other numbers in lists, vectors and whole decimals are converted', async () => {
    const listOf = (item: DataType): List => new List(optional('item', item));
    const cases: readonly (readonly [DataType, unknown, DataType, unknown, unknown])[] = [
      [vectorType(2), [1, 2], vectorType(2, new Float64()), [1.5, 2], [1.5, 2]],
      [vectorType(2), [1, 2], listOf(new Float64()), [1.5, 2], [1.5, 2]],
      [vectorType(2), [1, 2], listOf(new Int32()), [3, 2], [3, 2]],
      [listOf(new Int64()), [1n], listOf(new Int32()), [7], [7]],
      [new Int64(), 1n, new Decimal(0, 10, 128), new Uint32Array([150, 0, 0, 0]), 150],
    ];
    for (const [wanted, value, given, other, stored] of cases) {
      const table = await server.table({ stream: streamOf({ c: { type: wanted, values: [value] } }) });
      const answer = await insert(table, streamOf({ c: { type: given, values: [other] } }));
      assert.equal(answer.status, 200, answer.text);
      const read = await server.admin.post(`${table.at}/query`, { k: 9 }, { accept: 'application/json' });
      assert.deepEqual(read.json.rows[1].c, stored);
    }
  });

  test('are a 400 when a column that may not be null is left out or null', async () => {
    const required = {
      id: { type: new Int32(), values: [1], nullable: false },
      note: { type: new Utf8(), values: ['a'] },
    };
    const table = await server.table({ stream: streamOf(required) });
    const without = streamOf({ note: { type: new Utf8(), values: ['b'] } });
    await assertUnchanged(table, insert(table, without), badRequest(/"id" is missing/, CODE.schema));
    const withNull = streamOf({ id: { type: new Int32(), values: [1, null] } });
    await assertUnchanged(table, insert(table, withNull), badRequest(/"id" must not be null/, CODE.schema));
  });

  test('are a 400 when a vector holds NaN', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const rows = streamOf({ id: ints(1), vec: { type: vectorType(4), values: [[1, Number.NaN, 2, 3]] } });
    await assertUnchanged(table, insert(table, rows), badRequest(/NaN/));
  });
});

suite('a body', () => {
  test('that stops early commits nothing', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const stream = sampleStream(50);
    for (const length of [0, 8, 100, stream.length - 8, stream.length - 1]) {
      await assertUnchanged(table, insert(table, stream.subarray(0, length)), badRequest());
    }
  });

  test('that is no Arrow stream is a 400, or a 415 when it says so', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    await assertUnchanged(table, insert(table, Buffer.from('{"id": 1}')), badRequest());
    assert.equal((await server.admin.post(`${table.at}/insert`, {})).status, 415);
  });

  for (const [name, { rows }] of Object.entries(expectedTables())) {
    test(`of the type ${name} is added to a table of that type, or refused by both`, async () => {
      const id = server.name();
      const at = `/v1/table/${id}`;
      const created = await server.admin.arrow(`${at}/create`, fixtureStream(name));
      if (created.status !== 200) return assert.equal((await insert({ at }, fixtureStream(name))).status, 404);
      const answer = await insert({ at }, fixtureStream(name));
      assert.equal(answer.status, 200, answer.text);
      const table = await server.embedded(created.json);
      assert.equal(await table.countRows(), 2 * rows);
    });
  }
});

suite('an insert is refused', () => {
  test('without a credential', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    await assertUnchanged(table, insert(table, sampleStream(1), {}, server.stranger()), unauthenticated);
  });

  test('without the permission to write', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    await assertUnchanged(table, insert(table, sampleStream(1), {}, await server.caller('reader')), forbidden);
  });

  test('to a caller who may not see the table as if it were not there', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const stranger = await server.caller('writer', ['elsewhere']);
    assertRefused(await insert(table, sampleStream(1), {}, stranger), tableNotFound);
  });

  test('when the table is not there', async () => {
    assertRefused(await insert({ at: '/v1/table/absent' }, sampleStream(1)), tableNotFound);
  });

  test('with a query parameter that is not known, but to the LanceDB family', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    await assertUnchanged(table, insert(table, sampleStream(1), { modes: 'append' }), badRequest(/"modes"/));
    assert.equal((await server.admin.arrow(`${table.at}/insert/?novelty=1`, sampleStream(1))).status, 200);
  });
});

function ints(rows: number) {
  return { type: new Int32(), values: count(rows) };
}

/** A schema that fits the samples, and the end. */
function fixtureWithoutBatches(): Uint8Array {
  return streamOf({ id: { type: new Int32(), values: [] } });
}
