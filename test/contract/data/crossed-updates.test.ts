import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Bool, Float32, TimestampMillisecond } from 'apache-arrow';
import type { DataType } from 'apache-arrow';
import fc from 'fast-check';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import {
  Float64,
  Int32,
  List,
  Struct,
  Utf8,
  count,
  nestedStream,
  optional,
  streamOf,
  vectorType,
} from '../contract-tables.ts';
import { assertRefused, badRequest, columnNotFound } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const update = async (table: MadeTable, updates: readonly (readonly [string, string])[], predicate?: string) =>
  updated(server.admin, table, { updates, ...(predicate === undefined ? {} : { predicate }) });

interface Row {
  readonly id: number;
  readonly a: number | null;
  readonly b: number | null;
  readonly c: number | null;
}

async function tableOf(rows: readonly Row[]): Promise<MadeTable> {
  const column = (name: keyof Row) => ({ type: new Int32(), values: rows.map((row) => row[name]) });
  return server.table({ stream: streamOf({ id: column('id'), a: column('a'), b: column('b'), c: column('c') }) });
}

suite('every expression of an update sees the row as it was', () => {
  test('two columns are swapped, in the rows that the predicate selects by their old values', async () => {
    const rows = count(6).map((id) => ({ id, a: id, b: id * 10, c: null }));
    const table = await tableOf(rows);
    const { json } = await update(
      table,
      [
        ['a', 'b'],
        ['b', 'a'],
      ],
      'a >= 2 AND b < 50',
    );
    assert.equal(json.updated_rows, 3);
    assert.deepEqual(
      await server.rows(table),
      rows.map((row) => (row.id >= 2 && row.id < 5 ? { ...row, a: row.b, b: row.a } : row)),
    );
    const described = (await server.admin.post(`${table.at}/describe`, {})).json;
    assert.deepEqual(
      described.schema.fields.map((field: { readonly name: string }) => field.name),
      ['id', 'a', 'b', 'c'],
    );
    assert.equal(described.version, json.version);
  });

  /** Expressions as SQL and as a model of them. */
  type Term = readonly [sql: string, value: (row: Row) => number | null];
  const columns = ['a', 'b', 'c'] as const;
  const leaf: fc.Arbitrary<Term> = fc.oneof(
    fc.constantFrom(...columns).map((name): Term => [name, (row) => row[name]]),
    fc.constantFrom(...columns).map((name): Term => [`\`${name}\``, (row) => row[name]]),
    fc.integer({ min: -9, max: 9 }).map((value): Term => [`(${value})`, () => value]),
  );
  const term: fc.Arbitrary<Term> = fc.oneof(
    leaf,
    fc.tuple(leaf, fc.constantFrom('+', '-', '*'), leaf).map(([[left, one], sign, [right, other]]): Term => {
      const value = (row: Row) => calculate(sign, one(row), other(row));
      return [`${left} ${sign} ${right}`, value];
    }),
    fc.tuple(leaf, leaf).map(([[left, one], [right, other]]): Term => {
      return [`coalesce(${left}, ${right})`, (row) => one(row) ?? other(row)];
    }),
  );
  const value = fc.option(fc.integer({ min: -99, max: 99 }), { freq: 4 });
  const rows = fc
    .array(fc.record({ a: value, b: value, c: value }), { minLength: 1, maxLength: 12 })
    .map((found) => found.map((row, id) => ({ id, ...row })));
  const assigned = fc.uniqueArray(fc.tuple(fc.constantFrom(...columns), term), {
    selector: ([name]) => name,
    minLength: 2,
    maxLength: 3,
  });
  const bound = fc.option(fc.tuple(fc.constantFrom(...columns), fc.integer({ min: -99, max: 99 })), { nil: undefined });

  test('also where the values that are left of them read no column', async () => {
    const table = await tableOf([{ id: 0, a: 1, b: 2, c: 3 }]);
    await update(table, [
      ['b', 'coalesce(5, 0)'],
      ['a', 'coalesce(4, b)'],
    ]);
    assert.deepEqual(await server.rows(table), [{ id: 0, a: 4, b: 5, c: 3 }]);
  });

  test('as in a model, for any rows, expressions and predicates', async () => {
    await fc.assert(
      fc.asyncProperty(rows, assigned, bound, async (before, updates, limit) => {
        const table = await tableOf(before);
        const selects = (row: Row) => limit === undefined || (row[limit[0]] ?? -Infinity) > limit[1];
        const pairs = updates.map(([name, [sql]]) => [name, sql] as const);
        const { json } = await update(table, pairs, limit && `${limit[0]} > ${limit[1]}`);
        const after = before.map((row) => {
          const values = updates.map(([name, [, calculated]]) => [name, calculated(row)] as const);
          return selects(row) ? { ...row, ...Object.fromEntries(values) } : row;
        });
        assert.equal(json.updated_rows, before.filter(selects).length);
        assert.deepEqual(await server.rows(table), after);
      }),
      { numRuns: 40 },
    );
  });

  const swapped: readonly (readonly [string, DataType, readonly unknown[]])[] = [
    ['texts', new Utf8(), ['x', null, '', 'é']],
    ['truth values', new Bool(), [true, null, false, true]],
    ['floats', new Float64(), [1.5, null, -0.25, 1e300]],
    ['times', new TimestampMillisecond('UTC'), [0, null, 1_700_000_000_000, 5]],
    ['vectors', vectorType(2, new Float32()), [[1, 2], null, [3, 4], [5, 6]]],
    ['lists', new List(optional('item', new Utf8())), [['a', null], null, [], ['b']]],
    [
      'structs',
      new Struct([optional('x', new Int32()), optional('y', new Utf8())]),
      [{ x: 1, y: 'a' }, null, { x: null, y: null }, { x: 2, y: '' }],
    ],
  ];
  for (const [what, type, values] of swapped) {
    for (const predicate of [undefined, 'id < 3']) {
      test(`with columns of ${what}${predicate === undefined ? '' : ', of some rows'}`, async () => {
        const stream = streamOf({
          id: { type: new Int32(), values: count(4) },
          a: { type, values },
          b: { type, values: values.toReversed() },
        });
        const table = await server.table({ stream });
        const before = await server.rows(table);
        await update(
          table,
          [
            ['a', 'b'],
            ['b', 'a'],
          ],
          predicate,
        );
        assert.deepEqual(
          await server.rows(table),
          before.map((row) => (predicate === undefined || row['id'] < 3 ? { ...row, a: row['b'], b: row['a'] } : row)),
        );
      });
    }
  }

  test('with fields of structs, whose null structs stay null', async () => {
    const table = await server.table({ stream: nestedStream() });
    const before = await server.rows(table);
    await update(table, [
      ['label', 'place.label'],
      ['place.label', 'label'],
    ]);
    assert.deepEqual(
      await server.rows(table),
      before.map((row) => {
        const place = row['place'] === null ? null : { ...row['place'], label: row['label'] };
        return { ...row, label: row['place']?.label ?? null, place };
      }),
    );
  });

  test('in a circle of three, and on a branch', async () => {
    const table = await tableOf([{ id: 0, a: 1, b: 2, c: 3 }]);
    await update(table, [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'a'],
    ]);
    assert.deepEqual(await server.rows(table), [{ id: 0, a: 2, b: 3, c: 1 }]);
    await server.admin.post(`${table.at}/branches/create`, { name: 'trial' });
    const body = {
      updates: [
        ['a', 'b'],
        ['b', 'a'],
      ],
      branch: 'trial',
    };
    assert.equal((await server.admin.post(`${table.at}/update`, body)).json.updated_rows, 1);
    const query = { k: 1, branch: 'trial', columns: { column_names: ['a', 'b'] } };
    const { json } = await server.admin.post(`${table.at}/query`, query, { accept: 'application/json' });
    assert.deepEqual(json.rows, [{ a: 3, b: 2 }]);
    assert.deepEqual(await server.rows(table), [{ id: 0, a: 2, b: 3, c: 1 }]);
  });

  test('columns that are computed from them follow', async () => {
    const table = await tableOf([
      { id: 0, a: 1, b: 2, c: 3 },
      { id: 1, a: 4, b: 5, c: 6 },
    ]);
    const added = await server.admin.post(`${table.at}/add_columns`, {
      new_columns: [{ name: 'sum', computed: 'a * 10 + b' }],
    });
    assert.equal(added.status, 200, added.text);
    await update(
      table,
      [
        ['a', 'b'],
        ['b', 'a + c'],
      ],
      'id = 1',
    );
    assert.deepEqual(
      (await server.rows(table)).filter(({ id }) => id === 1),
      [{ id: 1, a: 5, b: 10, c: 6, sum: 60 }],
    );
  });

  test('readers never see a part of it', async () => {
    const rows = count(2000).map((id) => ({ id, a: 0, b: 1, c: null }));
    const table = await tableOf(rows);
    let isOver = false;
    const swapping = update(table, [
      ['a', 'b'],
      ['b', 'a'],
    ]).finally(() => (isOver = true));
    const seen = new Set<string>();
    while (!isOver) {
      const sums = await server.admin.post(
        `${table.at}/query`,
        { filter: 'a = b', k: 1 },
        { accept: 'application/json' },
      );
      seen.add(JSON.stringify(sums.json.rows));
      const described = await server.admin.post(`${table.at}/describe`, {});
      seen.add(String(described.json.schema.fields.length));
    }
    await swapping;
    assert.deepEqual([...seen].toSorted(), ['4', '[]']);
  });

  test('a repeated request with its key is applied once', async () => {
    const table = await tableOf([{ id: 0, a: 1, b: 2, c: 3 }]);
    const body = {
      updates: [
        ['a', 'b'],
        ['b', 'a'],
      ],
    };
    const headers = { 'idempotency-key': 'swap-once' };
    const [first, again] = [
      await server.admin.post(`${table.at}/update`, body, headers),
      await server.admin.post(`${table.at}/update`, body, headers),
    ];
    assert.deepEqual([again.status, again.json.version, again.json.updated_rows], [200, first.json.version, 1]);
    assert.deepEqual(await server.rows(table), [{ id: 0, a: 2, b: 1, c: 3 }]);
  });
});

suite('an update that reads what it sets changes nothing when it is refused', () => {
  test('before anything is written: unknown columns, wrong types, wrong predicates', async () => {
    const table = await tableOf([{ id: 0, a: 1, b: 2, c: 3 }]);
    const refused = async (updates: unknown, predicate?: string) =>
      server.admin.post(`${table.at}/update`, { updates, ...(predicate && { predicate }) });
    assertRefused(
      await refused([
        ['a', 'b + nope'],
        ['b', 'a'],
      ]),
      columnNotFound,
    );
    assertRefused(
      await refused([
        ['a', 'b'],
        ['nope', 'a'],
      ]),
      columnNotFound,
    );
    assertRefused(
      await refused([
        ['a', "concat(b, 'x')"],
        ['b', 'a'],
      ]),
      badRequest(),
    );
    assertRefused(
      await refused(
        [
          ['a', 'b'],
          ['b', 'a'],
        ],
        'nope = 1',
      ),
      columnNotFound,
    );
    assert.equal(await (await server.embedded(table)).version(), table.version);
  });

  test('and also when a later row fails', async () => {
    const rows = count(50).map((id) => ({ id, a: 49 - id, b: 1, c: null }));
    const table = await tableOf(rows);
    const answer = await server.admin.post(`${table.at}/update`, {
      updates: [
        ['a', 'b'],
        ['b', '1 / a'],
      ],
    });
    assertRefused(answer, badRequest(/divides by zero/));
    assert.deepEqual(await server.rows(table), rows);
    assert.equal((await update(table, [['c', '5']])).json.updated_rows, 50);
  });
});

function calculate(sign: string, one: number | null, other: number | null): number | null {
  if (one === null || other === null) return null;
  if (sign === '+') return one + other;
  // A product of 0 has no sign in the engine.
  return sign === '-' ? one - other : one * other + 0;
}
