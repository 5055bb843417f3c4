import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readQuery } from '../../../src/operations/data/read-query.ts';
import type { QueryTableBody } from '../../../src/wire/data.ts';
import { testLimits } from '../../support/limits.ts';
import { refusalOf } from '../../support/refusal.ts';

const LIMITS = testLimits();
const read = (body: QueryTableBody) => readQuery(body, LIMITS);
const refused = (body: QueryTableBody): string => {
  const refusal = refusalOf(() => read(body));
  assert.equal(refusal.kind, 'InvalidInput');
  return refusal.message;
};

const SCAN = { vectors: [], prefilter: true, bypassVectorIndex: false, fastSearch: false, withRowId: false };

test('reads an empty body as a scan, without a single unset field', () => {
  const query = read({});
  assert.deepEqual(query, SCAN);
  assert.deepEqual(Object.keys(query).toSorted(), Object.keys(SCAN).toSorted());
});

test('reads every field of a query', () => {
  const query = read({
    vector: { single_vector: [1, 2] },
    vector_column: 'meta.`a.b`',
    full_text_query: { string_query: { query: 'puppy', columns: ['text', 'meta.note'] } },
    filter: 'id > 1',
    prefilter: false,
    columns: { column_names: ['id', 'meta.x'] },
    k: 5,
    offset: 2,
    distance_type: 'Cosine',
    nprobes: 7,
    ef: 30,
    refine_factor: 3,
    lower_bound: -0.5,
    upper_bound: 2,
    bypass_vector_index: true,
    fast_search: true,
    with_row_id: true,
  });
  assert.deepEqual(query, {
    vectors: [[1, 2]],
    vectorColumn: ['meta', 'a.b'],
    fullText: { kind: 'text', terms: 'puppy', columns: [['text'], ['meta', 'note']] },
    filter: '(id > 1)',
    prefilter: false,
    projection: { kind: 'names', paths: [['id'], ['meta', 'x']] },
    k: 5,
    offset: 2,
    distanceType: 'cosine',
    probes: { minimum: 7, maximum: 7 },
    ef: 30,
    refineFactor: 3,
    lowerBound: -0.5,
    upperBound: 2,
    bypassVectorIndex: true,
    fastSearch: true,
    withRowId: true,
  });
});

test('reads several vectors, aliases and a structured full-text query', () => {
  assert.deepEqual(read({ vector: { multi_vector: [[1], [2]] } }).vectors, [[1], [2]]);
  assert.deepEqual(read({ columns: { column_aliases: { total: 'price * 2', id: 'id' } } }).projection, {
    kind: 'aliases',
    columns: [
      ['total', '(price * 2)'],
      ['id', '(id)'],
    ],
  });
  const structured = { query: { phrase: { terms: 'a b', column: 'text' } } };
  assert.deepEqual(read({ full_text_query: { structured_query: structured } }).fullText, {
    kind: 'phrase',
    terms: 'a b',
    column: ['text'],
    slop: 0,
  });
});

test('keeps a k and an offset of 0', () => {
  const query = read({ k: 0, offset: 0, refine_factor: 0 });
  assert.equal(query.k, 0);
  assert.equal(query.offset, 0);
  assert.equal(query.refineFactor, 0);
});

test('reads the probes of both families', () => {
  assert.equal(read({}).probes, undefined);
  assert.deepEqual(read({ nprobes: 0 }).probes, { minimum: 0, maximum: 0 });
  const client = { nprobes: 20, minimum_nprobes: 20, maximum_nprobes: 40 };
  assert.deepEqual(read(client).probes, { minimum: 20, maximum: 40 });
  assert.deepEqual(read({ ...client, maximum_nprobes: 0 }).probes, { minimum: 20, maximum: undefined });
  assert.deepEqual(read({ maximum_nprobes: 5 }).probes, { minimum: 0, maximum: 5 });
});

test('refuses fewer probes at most than at least', () => {
  const message = refused({ minimum_nprobes: 30, maximum_nprobes: 10 });
  assert.equal(message, 'minimum_nprobes (30) is greater than maximum_nprobes (10).');
});

test('refuses both and neither of two that exclude each other', () => {
  assert.equal(
    refused({ vector: { single_vector: [1], multi_vector: [[1]] } }),
    'vector has both single_vector and multi_vector.',
  );
  assert.equal(refused({ vector: {} }), 'vector has neither single_vector nor multi_vector.');
  assert.equal(refused({ columns: {} }), 'columns has neither column_names nor column_aliases.');
  assert.equal(refused({ full_text_query: {} }), 'full_text_query has neither string_query nor structured_query.');
});

test('refuses vectors that no search can use', () => {
  for (const vector of [
    { single_vector: [] },
    { multi_vector: [] },
    { multi_vector: [[]] },
    { multi_vector: [[1, 2], [1]] },
    { single_vector: [1e39] },
  ]) {
    refused({ vector });
  }
});

test('refuses numbers beyond their bounds, and takes the bounds themselves', () => {
  const bounds: readonly (readonly [name: 'k' | 'offset' | 'ef' | 'refine_factor' | 'nprobes', maximum: number])[] = [
    ['k', LIMITS.query.kMax],
    ['offset', LIMITS.query.offsetMax],
    ['ef', LIMITS.query.efMax],
    ['refine_factor', LIMITS.query.refineFactorMax],
    ['nprobes', LIMITS.query.nprobesMax],
  ];
  for (const [name, maximum] of bounds) {
    read({ [name]: maximum });
    assert.match(refused({ [name]: maximum + 1 }), new RegExp(`^${name} is ${maximum + 1}, which is more than`));
  }
});

test('refuses too many columns, vectors and dimensions', () => {
  const { columnsMax, vectorsMax, dimensionsMax } = LIMITS.query;
  const names = Array.from({ length: columnsMax + 1 }, (_unused, index) => `c${index}`);
  assert.match(refused({ columns: { column_names: names } }), /^The number of columns is/);
  const aliases = Object.fromEntries(names.map((name) => [name, 'id']));
  assert.match(refused({ columns: { column_aliases: aliases } }), /^The number of columns is/);
  const vectors = Array.from({ length: vectorsMax + 1 }, () => [1]);
  assert.match(refused({ vector: { multi_vector: vectors } }), /^The number of query vectors is/);
  const long = Array.from({ length: dimensionsMax + 1 }, () => 1);
  assert.match(refused({ vector: { single_vector: long } }), /^The number of dimensions of the query vector is/);
});

test('passes every text through its guard', () => {
  assert.match(refused({ filter: 'id = 1; drop table t' }), /filter/);
  assert.match(refused({ filter: '' }), /filter/);
  assert.match(refused({ columns: { column_aliases: { 'a"b': '1) or (1' } } }), /columns\.column_aliases\["a\\"b"\]/);
  const deep = { query: nest(LIMITS.sql.fullTextDepthMax) };
  assert.match(refused({ full_text_query: { structured_query: deep } }), /nested/);
  const long = 'x'.repeat(LIMITS.sql.fullTextCharactersMax + 1);
  assert.match(refused({ full_text_query: { string_query: { query: long } } }), /characters of text/);
});

test('refuses paths that do not parse, and distances that are not known', () => {
  assert.match(refused({ vector_column: 'a..b' }), /empty segment/);
  assert.match(refused({ columns: { column_names: ['`a'] } }), /closing backtick/);
  assert.equal(refused({ distance_type: 'manhattan' }), 'The distance_type "manhattan" is unknown.');
});

test('refuses bounds of a distance that are no finite numbers', () => {
  refused({ lower_bound: Number.NaN });
  refused({ upper_bound: Number.POSITIVE_INFINITY });
});

function nest(levels: number): Record<string, unknown> {
  return levels === 0 ? { match: { terms: 'a' } } : { boolean: { must: [nest(levels - 1)] } };
}
