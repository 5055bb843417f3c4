import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../src/errors/service-error.ts';
import { guardFullText } from '../../src/guard/full-text.ts';
import type { FullTextQuery } from '../../src/model/query.ts';
import { sqlLimits } from './limits.ts';

type Match = Extract<FullTextQuery, { readonly kind: 'match' }>;

describe('guardFullText', () => {
  it('gives back a query of every kind as it is', () => {
    const query = boolean({
      must: [match(), { kind: 'phrase', terms: 'big red', column: ['body'], slop: 2 }],
      should: [{ kind: 'boost', positive: match(), negative: match(), negativeBoost: 0.5 }],
      mustNot: [{ kind: 'multi-match', terms: 'x', columns: [['a'], ['b']], boosts: [1, 2], operator: 'or' }],
    });
    assert.equal(guardFullText(query, sqlLimits), query);
    const text: FullTextQuery = { kind: 'text', terms: 'puppy', columns: [['body']] };
    assert.equal(guardFullText(text, sqlLimits), text);
  });

  it('passes a tree of the greatest depth and refuses one level more', () => {
    guardFullText(nested(31), sqlLimits);
    assert.match(message(nested(32)), /^full_text_query\.boolean\.must\[0\].* nested more than 32 levels deep/);
  });

  it('refuses a tree of a million levels without exhausting the stack', () => {
    assert.match(message(nested(1_000_000)), /nested more than 32 levels deep/);
    let boosted: FullTextQuery = match();
    for (let level = 0; level < 100_000; level += 1) {
      boosted = { kind: 'boost', positive: match(), negative: boosted, negativeBoost: 1 };
    }
    assert.match(message(boosted), /nested more than 32 levels deep/);
  });

  it('counts clauses and columns over the whole tree', () => {
    guardFullText(boolean({ must: clauses(128), should: clauses(127) }), sqlLimits);
    assert.match(message(boolean({ must: clauses(128), should: clauses(128) })), /more than 256 clauses and columns/);
    const columns = Array.from({ length: 256 }, (): [string] => ['c']);
    assert.match(message({ kind: 'text', terms: 'x', columns }), /more than 256 clauses and columns/);
  });

  it('counts characters over the whole tree, and says where', () => {
    const half = 'x'.repeat(32_768);
    guardFullText(boolean({ must: [match({ terms: half }), match({ terms: half })] }), sqlLimits);
    assert.match(
      message(boolean({ must: [match({ terms: half }), match({ terms: half }), match()] })),
      /more than 65,536 characters of text, counted up to full_text_query\.boolean\.must\[2\]\.match\.terms/,
    );
  });

  it('counts what words cost, fuzzy ones more, and says what to lower', () => {
    const words = (count: number): string => Array.from({ length: count }, (_, word) => `word${word}s`).join(' ');
    const refusedFrom = (count: number, change: Partial<Match>): void => {
      guardFullText(match({ terms: words(count - 1), ...change }), sqlLimits);
      const refused = match({ terms: words(count), ...change });
      assert.match(message(refused), /^full_text_query costs more than 20,000, .* has [\d,]+ words/);
    };
    const limits = { ...sqlLimits, fullTextCharactersMax: 1_000_000 };
    guardFullText(match({ terms: words(20_000), fuzziness: 0 }), limits);
    assert.throws(() => guardFullText(match({ terms: words(20_001), fuzziness: 0 }), limits), /costs more than/);
    refusedFrom(6651, { fuzziness: 1, maxExpansions: 50 });
    refusedFrom(799, { fuzziness: 2, maxExpansions: 50 });
    refusedFrom(799, { fuzziness: undefined, maxExpansions: 50 });
    refusedFrom(14, { fuzziness: 3, maxExpansions: 50 });
    refusedFrom(14, { fuzziness: 9, maxExpansions: 50 });
    refusedFrom(761, { fuzziness: 2, maxExpansions: 1000 });
    guardFullText(match({ terms: 'it is an ox or so '.repeat(500), fuzziness: undefined }), sqlLimits);
    const columns = Array.from({ length: 200 }, (_, column): [string] => [`c${column}`]);
    assert.match(message({ kind: 'text', terms: words(101), columns }), /costs more than 20,000/);
    const clause = match({ terms: words(300), fuzziness: 2, maxExpansions: 50 });
    assert.match(message(boolean({ should: [clause, clause, clause] })), /counted up to .*should\[2\]/);
  });

  for (const [title, change, field] of [
    ['an infinite boost', { boost: Number.POSITIVE_INFINITY }, 'boost'],
    ['a boost below 0', { boost: -0.5 }, 'boost'],
    ['a boost that is infinite to the engine', { boost: 1e300 }, 'boost'],
    ['a boost that is no number', { boost: Number.NaN }, 'boost'],
    ['a fuzziness of 256', { fuzziness: 256 }, 'fuzziness'],
    ['a negative fuzziness', { fuzziness: -1 }, 'fuzziness'],
    ['no expansions', { maxExpansions: 0 }, 'max_expansions'],
    ['a billion expansions', { maxExpansions: 1e9 }, 'max_expansions'],
    ['half an expansion', { maxExpansions: 0.5 }, 'max_expansions'],
    ['a negative prefix', { prefixLength: -1 }, 'prefix_length'],
    ['half of a surrogate pair', { terms: 'a\ud800' }, 'terms'],
  ] as const) {
    it(`refuses ${title} and names its field`, () => {
      const query = boolean({ must: [match()], should: [match(), match(change)] });
      assert.ok(message(query).startsWith(`full_text_query.boolean.should[1].match.${field} `), message(query));
    });
  }

  it('passes boosts from 0 to 1e30, also when they are multiplied', () => {
    for (const boost of [0, 0.5, 1e30]) guardFullText(match({ boost }), sqlLimits);
    const inner = { kind: 'boost', positive: match(), negative: match({ boost: 1e20 }), negativeBoost: 1e10 } as const;
    guardFullText(inner, sqlLimits);
    const negativeBoost = 10;
    assert.match(
      message({ kind: 'boost', positive: match(), negative: inner, negativeBoost }),
      /^full_text_query\.boost\.negative\.boost\.negative\.match\.boost is .*; multiplied by every negative_boost/,
    );
    guardFullText({ kind: 'boost', positive: inner, negative: match(), negativeBoost }, sqlLimits);
  });

  it('passes a fuzziness of 0 to 2 and none', () => {
    for (const fuzziness of [0, 1, 2, undefined]) guardFullText(match({ fuzziness }), sqlLimits);
  });

  it('refuses a slop, a boost or columns that do not fit', () => {
    const phrase: FullTextQuery = { kind: 'phrase', terms: 'x', column: undefined, slop: 2 ** 32 };
    assert.match(message(phrase), /^full_text_query\.phrase\.slop is 4294967296/);
    const boost: FullTextQuery = { kind: 'boost', positive: match(), negative: match(), negativeBoost: Number.NaN };
    assert.match(message(boost), /^full_text_query\.boost\.negative_boost is NaN/);
    assert.match(message({ ...boost, negativeBoost: -5 }), /negative_boost is -5, which is less than 0/);
    const several = { kind: 'multi-match', terms: 'x', operator: 'or' } as const;
    assert.match(message({ ...several, columns: [['a']], boosts: [1, 2] }), /boost has 2 numbers, .* 1 columns/);
    assert.match(message({ ...several, columns: [['a']], boosts: [Number.NaN] }), /multi_match\.boost\[0\] is NaN/);
    assert.match(message({ ...several, columns: [['a']], boosts: [-1] }), /multi_match\.boost\[0\] is -1/);
    assert.match(message({ ...several, columns: [], boosts: undefined }), /multi_match\.columns is empty/);
    guardFullText({ ...several, columns: [['a']], boosts: undefined }, sqlLimits);
  });
});

function match(change: Partial<Match> = {}): Match {
  return {
    kind: 'match',
    terms: 'puppy',
    column: ['body'],
    boost: 1,
    fuzziness: 0,
    maxExpansions: 50,
    operator: 'or',
    prefixLength: 0,
    ...change,
  };
}

function clauses(count: number): readonly FullTextQuery[] {
  return Array.from({ length: count }, () => match());
}

function boolean(groups: Partial<Record<'must' | 'should' | 'mustNot', readonly FullTextQuery[]>>): FullTextQuery {
  return { kind: 'boolean', must: [], should: [], mustNot: [], ...groups };
}

function nested(levels: number): FullTextQuery {
  let query: FullTextQuery = match();
  for (let level = 0; level < levels; level += 1) query = boolean({ must: [query] });
  return query;
}

function message(query: FullTextQuery): string {
  try {
    guardFullText(query, sqlLimits);
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.kind === 'InvalidInput', String(error));
    return error.message;
  }
  return assert.fail('passed');
}
