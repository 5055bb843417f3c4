import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { LINEAR_FUNCTIONS, functionRule } from '../../../src/guard/sql/functions.ts';
import { guardSql } from '../../../src/guard/sql/guard-sql.ts';
import { EngineProcess } from './engine-process.ts';
import type { EngineAnswer } from './engine-worker.ts';
import { sqlLimits } from '../limits.ts';
import { GOOD_FILTERS } from './sql-corpus.ts';
import { mutated, nestedConditions, sqlTexts } from './sql-generator.ts';

const ALL_ROWS = Array.from({ length: 50 }, (_, id) => id);
/** What these texts guard against would take hours: only a hang is told from a slow machine. */
const BOUND_MILLISECONDS = 120_000;

/** Functions that have a rule of their own besides. */
const OTHER_LINEAR_FUNCTIONS = `array_append array_concat array_has array_has_any arrow_cast concat contains_tokens
  find_in_set get_field is_valid json_exists json_extract levenshtein make_array named_struct regexp_count regexp_instr
  regexp_like regexp_match strpos struct`.split(/\s+/);

describe('guarded SQL in the engine', () => {
  let engine: EngineProcess;
  before(async () => {
    engine = await EngineProcess.start();
  });
  after(async () => {
    await engine.stop();
  });

  it('selects the same rows with a good filter as the engine does without a guard', async () => {
    for (const text of GOOD_FILTERS) {
      const [raw, passed] = await engine.rows([text, guard(text)]);
      assert.equal(raw?.kind, 'rows', `${text}: ${JSON.stringify(raw)}`);
      assert.deepEqual(passed, raw, text);
    }
  });

  it('computes the same values with a good expression as the engine does without a guard', async () => {
    const texts = ['id', 'price * 2 + 1', '`Name`', "concat(name, 'x')", '[1.5, 2.0, -3.5]', 'NULL', "X'00ff'", 'p.a'];
    for (const text of texts) {
      const [raw, passed] = await engine.values([text, guard(text)]);
      assert.equal(raw?.kind, 'values', `${text}: ${JSON.stringify(raw)}`);
      assert.deepEqual(passed, raw, text);
    }
  });

  it('splits the rows into true, false and null with every text that passes', async () => {
    const texts = [
      ...fc.sample(sqlTexts.condition, { numRuns: 150, seed: 20_240_131 }),
      ...fc.sample(mutated(sqlTexts.condition), { numRuns: 400, seed: 20_240_229 }),
      ...GOOD_FILTERS.flatMap((text) => fc.sample(mutated(fc.constant(text)), { numRuns: 3, seed: text.length })),
    ];
    const passed = texts.flatMap((text) => passesGuard(text) ?? []);
    let ran = 0;
    for (const text of passed) {
      const questions = [text, `NOT ${text}`, `${text} IS NULL`, `${text} AND id >= 0`];
      const answers = await engine.rows(questions, BOUND_MILLISECONDS);
      ran += checkPartition(text, answers);
    }
    assert.ok(texts.length >= 700 && passed.length >= 200, `${passed.length} of ${texts.length} texts passed`);
    assert.ok(ran >= 100, `the engine ran only ${ran} of ${passed.length}`);
  });

  it('survives expressions composed of every piece of SQL', async () => {
    const pieces = fc.oneof(sqlTexts.number, sqlTexts.text);
    const texts = fc.sample(fc.oneof(pieces, mutated(pieces)), { numRuns: 250, seed: 7 });
    for (const text of texts) {
      const sql = passesGuard(text);
      if (sql !== undefined) await engine.values([sql], BOUND_MILLISECONDS);
    }
  });

  it('plans deep nests of every kind that passes', async () => {
    for (const text of fc.sample(nestedConditions(isAccepted), { numRuns: 60, seed: 42 })) {
      await engine.rows([guard(text)], BOUND_MILLISECONDS);
    }
  });

  it('plans each function that counts as linear 24 deep at once', async () => {
    for (const name of [...LINEAR_FUNCTIONS, ...OTHER_LINEAR_FUNCTIONS]) {
      assert.equal(functionRule(name).doublings, 0, name);
      const texts = ['id', 'name', 'tags', 'flag'].flatMap((core) => [
        nest(`${name}(`, core, ')', 24),
        nest(`${name}(`, core, ", 'a')", 24),
        nest(`${name}('a', `, core, ')', 24),
        nest(`${name}(`, core, ', true, flag)', 24),
        nest(`(${name}(`, core, ', flag) IS NULL)', 12),
      ]);
      const answers = await engine.values(
        texts.flatMap(
          (text) => passesGuard(text, { ...sqlLimits, growthMax: Infinity, computedBytesMax: Infinity }) ?? [],
        ),
        BOUND_MILLISECONDS,
      );
      const unknown = answers.some((answer) => answer.kind === 'error' && /Invalid function/.test(answer.message));
      assert.ok(answers.length > 0 && !unknown, `${name} is not a function of the engine`);
    }
  });

  for (const [title, text] of atTheLimits()) {
    it(`runs ${title} in good time`, async () => {
      const [answer] = await engine.rows([guard(text)], BOUND_MILLISECONDS);
      assert.equal(answer?.kind, 'rows', JSON.stringify(answer).slice(0, 500));
    });
  }
});

function guard(text: string, limits = sqlLimits): string {
  return guardSql(text, { name: 'filter', field: 'filter' }, limits);
}

function passesGuard(text: string, limits = sqlLimits): string | undefined {
  try {
    return guard(text, limits);
  } catch {
    return undefined;
  }
}

function isAccepted(text: string): boolean {
  return passesGuard(text) !== undefined;
}

/** Whatever a text means, `NOT` of it and `IS NULL` of it must take the rest, and a condition behind it be heeded. */
function checkPartition(text: string, answers: readonly EngineAnswer[]): number {
  const rows = answers.map((answer) => (answer.kind === 'rows' ? answer.rows : undefined));
  const [yes, no, unknown, both] = rows;
  if (yes === undefined || no === undefined || unknown === undefined || both === undefined) return 0;
  assert.deepEqual(both, yes, text);
  assert.deepEqual(
    [...yes, ...no, ...unknown].sort((left, right) => left - right),
    ALL_ROWS,
    text,
  );
  return 1;
}

function nest(open: string, core: string, close: string, depth: number): string {
  return open.repeat(depth) + core + close.repeat(depth);
}

function chain(term: string, operator: string, count: number): string {
  return Array.from({ length: count }, () => term).join(operator);
}

function atTheLimits(): readonly (readonly [title: string, text: string])[] {
  const numbers = Array.from({ length: 100_000 }, (_, index) => String(index - 50_000)).join();
  const words = Array.from({ length: 60_000 }, (_, index) => `'w${index}'`).join();
  return [
    ['a chain of 128 ORs', chain('id = 1', ' OR ', 128)],
    ['a chain of 256 ANDs', chain('flag', ' AND ', 257)],
    ['a chain of 255 sums', `${chain('id', ' + ', 256)} > 1`],
    ['a chain of 255 texts', `${chain("'a'", ' || ', 256)} = name`],
    ['a chain of 255 casts', `id${'::int'.repeat(255)} = 1`],
    ['256 calls', `id IN (${chain('abs(id)', ', ', 256)})`],
    ['1,000 names', `id IN (${chain('id', ', ', 1000)})`],
    ['100,000 numbers in a list', `id IN (${numbers})`],
    ['60,000 texts in a list', `name IN (${words})`],
    ['60,000 texts in an array', `array_has_any(tags, make_array(${words}))`],
    ['a list inside one coalesce', `coalesce(id IN (${numbers}), false)`],
    ['24 parentheses', nest('(', 'flag', ')', 24)],
    ['24 NOTs', `${'NOT '.repeat(24)}flag`],
    ['24 signs', `${'- '.repeat(24)}id = 1`],
    ['12 NOTs in parentheses', nest('NOT (', 'flag', ')', 12)],
    ['6 coalesces', nest('coalesce(', 'flag', ', true)', 6)],
    ['6 ifnulls', nest('ifnull(', 'flag', ', true)', 6)],
    ['6 BETWEENs', nest('(', 'flag', ' BETWEEN false AND true)', 6)],
    ['6 BETWEENs in a row', `flag${' BETWEEN false AND true'.repeat(6)}`],
    ['6 aliases', `${nest('list_concat(', 'tags', ')', 6)} = tags`],
    ['128 ranges', chain('id BETWEEN 1 AND 2', ' OR ', 128)],
    ['6 casts', `${nest('CAST(', 'id', ' AS BIGINT)', 6)} = 1`],
    ['quadratic functions', `levenshtein('${'a'.repeat(2000)}', '${'b'.repeat(2000)}') = 2000`],
    ['a hard pattern', `regexp_like(name, '(?:[a-z0-9_]{1,90}){1,60}!$')`],
  ];
}
