import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { guardSql } from '../../../src/guard/sql/guard-sql.ts';
import { sqlLimits } from '../limits.ts';
import { EngineProcess } from './engine-process.ts';

/** The columns of the engine's table that the expressions name. */
interface Row {
  readonly id: number;
  readonly price: number | null;
  readonly flag: boolean | null;
}

const ROWS: readonly Row[] = Array.from({ length: 50 }, (_, id) => ({
  id,
  price: id % 7 === 0 ? null : id / 4,
  flag: id % 3 === 0 ? null : id % 2 === 0,
}));

/** An expression with what it is worth to a plain program; `null` is unknown, and a division by zero throws. */
interface Expression<Value> {
  readonly sql: string;
  readonly value: (row: Row) => Value | null;
}

type Condition = Expression<boolean>;
type Amount = Expression<number>;

function not(value: boolean | null): boolean | null {
  return value === null ? null : !value;
}

function and(one: boolean | null, other: boolean | null): boolean | null {
  if (one === false || other === false) return false;
  return one === null || other === null ? null : true;
}

const small = fc.integer({ min: 0, max: 12 });

const plainConditions: fc.Arbitrary<Condition> = fc.oneof(
  fc.constant<Condition>({ sql: 'flag', value: ({ flag }) => flag }),
  fc.constant<Condition>({ sql: 'price IS NULL', value: ({ price }) => price === null }),
  fc.constant<Condition>({ sql: 'NULL', value: () => null }),
  small.map((count): Condition => ({ sql: `id % ${count + 1} = 0`, value: ({ id }) => id % (count + 1) === 0 })),
);

const priceCondition = (limit: number): Condition => ({
  sql: `price > ${limit}`,
  value: ({ price }) => (price === null ? null : price > limit),
});

const plainAmounts: fc.Arbitrary<Amount> = fc.oneof(
  fc.constant<Amount>({ sql: 'price', value: ({ price }) => price }),
  fc.constant<Amount>({ sql: 'NULL', value: () => null }),
  small.map((number): Amount => ({ sql: `${number}.5`, value: () => number + 0.5 })),
  small.map((zero): Amount => ({ sql: `CAST(100 / (id - ${zero}) AS DOUBLE)`, value: divideAt(zero) })),
);

function divideAt(zero: number): Amount['value'] {
  return ({ id }) => {
    if (id === zero) throw new RangeError('division by zero');
    return Math.trunc(100 / (id - zero));
  };
}

type Branches<Value> = readonly { readonly condition: Condition; readonly result: Expression<Value> }[];

function caseOf<Value>(branches: Branches<Value>, otherwise: Expression<Value> | undefined): Expression<Value> {
  const whens = branches.map(({ condition, result }) => `WHEN ${condition.sql} THEN ${result.sql}`);
  return {
    sql: `CASE ${whens.join(' ')}${otherwise === undefined ? '' : ` ELSE ${otherwise.sql}`} END`,
    value(row) {
      const taken = branches.find(({ condition }) => condition.value(row) === true);
      return (taken?.result ?? otherwise)?.value(row) ?? null;
    },
  };
}

function cases<Value>(conditions: fc.Arbitrary<Condition>, results: fc.Arbitrary<Expression<Value>>) {
  const branches = fc.array(fc.record({ condition: conditions, result: results }), { minLength: 1, maxLength: 3 });
  const otherwise = fc.option(results, { nil: undefined });
  return fc
    .tuple(branches, otherwise)
    .filter(([some, last]) =>
      [...some.map(({ result }) => result), last].some((each) => (each?.sql ?? 'NULL') !== 'NULL'),
    )
    .map(([some, last]) => caseOf(some, last));
}

const joinedConditions: fc.Arbitrary<Condition> = fc.oneof(
  small.map(priceCondition),
  plainConditions,
  plainConditions.map(({ sql, value }): Condition => ({ sql: `NOT (${sql})`, value: (row) => not(value(row)) })),
  fc.tuple(small, small).map(([low, high]): Condition => {
    const [one, other] = [priceCondition(low), priceCondition(high)];
    return { sql: `(${one.sql} AND NOT ${other.sql})`, value: (row) => and(one.value(row), not(other.value(row))) };
  }),
);

const amounts = cases(
  joinedConditions,
  fc.oneof({ weight: 3, arbitrary: plainAmounts }, cases(joinedConditions, plainAmounts)),
);
const conditions = cases(
  fc.oneof({ weight: 3, arbitrary: joinedConditions }, cases(joinedConditions, joinedConditions)),
  joinedConditions,
);

function guard(text: string): string {
  return guardSql(text, { name: 'expression', field: 'expression' }, sqlLimits);
}

/** Several CASEs in each other can be too much. */
function passes(text: string): boolean {
  try {
    guard(text);
    return true;
  } catch {
    return false;
  }
}

describe('CASE in the engine', () => {
  let engine: EngineProcess;
  before(async () => {
    engine = await EngineProcess.start();
  });
  after(async () => engine.stop());

  it('has the value that a plain program computes, and fails only where that fails', async () => {
    let [computed, failed] = [0, 0];
    for (const { sql, value } of fc.sample(amounts, { numRuns: 80, seed: 3 })) {
      const [answer] = await engine.values([guard(sql)]);
      const expected = tryAll(value);
      if (expected === undefined) {
        assert.equal(answer?.kind, 'error', sql);
        failed += 1;
      } else {
        assert.deepEqual(answer, { kind: 'values', values: expected.map(String) }, sql);
        computed += 1;
      }
    }
    assert.ok(computed > 30 && failed > 6, `${computed} computed, ${failed} failed`);
  });

  it('selects the rows that a plain program selects', async () => {
    const passed = fc.sample(conditions, { numRuns: 80, seed: 5 }).filter(({ sql }) => passes(sql));
    assert.ok(passed.length > 60, `${passed.length} passed`);
    for (const { sql, value } of passed) {
      const [answer] = await engine.rows([guard(sql)]);
      const rows = ROWS.filter((row) => value(row) === true).map(({ id }) => id);
      assert.deepEqual(answer, { kind: 'rows', rows }, sql);
    }
  });

  it('compares a value with each WHEN, and null with none', async () => {
    const [answer, texts, lists] = await engine.values([
      guard("CASE id WHEN 1 THEN 'one' WHEN 1 + 1 THEN 'two' WHEN NULL THEN 'none' ELSE name END"),
      guard("case flag when true then 'yes' when false then 'no' end || '!'"),
      guard('CASE WHEN id < 2 THEN [1.5, 2] ELSE make_array() END'),
    ]);
    assert.deepEqual(answer?.kind === 'values' && answer.values.slice(0, 4), ['null', 'one', 'two', 'say "hi"']);
    assert.deepEqual(texts?.kind === 'values' && texts.values.slice(0, 5), ['null', 'no!', 'yes!', 'null', 'yes!']);
    assert.deepEqual(lists?.kind === 'values' && lists.values.slice(1, 3), ['[1.5,2]', '[]']);
  });

  it('is a condition of operators alone where the engine knows no columns in calls', async () => {
    const flat = cases(joinedConditions, joinedConditions);
    for (const { sql, value } of fc.sample(flat, { numRuns: 50, seed: 8 })) {
      const text = guardSql(sql, { name: 'filter', field: 'filter', withoutCalls: true }, sqlLimits);
      assert.doesNotMatch(text, /nvl2|coalesce/);
      const [answer] = await engine.rows([text]);
      const rows = ROWS.filter((row) => value(row) === true).map(({ id }) => id);
      assert.deepEqual(answer, { kind: 'rows', rows }, sql);
    }
  });

  it('takes fields that are called like its words, in backticks or behind a dot', () => {
    assert.match(guard('p.end + CASE WHEN p.when > 1 THEN `case` ELSE `end`.then END'), /p\.end \+ +nvl2/);
    assert.equal(guard('`case` = 1 AND p.case = 2'), '(`case` = 1 AND p.case = 2)');
    assert.equal(guard("name = 'in CASE WHEN it THEN END'"), "(name = 'in CASE WHEN it THEN END')");
  });

  it('plans as many WHENs and as deep nests as pass, and refuses more with the place in the text', async () => {
    const chain = (count: number) =>
      `CASE ${Array.from({ length: count }, (_, at) => `WHEN id = ${at} THEN ${at}`).join(' ')} ELSE -1 END`;
    const [answer] = await engine.values([guardLoosely(chain(40))]);
    assert.equal(answer?.kind, 'values');
    let nested = '1.5';
    let levels = 0;
    for (; levels < 20; levels += 1) {
      const deeper = `CASE WHEN id > ${levels} THEN ${nested} WHEN flag THEN 2.5 ELSE price END`;
      try {
        guardLoosely(deeper);
      } catch (error) {
        assert.match(String(error), /at character 1, near "CASE WHEN|nested/);
        break;
      }
      nested = deeper;
    }
    assert.ok(levels >= 2 && levels < 8, `${levels} levels`);
    assert.equal((await engine.values([guardLoosely(nested)]))[0]?.kind, 'values');
    const repeated = `CASE ${'CASE '.repeat(12)} id ${'WHEN 1 THEN 1 WHEN 2 THEN 2 END '.repeat(13)}`;
    assert.throws(() => guardLoosely(repeated), /longer than|more than|too many/);
    const long = `CASE ${'id + '.repeat(20_000)} 1 ${'WHEN 1 THEN 1 '.repeat(20_000)} END`;
    assert.throws(() => guardLoosely(long), /too many/);
  });
});

/** With the limits of the settings. */
function guardLoosely(text: string): string {
  const limits = { ...sqlLimits, operatorsMax: 256, depthMax: 24, coalesceDepthMax: 6, charactersMax: 1_000_000 };
  return guardSql(text, { name: 'expression', field: 'expression' }, limits);
}

function tryAll<Value>(value: (row: Row) => Value | null): readonly (Value | null)[] | undefined {
  try {
    return ROWS.map(value);
  } catch {
    return undefined;
  }
}
