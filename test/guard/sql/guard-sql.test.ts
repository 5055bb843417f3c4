import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { guardSql } from '../../../src/guard/sql/guard-sql.ts';
import type { SqlUse } from '../../../src/guard/sql/refusal.ts';
import type { SqlLimits } from '../../../src/model/limits.ts';
import { sqlLimits } from '../limits.ts';
import { ATTACKS, GOOD_FILTERS } from './sql-corpus.ts';
import { mutated, sqlTexts } from './sql-generator.ts';

const FILTER: SqlUse = { name: 'filter', field: 'filter' };

describe('guardSql', () => {
  it('passes filters that people write, in parentheses and otherwise unchanged', () => {
    for (const text of GOOD_FILTERS) assert.equal(guard(text), `(${text})`);
  });

  for (const [text, reason] of ATTACKS) {
    it(`refuses ${JSON.stringify(text.slice(0, 60))}`, () => {
      assert.match(refusal(text).message, new RegExp(reason));
    });
  }

  it('names the field, the character and a piece of the text, and says what would be right', () => {
    const error = refusal('id = 1 AND "name" = 2', { name: 'expression', field: 'updates[2] expression' });
    assert.equal(error.kind, 'InvalidInput');
    assert.match(error.message, /^In updates\[2\] expression at character 12, near "\\"name\\" = 2": double quotes/);
    assert.match(error.hint ?? '', /backticks.*single quotes/);
  });

  it('counts a pair of surrogates as one character', () => {
    assert.match(refusal("name = '😀😀' ; x").message, /at character 13, near "; x"/);
  });

  it('says that the text ends too early', () => {
    assert.match(refusal('id = ').message, /^In filter at character 6, at its end: /);
  });

  it('never shows more than a short piece of the text', () => {
    assert.ok(refusal(`id = ;${'x'.repeat(10_000)}`).detail.length < 300);
  });

  it('keeps every bound exactly', () => {
    passesThenRefuses((count) => `id${' + 1'.repeat(count)} > 1`, 255, 'operators');
    passesThenRefuses((count) => `${'('.repeat(count)}flag${')'.repeat(count)}`, 24, 'deep');
    passesThenRefuses((count) => `${'NOT '.repeat(count)}flag`, 24, 'deep');
    passesThenRefuses((count) => `${'- '.repeat(count)}id = 1`, 24, 'deep');
    passesThenRefuses((count) => `${'coalesce('.repeat(count)}id${', 1)'.repeat(count)} = 1`, 6, 'double');
    passesThenRefuses((count) => `flag${' BETWEEN false AND true'.repeat(count)}`, 6, 'double');
    passesThenRefuses((count) => `id IN (${list(count, '1')})`, 100, 'list items', { listItemsMax: 100 });
    passesThenRefuses((count) => `concat(${list(count, "'a'")}) = name`, 256, 'arguments');
    passesThenRefuses((count) => `id IN (${list(count, 'abs(1)')})`, 256, 'function calls');
    passesThenRefuses((count) => `id IN (${list(count, 'id')})`, 1023, 'names');
    passesThenRefuses((count) => `name = '${'a'.repeat(count)}'`, 91, 'characters', { charactersMax: 100 });
  });

  it('counts the depth of adjacent levels once', () => {
    guard(list(20, 'coalesce(flag, true)', ' AND '));
    guard(list(60, 'id BETWEEN 1 AND 2', ' OR '));
    guard(list(40, '(NOT -id = 1)', ' AND '));
    guard(`greatest(${list(40, 'coalesce(id, 1)')}) BETWEEN coalesce(id, 1) AND coalesce(id, 2)`);
  });

  it('adds up levels of different kinds that double the planning', () => {
    assert.match(
      refusal('length(trim(substr(CAST(nvl(ifnull(id, 1), 2) AS string), 1))) BETWEEN 1 AND 2').message,
      /double/,
    );
    guard('coalesce(length(trim(substr(name, 1, 3))), 0) BETWEEN 1 AND 3');
  });

  it('refuses a long list inside levels that double the planning', () => {
    const numbers = list(100_000, '123456');
    guard(`coalesce(id IN (${numbers}), false)`);
    assert.match(refusal(`coalesce(coalesce(id IN (${numbers}), false), false)`).message, /too much is nested/);
    assert.match(
      refusal(`(id IN (${numbers})) BETWEEN false AND true BETWEEN false AND true`).message,
      /too much is nested/,
    );
  });

  it('refuses a deep nest inside levels that double the planning', () => {
    const deep = `${'abs('.repeat(16)}id${')'.repeat(16)}`;
    guard(`${'coalesce('.repeat(4)}${deep}${', 1)'.repeat(4)} = 1`);
    assert.match(refusal(`${'coalesce('.repeat(5)}${deep}${', 1)'.repeat(5)} = 1`).message, /too much is nested/);
  });

  it('takes 100,000 items of every kind of literal in a list', () => {
    for (const item of ['1', '-1', "'a'", '-1.5e3', "X'ff'", 'NULL']) guard(`id IN (${list(100_000, item)})`);
    guard(`at IN (${list(30_000, "date '2020-01-01'")})`);
    guard(`vec = [${list(4096, '-0.123456')}]`);
  });

  it('passes paths into JSON', () => {
    guard("json_extract(doc, '$.a[0].b') = '1' AND json_exists(doc, '$.**.c') AND json_get_int(doc, 'n') > 3");
  });

  it('lets words of SQL be names wherever the engine does', () => {
    guard("date = 'x' AND time > 1 AND format = 'pdf' AND interval < 3 AND over = 1 AND filter IS NULL");
    guard('order + group * year - timestamp.zone > end');
  });

  it('reads a text of a million characters in linear time', () => {
    const size = 999_980;
    const texts = [
      `name = '${"''".repeat(size / 2 - 5)}'`,
      `name = '${'\\'.repeat(size - 10)}'`,
      `\`${'``'.repeat(size / 2 - 5)}\` = 1`,
      ' '.repeat(size),
      '('.repeat(size),
      '-'.repeat(size),
      '- '.repeat(size / 2),
      "'".repeat(size),
      '`'.repeat(size - 1),
      '9'.repeat(size),
      `1${'.'.repeat(size)}`,
      'a'.repeat(size),
      'é'.repeat(size),
      'a.'.repeat(size / 2),
      'f('.repeat(size / 2),
      `id IN (${"'a',".repeat(size / 5)}'a')`,
      `id IN (${'-1,'.repeat(size / 4)}-1)`,
      '1e'.repeat(size / 2),
      '\ud83d\ude00'.repeat(size / 2),
      `${' '.repeat(size - 10)};`,
      `blob = X'${'ab'.repeat(size / 2 - 10)}'`,
    ];
    for (const text of texts) {
      const started = performance.now();
      passesGuard(text);
      assert.ok(performance.now() - started < 20_000, text.slice(0, 20));
    }
  });

  it('passes any text as a literal and any name in backticks, as they are', () => {
    const content = fc.string({ unit: 'grapheme', maxLength: 40 });
    fc.assert(
      fc.property(content, content, (value, name) => {
        const text = `\`${name.replaceAll('`', '``')}\` = '${value.replaceAll("'", "''")}'`;
        assert.equal(guard(text), `(${text})`);
      }),
      { numRuns: 500 },
    );
  });

  it('accepts its own output up to the depth limit', () => {
    fc.assert(
      fc.property(sqlTexts.condition, (text) => {
        const once = passesGuard(text);
        fc.pre(once !== undefined);
        assert.equal(guardSql(once, FILTER, { ...sqlLimits, depthMax: 25, charactersMax: 2_000_000 }), `(${once})`);
      }),
      { numRuns: 300 },
    );
  });

  it('passes two joined conditions whenever it passes each, unless their lists contradict each other', () => {
    fc.assert(
      fc.property(sqlTexts.condition, sqlTexts.condition, (left, right) => {
        fc.pre(left.length + right.length < 4000);
        const [one, other] = [passesGuard(left), passesGuard(right)];
        fc.pre(one !== undefined && other !== undefined);
        try {
          guardSql(`${one} AND ${other}`, FILTER, { ...sqlLimits, depthMax: 25, operatorsMax: 1000 });
        } catch (error) {
          // Only joined can two lists contradict each other.
          assert.match(String(error), /two lists for .* contradict each other or are always true together/);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('answers any text with a guarded text or a refusal that points into it', () => {
    const soup = fc.string({ unit: fc.constantFrom(...SOUP), maxLength: 40 });
    const text = fc.oneof(soup, mutated(sqlTexts.condition), fc.string({ unit: 'binary', maxLength: 40 }));
    fc.assert(
      fc.property(text, (candidate) => {
        const error = attempt(candidate);
        if (error === undefined) return;
        const position = Number(/at character (\d+)/.exec(error.message)?.[1]);
        assert.ok(position >= 1 && position <= candidate.length + 1, error.message);
        assert.ok((error.hint ?? '').length > 0, error.message);
      }),
      { numRuns: 3000 },
    );
  });

  it('refuses every text that ends outside its own brackets', () => {
    fc.assert(
      fc.property(
        sqlTexts.condition,
        fc.constantFrom(')', '(', ']', '[', ',', ';', ' x', ' 1', " 'x'"),
        (text, tail) => {
          assert.ok(attempt(text + tail) instanceof ServiceError);
        },
      ),
      { numRuns: 500 },
    );
  });
});

const SOUP = [
  ...'()[],.;:\'"`\\-+*/%=<>!|&^~?$@#{} \n\t\u0000\u00a0é1aXxNnE_'.split(''),
  ...' AND | OR |NOT | IN (| BETWEEN | IS |NULL|CAST(| AS |id|f(|::|--|/*|😀'.split('|'),
];

function guard(text: string): string {
  return guardSql(text, FILTER, sqlLimits);
}

function refusal(text: string, use: SqlUse = FILTER, limits: SqlLimits = sqlLimits): ServiceError {
  try {
    guardSql(text, use, limits);
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return error;
  }
  return assert.fail(`passed: ${text.slice(0, 200)}`);
}

/** The refusal, or `undefined` when the text passes; anything else that is thrown is a bug. */
function attempt(text: string): ServiceError | undefined {
  try {
    guard(text);
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

function passesGuard(text: string): string | undefined {
  return attempt(text) === undefined ? `(${text})` : undefined;
}

function passesThenRefuses(
  make: (count: number) => string,
  most: number,
  reason: string,
  changed: Partial<SqlLimits> = {},
): void {
  const limits = { ...sqlLimits, ...changed };
  guardSql(make(most), FILTER, limits);
  assert.match(refusal(make(most + 1), FILTER, limits).message, new RegExp(reason));
}

function list(count: number, item: string, separator = ','): string {
  return Array.from({ length: count }, () => item).join(separator);
}
