import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { jsonLines } from '../../../src/arrow/results/json-pieces.ts';
import { frame } from '../../../src/arrow/results/result-framing.ts';
import { REFUSED_TABLES, expectedTables, fixtureStream, whole } from '../../support/arrow-fixtures.ts';
import { loadStream } from '../support/load-stream.ts';
import { NativeEngine } from '../support/native-engine.ts';
import type { NativeTable } from '../support/native-engine.ts';

let engine: NativeEngine;
before(async () => {
  engine = await NativeEngine.open();
});
after(async () => engine.close());

suite('JSON rows', () => {
  for (const [name, expected] of Object.entries(expectedTables())) {
    if (REFUSED_TABLES.has(name)) continue;
    test(`${name} has the values that were sent`, async () => {
      const { table, rows } = await loadStream(engine, whole(fixtureStream(name)));
      const lines = await writeTable(table);
      assert.equal(lines.length, rows);
      const { first_rows: first, types } = expected;
      if (first === null || types === null) return;
      const wanted = first.map((row) => toJson(row, types));
      assert.deepEqual(
        lines.slice(0, first.length).map((line): unknown => JSON.parse(line)),
        wanted,
      );
    });
  }

  test('have all digits of long integers and of decimals', async () => {
    const { table } = await loadSql({
      long: '9223372036854775807',
      least: '-9223372036854775807 - 1',
      decimal: "arrow_cast('12345678901234567890.12', 'Decimal128(38, 2)')",
      small: "arrow_cast('-0.05', 'Decimal128(38, 2)')",
      wide: "arrow_cast('-1234567890123456789012345678901234567890.5', 'Decimal256(60, 1)')",
    });
    assert.equal(
      table[0],
      '{"long":9223372036854775807,"least":-9223372036854775808,"decimal":12345678901234567890.12,"small":-0.05,"wide":-1234567890123456789012345678901234567890.5,"x":1}',
    );
  });

  test('have texts and bytes that the engine returns as views, short and long, and nulls', async () => {
    const long = 'a text of more than twelve bytes, ä';
    const { table } = await loadSql({
      short: `left('${long}', 3)`,
      long: `arrow_cast('${long}', 'Utf8View')`,
      empty: "arrow_cast('', 'Utf8View')",
      none: "arrow_cast(NULL, 'Utf8View')",
      bytes: "arrow_cast(arrow_cast('more than twelve bytes', 'Binary'), 'BinaryView')",
    });
    const bytes = Buffer.from('more than twelve bytes').toString('base64');
    assert.deepEqual(JSON.parse(table[0] ?? ''), { short: 'a t', long, empty: '', none: null, bytes, x: 1 });
  });

  test('have moments with all digits of their unit, before 1970 too, and a Z where there is a zone', async () => {
    const { table } = await loadSql({
      ns: "arrow_cast('1969-12-31T23:59:59.999999999', 'Timestamp(Nanosecond, None)')",
      zoned: "arrow_cast('2024-05-06T07:08:09.5', 'Timestamp(Millisecond, Some(\"UTC\"))')",
      s: "arrow_cast('0001-01-01T00:00:00', 'Timestamp(Second, None)')",
      day: "arrow_cast('1960-02-29', 'Date32')",
      time: "arrow_cast('23:59:59.000001', 'Time64(Microsecond)')",
    });
    assert.deepEqual(JSON.parse(table[0] ?? ''), {
      ns: '1969-12-31T23:59:59.999999999',
      zoned: '2024-05-06T07:08:09.500Z',
      s: '0001-01-01T00:00:00',
      day: '1960-02-29',
      time: '23:59:59.000001',
      x: 1,
    });
  });

  test('have what is no number in JSON as text', async () => {
    const { table } = await loadSql({
      nan: "CAST('NaN' AS DOUBLE)",
      infinity: "CAST('Infinity' AS DOUBLE)",
      minus: "CAST('-Infinity' AS FLOAT)",
      large: '1e300',
      tiny: '5e-324',
    });
    assert.equal(
      table[0],
      '{"nan":"NaN","infinity":"Infinity","minus":"-Infinity","large":1e+300,"tiny":5e-324,"x":1}',
    );
  });
});

/** One row of expressions over a fixture. */
async function loadSql(columns: Readonly<Record<string, string>>): Promise<{ readonly table: readonly string[] }> {
  const { table } = await loadStream(engine, whole(fixtureStream('int64')));
  return { table: await writeTable(table, [...Object.entries(columns), ['x', 'x']]) };
}

async function writeTable(
  table: NativeTable,
  columns?: readonly (readonly [string, string])[],
): Promise<readonly string[]> {
  const query = table.query();
  if (columns !== undefined) query.select(columns);
  const batches = await query.execute();
  async function* files(): AsyncGenerator<Buffer> {
    for (let file = await batches.next(); file !== null; file = await batches.next()) yield file;
  }
  let text = '';
  for await (const piece of frame(jsonLines(), { head: Buffer.alloc(0), files: files() }))
    text += Buffer.from(piece).toString();
  return text.split('\n').slice(0, -1);
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 };

function toJson(row: Readonly<Record<string, unknown>>, types: Readonly<Record<string, string>>): unknown {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toValue(value, types[name] ?? '')]));
}

/** A value of the list of expected ones in the form of a row. */
function toValue(value: unknown, type: string): unknown {
  if (type.startsWith('map') && Array.isArray(value)) {
    return value.map(([key, item]: [unknown, unknown]) => ({ key, value: item }));
  }
  if (type === 'extension<arrow.bool8>') return value === true ? 1 : 0;
  if (typeof value !== 'object' || value === null) return value;
  if ('base64' in value) return value.base64;
  if ('decimal' in value) return Number(value.decimal);
  if ('text' in value) return value.text;
  if ('seconds' in value) return toTicks(Number(value.seconds), type);
  return 'iso' in value ? toMoment(String(value.iso), type) : value;
}

function toTicks(seconds: number, type: string): number {
  const unit = /\[(\w+)\]/.exec(type)?.[1] ?? 's';
  return Math.round(seconds / (UNIT_SECONDS[unit] ?? 1));
}

function toMoment(iso: string, type: string): string {
  const [, unit = 's'] = /\[(\w+)/.exec(type) ?? [];
  const fraction = { s: '', ms: '.000', us: '.000000', ns: '.000000000' }[unit] ?? '';
  if (type.startsWith('timestamp') && type.includes('tz=')) {
    return `${new Date(iso).toISOString().slice(0, 19)}${fraction}Z`;
  }
  return type.startsWith('date') ? iso : `${iso}${fraction}`;
}
