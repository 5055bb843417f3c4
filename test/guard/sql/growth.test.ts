import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { estimateGrowth, measureGrowth } from '../../../src/guard/sql/growth.ts';
import { guardSql } from '../../../src/guard/sql/guard-sql.ts';
import type { SqlUse } from '../../../src/guard/sql/refusal.ts';
import { readTokens } from '../../../src/guard/sql/tokenizer.ts';
import type { GuardedSql } from '../../../src/model/query.ts';
import { sqlLimits } from '../limits.ts';
import { EngineProcess } from './engine-process.ts';

const PROJECTION: SqlUse = { name: 'projection', field: 'columns' };
const WIDE = { ...sqlLimits, growthMax: 1_000_000, computedBytesMax: 1_000_000_000 };

describe('the growth of a computed value', () => {
  const factors: readonly (readonly [text: string, factor: number])[] = [
    ['name', 1],
    ["'x'", 1],
    ['id + id + id * id', 1],
    ['concat(a, b, c, d, e, f, g, h, i, j)', 1],
    ["a || '-' || b || '-' || a", 2],
    ['concat(a, concat(a, a)) || a', 4],
    ["named_struct('a', p['a'], 'b', p.b, 'c', p.`c d`)", 1],
    ["named_struct('a', p['a'], 'b', P.a)", 2],
    ["lpad(name, 10, '0')", 1],
    ['repeat(a, 5) || b', 5],
    ['repeat(repeat(a, 5), 5)', 25],
    ['array_repeat(a || a, 3)', 6],
    ['make_array(a, a, b)', 2],
    ['[a, a, b]', 2],
    ['ARRAY[a, a, b]', 2],
    ['length(a || a || a)', 3],
    ['length(a || a) > 3 AND length(a || a || a) > 5', 3],
    ["a = 'x' OR a = 'y' OR a = 'z' OR a LIKE 'u%' OR a IN ('v', 'w')", 1],
    ["a IS NULL || a || a || a || 'x'", 3],
    ["a IN ('x') || a || a", 2],
    ['id + 1 || a || a', 2],
    ['coalesce(a, b, a || a)', 2],
    ["replace(a, 'x', 'abcdef')", 6],
    ["replace(a, 'abc', 'x')", 1],
    ["regexp_match(a, '((x)(y))')", 4],
    ["concat_ws(a, 'x', 'y', 'z')", 5],
    ["array_to_string(a, ', ')", 7],
    ['CAST(a AS string) || CAST(a AS string(10))', 2],
    ['a::string || a::string', 2],
    ["arrow_cast(a, 'Utf8')", 1],
    ["DATE '2024-01-31' > when", 1],
    ['`date`', 1],
  ];
  for (const [text, factor] of factors) {
    it(`is ${factor} for ${text}`, () => {
      assert.equal(estimateGrowth(guard(text)), factor);
    });
  }

  it('counts literals that become part of a value, but not literals that are only compared', () => {
    const long = 'x'.repeat(10_000);
    assert.ok(bytes(`a = '${long}' AND b IN ('${long}', '${long}') OR '${long}' LIKE a`) < 1000);
    assert.ok(bytes(`a || '${long}' = b`) >= 10_000);
    assert.ok(bytes(`length(concat(a, '${long}')) > 1`) >= 10_000);
    assert.ok(bytes(`array_has_any(tags, ['${long}', '${long}'])`) < 1000);
    assert.ok(bytes('length(repeat(uuid(), 1000)) > 3') >= 36_000);
    assert.ok(bytes("repeat('ab', 1000)") >= 2000);
    assert.ok(bytes("repeat(repeat('ab', 1000), 1000)") >= 2_000_000);
    assert.ok(bytes("lpad(a, 1000, 'é')") >= 2000);
    assert.ok(bytes("arrow_cast(NULL, 'FixedSizeList(1000, FixedSizeList(1000, Float64))')") >= 8_000_000);
  });

  const refused: readonly (readonly [title: string, text: string, message: RegExp])[] = [
    ['a chain of ||', Array(250).fill('t').join(' || '), /"\|\|" produces values up to 250 times as long as a column/],
    [
      'many arguments',
      `array_concat(${Array(201).fill('t').join(', ')})`,
      /"array_concat" produces values up to 201 times/,
    ],
    [
      'one function inside the other',
      'concat(concat(t, t, t, t, t, t), concat(t), repeat(t, 30))',
      /"concat".* 37 times/,
    ],
    [
      'a value that is only measured',
      `length(make_array(${Array(40).fill('t').join()})) > 1`,
      /"make_array".* 40 times/,
    ],
    ['a count that a row decides', 'repeat(name, id)', /count of "repeat".*not a number literal/],
    ['a padding that a row decides', "lpad(name, id * 2, '0')", /count of "lpad".*not a number literal/],
    ['a large count', "repeat('x', 1000000000)", /count of "repeat" is larger than 10,000/],
    [
      'a literal for every row',
      `concat(name, '${'x'.repeat(70_000)}')`,
      /characters|"concat" produces values of up to 7[\d,]+ bytes/,
    ],
    [
      'a huge list of nulls',
      "arrow_cast(NULL, 'FixedSizeList(60000, Float64)')",
      /"arrow_cast" produces values of up to 48[\d,]+ bytes/,
    ],
    [
      'a literal that is only measured',
      "length(repeat(repeat('x', 10000), 10000)) > 1",
      /"repeat" produces values of up to [\d,]{11,}/,
    ],
    ['a replacement of nothing', "replace(name, '', 'x')", /not a string literal/],
    ['a separator that a row decides', 'array_to_string(tags, name)', /not a string literal/],
  ];
  for (const [title, text, message] of refused) {
    it(`is bounded for ${title}, with a message that says what to lower`, () => {
      for (const name of ['projection', 'filter'] as const) {
        assert.throws(
          () => guardSql(text, { name, field: name }, sqlLimits),
          (error) => error instanceof ServiceError && message.test(error.message) && (error.hint ?? '') !== '',
        );
      }
    });
  }

  it('leaves an update free to set a long text', () => {
    guardSql(`'${'x'.repeat(500_000)}'`, { name: 'expression', field: 'updates[0]' }, sqlLimits);
    guardSql(`[${Array(16_384).fill('0.123').join()}]`, { name: 'expression', field: 'updates[0]' }, sqlLimits);
    assert.throws(() =>
      guardSql("repeat(repeat('x', 10000), 10000)", { name: 'expression', field: 'updates[0]' }, sqlLimits),
    );
  });
});

describe('the estimate, compared with the engine', () => {
  let engine: EngineProcess;
  before(async () => {
    engine = await EngineProcess.start();
  });
  after(async () => {
    await engine.stop();
  });

  it('is never smaller than the values that the engine computes', async () => {
    const widths = new Map<string, readonly number[]>();
    for (const column of COLUMNS) widths.set(column, await lengths(column));
    let values = 0;
    for (const { text, columns } of fc.sample(expressions, { numRuns: 600, seed: 11 })) {
      const sql = passed(text);
      if (sql === undefined) continue;
      const { factor, bytes: added } = measureGrowth([...readTokens(sql)]);
      for (const [row, length] of (await lengths(sql)).entries()) {
        const width = [...columns].reduce((total, column) => total + (widths.get(column)?.[row] ?? 0), 0);
        assert.ok(
          length <= factor * width + added,
          `${text} in row ${row}: ${length} > ${factor} * ${width} + ${added}`,
        );
        values += 1;
      }
    }
    assert.ok(values > 10_000, `the engine computed only ${values} values`);
  });

  /** 0 for null; none where the engine refuses the text. */
  async function lengths(text: string): Promise<readonly number[]> {
    const [answer] = await engine.values([text], 20_000);
    if (answer?.kind !== 'values') return [];
    return answer.values.map((value) => (value === 'null' ? 0 : Buffer.byteLength(value)));
  }
});

const COLUMNS = ['name', 'format', 'p.b', '`Name`'];

interface Expression {
  readonly text: string;
  readonly columns: ReadonlySet<string>;
}

const literal = fc.constantFrom("'a'", "'é日'", "''", "'xyz, '").map((text) => ({ text, columns: new Set<string>() }));
const column = fc.constantFrom(...COLUMNS).map((text) => ({ text, columns: new Set([text]) }));

const { expression: expressions } = fc.letrec<{ expression: Expression }>((tie) => {
  const inner = tie('expression');
  const wrap = (before: string, after: string): fc.Arbitrary<Expression> =>
    inner.map(({ text, columns }) => ({ text: `${before}${text}${after}`, columns }));
  const join = (before: string, between: string, after: string): fc.Arbitrary<Expression> =>
    fc.array(inner, { minLength: 2, maxLength: 4 }).map((parts) => ({
      text: before + parts.map(({ text }) => text).join(between) + after,
      columns: new Set(parts.flatMap(({ columns }) => [...columns])),
    }));
  return {
    expression: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      column,
      literal,
      join('(', ' || ', ')'),
      join('concat(', ', ', ')'),
      join("concat_ws('--', ", ', ', ')'),
      join('coalesce(', ', ', ')'),
      join('array_to_string(make_array(', ', ', "), ' / ')"),
      join('array_to_string(array_concat([', '], [', "]), '')"),
      wrap('upper(', ')'),
      wrap('repeat(', ', 3)'),
      wrap('lpad(', ", 12, 'é')"),
      wrap('rpad(', ', 9)'),
      wrap('replace(', ", 'a', 'bcd')"),
      wrap('translate(', ", 'aex', '日本é')"),
      wrap('array_to_string(string_to_array(', ", NULL), '+')"),
      wrap('array_to_string(regexp_match(', ", '((.)(.*))'), '')"),
      wrap('array_to_string(array_repeat(', ", 4), '')"),
      wrap('CAST(length(', ') AS string)'),
      wrap('(', " IS NULL || 'x')"),
    ),
  };
});

function passed(text: string): GuardedSql | undefined {
  try {
    return guard(text);
  } catch {
    return undefined;
  }
}

function guard(text: string): GuardedSql {
  return guardSql(text, PROJECTION, WIDE);
}

function bytes(text: string): number {
  return measureGrowth([...readTokens(guard(text))]).bytes;
}
