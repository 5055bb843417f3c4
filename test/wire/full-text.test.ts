import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readStructuredQuery } from '../../src/wire/full-text.ts';
import { refusalOf } from '../support/refusal.ts';

const PLACE = 'full_text_query.structured_query.query';
const read = (query: unknown, depthMax = 32) => readStructuredQuery(query, depthMax);
const refused = (query: unknown, depthMax = 32): string => {
  const refusal = refusalOf(() => read(query, depthMax));
  assert.equal(refusal.kind, 'InvalidInput');
  return refusal.message;
};

const MATCH = {
  kind: 'match',
  terms: 'puppy',
  column: undefined,
  boost: 1,
  fuzziness: undefined,
  maxExpansions: 50,
  operator: 'or',
  prefixLength: 0,
} as const;

test('reads a match with what it leaves out filled in', () => {
  assert.deepEqual(read({ match: { terms: 'puppy' } }), MATCH);
});

test('reads a match as the LanceDB client writes it', () => {
  const query = {
    match: {
      column: 'meta.`a.b`',
      terms: 'puppy',
      boost: 2.5,
      fuzziness: null,
      max_expansions: 7,
      operator: 'And',
      prefix_length: 1,
    },
  };
  const expected = {
    ...MATCH,
    column: ['meta', 'a.b'],
    boost: 2.5,
    maxExpansions: 7,
    operator: 'and',
    prefixLength: 1,
  };
  assert.deepEqual(read(query), expected);
  assert.deepEqual(read({ match: { terms: 'puppy', column: null, operator: 'OR' } }), MATCH);
});

test('reads a phrase', () => {
  const expected = { kind: 'phrase', terms: 'a b', column: ['text'], slop: 2 };
  assert.deepEqual(read({ phrase: { terms: 'a b', column: 'text', slop: 2 } }), expected);
  assert.deepEqual(read({ phrase: { terms: 'a b' } }), { ...expected, column: undefined, slop: 0 });
});

test('reads a boost of two queries', () => {
  const side = { match: { terms: 'puppy' } };
  const expected = { kind: 'boost', positive: MATCH, negative: MATCH, negativeBoost: 0.5 };
  assert.deepEqual(read({ boost: { positive: side, negative: side } }), expected);
  assert.deepEqual(read({ boost: { positive: side, negative: side, negative_boost: 0 } }), {
    ...expected,
    negativeBoost: 0,
  });
});

test('reads a boolean with the groups that it has', () => {
  const clause = { match: { terms: 'puppy' } };
  assert.deepEqual(read({ boolean: { must: [clause], must_not: [clause, clause] } }), {
    kind: 'boolean',
    must: [MATCH],
    should: [],
    mustNot: [MATCH, MATCH],
  });
  assert.deepEqual(read({ boolean: {} }), { kind: 'boolean', must: [], should: [], mustNot: [] });
});

test('reads a search of several columns in both families’ forms', () => {
  const expected = {
    kind: 'multi-match',
    terms: 'puppy',
    columns: [['a'], ['b']],
    boosts: [1, 2],
    operator: 'or',
  };
  assert.deepEqual(read({ multi_match: { query: 'puppy', columns: ['a', 'b'], boost: [1, 2] } }), expected);
  const queries = [
    { terms: 'puppy', column: 'a', fuzziness: 0 },
    { terms: 'puppy', column: 'b', boost: 2, fuzziness: 0 },
  ];
  assert.deepEqual(read({ multi_match: { match_queries: queries } }), expected);
  assert.deepEqual(read({ multi_match: { query: 'puppy', columns: ['a', 'b'], boost: null } }), {
    ...expected,
    boosts: undefined,
  });
});

test('keeps match queries apart that cannot be one search of several columns', () => {
  const plain = { terms: 'puppy', column: 'a', fuzziness: 0 };
  const others = [
    { ...plain, terms: 'cat' },
    { ...plain, operator: 'And' },
    { ...plain, fuzziness: 2 },
    { terms: 'puppy', column: 'b' },
    { terms: 'puppy', fuzziness: 0 },
  ];
  for (const other of others) {
    const query = read({ multi_match: { match_queries: [plain, other] } });
    assert.deepEqual(query, {
      kind: 'boolean',
      must: [],
      should: [read({ match: plain }), read({ match: other })],
      mustNot: [],
    });
  }
});

test('takes nulls for what was not given', () => {
  assert.deepEqual(read({ match: { terms: 'puppy' }, phrase: null, boolean: null }), MATCH);
  assert.deepEqual(read({ boolean: { must: null, should: [], must_not: null } }), read({ boolean: {} }));
});

test('refuses a query that is not exactly one of the kinds', () => {
  assert.equal(refused({}), `A full-text query must have exactly one kind; ${PLACE} has 0.`);
  assert.equal(
    refused({ match: { terms: 'a' }, phrase: { terms: 'a' } }),
    `A full-text query must have exactly one kind; ${PLACE} has 2.`,
  );
  assert.equal(refused({ fuzzy: { terms: 'a' } }), `"fuzzy" at ${PLACE} is not a kind of full-text query.`);
  assert.ok(refused({ ['k'.repeat(1_000_000)]: 7 }).length < 300);
});

const wrong: readonly (readonly [query: unknown, message: string])[] = [
  [null, `${PLACE} must be an object.`],
  ['puppy', `${PLACE} must be an object.`],
  [[], `${PLACE} must be an object.`],
  [{ match: 'puppy' }, `${PLACE}.match must be an object.`],
  [{ match: {} }, `${PLACE}.match.terms must be a string.`],
  [{ match: { terms: 7 } }, `${PLACE}.match.terms must be a string.`],
  [{ match: { terms: 'a', column: 7 } }, `${PLACE}.match.column must be a field path.`],
  [{ match: { terms: 'a', boost: '2' } }, `${PLACE}.match.boost must be a number.`],
  [{ match: { terms: 'a', operator: 'xor' } }, `${PLACE}.match.operator must be "And" or "Or".`],
  [{ match: { terms: 'a', slop: 1 } }, `The field "slop" is unknown in ${PLACE}.match.`],
  [{ boost: { positive: { match: { terms: 'a' } } } }, `${PLACE}.boost.negative must be an object.`],
  [{ boolean: { must: {} } }, `${PLACE}.boolean.must must be an array.`],
  [{ boolean: { must: [{ match: { terms: 1 } }] } }, `${PLACE}.boolean.must[0].match.terms must be a string.`],
  [{ multi_match: { query: 'a' } }, `${PLACE}.multi_match.columns must be an array.`],
  [{ multi_match: { query: 'a', columns: ['a'], boost: ['1'] } }, `${PLACE}.multi_match.boost must be a number.`],
  [{ multi_match: { match_queries: [7] } }, `${PLACE}.multi_match.match_queries[0] must be an object.`],
];

for (const [query, message] of wrong) {
  test(`refuses ${JSON.stringify(query)} by its field`, () => assert.equal(refused(query), message));
}

test('reads to the depth that is allowed, and refuses the next level', () => {
  const nest = (levels: number): unknown =>
    levels === 0 ? { match: { terms: 'a' } } : { boolean: { must: [nest(levels - 1)] } };
  assert.equal(read(nest(3), 4).kind, 'boolean');
  assert.match(refused(nest(4), 4), /nested more than 4 levels deep/);
  const boosts = { boost: { positive: nest(1), negative: nest(3) } };
  assert.match(refused(boosts, 4), /nested more than 4 levels deep, at .*boost\.negative/);
});

test('reads or refuses any tree, and throws nothing but refusals', () => {
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue({ maxDepth: 1 }),
      fc.record({ match: fc.record({ terms: fc.oneof(fc.string(), fc.integer()), column: fc.string() }) }),
      fc.record({ boolean: fc.record({ must: fc.array(tie('tree'), { maxLength: 3 }) }) }),
      fc.record({ boost: fc.record({ positive: tie('tree'), negative: tie('tree') }) }),
    ),
  }));
  fc.assert(
    fc.property(tree, (query) => {
      try {
        assert.ok(read(query).kind.length > 0);
      } catch (error) {
        assert.equal((error as Error).name, 'ServiceError');
      }
    }),
  );
});
