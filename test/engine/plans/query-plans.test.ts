import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Utf8 } from 'apache-arrow';
import type { ErrorName } from '../../../src/errors/service-error.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { Analysis, PlanStep, FullTextQuery, Query } from '../../../src/model/query.ts';
import type { TableState } from '../../../src/model/table.ts';
import {
  ENGINE_LIMITS,
  latest,
  openApart,
  openFixture,
  openTestEngine,
  sql,
  toQuery,
  toStream,
} from '../test-engine.ts';
import { toDocuments, toItems, toTable } from '../sample-tables.ts';
import { measureBatches } from '../watched-native.ts';
import { loadNative } from '../../../src/engine/native/native.ts';

const { Index } = loadNative();
const V4 = [1, 2, 3, 4];
const MATCH = { terms: 'alpha', boost: 1, fuzziness: 0, maxExpansions: 50, operator: 'or', prefixLength: 0 } as const;

describe('analysis', () => {
  let engine: Engine;
  let plain: TableState;
  let indexed: TableState;

  const closing: (() => unknown)[] = [];
  const suite = { after: (work: () => unknown) => void closing.push(work) };
  after(async () => {
    for (const close of closing) await close();
  });

  before(async () => {
    const fixture = await openTestEngine(suite);
    engine = fixture.engine;
    plain = latest(fixture.location('plain'));
    indexed = latest(fixture.location('indexed'));
    await engine.createTable(plain.location, await toStream(toDocuments(600)), {});
    await engine.createTable(indexed.location, await toStream(toDocuments(600)), {});
    const table = await openApart(suite, indexed);
    await table.createIndex(Index.ivfPq('l2', 2, 2), 'vec');
    await table.createIndex(Index.hnswSq('l2', 1), 'twin_a');
    await table.createIndex(Index.btree(), 'id');
    await table.createIndex(Index.fts(true), 'body');
    await table.createIndex(Index.fts(false), 'meta.title');
  });

  const analyze = async (query: Partial<Query>, state = plain): Promise<Analysis> => {
    const analysis = await engine.analyzeQuery(state, toQuery(query));
    assert.doesNotMatch(analysis.text, /tiltyard-engine|\.lance|tmp\//);
    assert.doesNotMatch(JSON.stringify(analysis.root), /tiltyard-engine|\.lance|tmp\//);
    assert.equal(analysis.root.operator, analysis.text.split(/[ ,:]/, 1)[0]);
    return analysis;
  };

  /** Where releases of the engine differ, the operators of the fallback and of the main one, in this order. */
  const FORMS: readonly (readonly [title: string, query: Partial<Query>, rows: number, operator: string])[] = [
    ['a scan', {}, 600, 'LanceRead'],
    ['a scan with a limit and an offset', { k: 5, offset: 590 }, 5, 'LanceRead'],
    ['a filtered scan', { filter: sql('id < 25'), k: 10 }, 10, 'LanceRead'],
    ['a filtered scan that finds nothing', { filter: sql('id < 0') }, 0, 'LanceRead'],
    ['a vector search', { vectors: [V4], k: 7 }, 7, 'KNNVectorDistance'],
    ['a vector search with an offset', { vectors: [V4], k: 7, offset: 2 }, 7, 'KNNVectorDistance'],
    ['a vector search without k', { vectors: [V4] }, 10, 'KNNVectorDistance'],
    ['a search of half floats', { vectors: [[1, 2, 3, 4, 5, 6]], k: 3 }, 3, 'KNNVectorDistance'],
    ['a search of doubles', { vectors: [[1, 2, 3, 4, 5]], k: 3 }, 3, 'KNNVectorDistance'],
    ['a search of bytes', { vectors: [Array.from({ length: 16 }, () => 3)], k: 3 }, 3, 'KNNVectorDistance'],
    [
      'a search of a nested column',
      { vectors: [[1, 2, 3, 4, 5, 6, 7]], vectorColumn: ['meta', 'vec'], k: 3 },
      3,
      'KNNVectorDistance',
    ],
    [
      'a search of a multi-vector column',
      {
        vectors: [
          [1, 2, 3],
          [3, 2, 1],
        ],
        k: 3,
        distanceType: 'cosine',
      },
      3,
      'KNNVectorDistance',
    ],
    ['several searches', { vectors: [V4, [4, 3, 2, 1]], k: 3 }, 6, 'UnionExec|KNNVectorDistance'],
    ['a search that filters first', { vectors: [V4], filter: sql('id < 3'), k: 5 }, 3, 'KNNVectorDistance'],
    [
      'a search with distances',
      { vectors: [V4], k: 5, lowerBound: 0, upperBound: 1000, distanceType: 'l2' },
      5,
      'KNNVectorDistance',
    ],
    ['a search with a refine factor of 0', { vectors: [V4], k: 5, refineFactor: 0 }, 5, 'KNNVectorDistance'],
    [
      'a projection by names',
      {
        vectors: [V4],
        k: 5,
        projection: { kind: 'names', paths: [['id'], ['meta', 'title'], ['_distance']] },
        withRowId: true,
      },
      5,
      'ProjectionExec',
    ],
    ['a projection of no names', { k: 5, projection: { kind: 'names', paths: [] } }, 5, 'ProjectionExec'],
    [
      'a projection by aliases',
      {
        k: 5,
        projection: {
          kind: 'aliases',
          columns: [
            ['twice', sql('id * 2')],
            ['odd name', sql('meta.title')],
          ],
        },
      },
      5,
      'ProjectionExec',
    ],
    [
      'text in a column without index',
      { fullText: { kind: 'text', terms: 'alpha', columns: [['body']] }, k: 5 },
      5,
      'FlatMatchQuery',
    ],
  ];
  for (const [title, query, rows, operator] of FORMS) {
    test(`analyses ${title}`, async () => {
      const { root } = await analyze(query);
      assert.equal(rowsOf(root), rows);
      const found = operators(root);
      assert.ok(
        operator.split('|').some((each) => found.includes(each)),
        found.join(' '),
      );
    });
  }

  const INDEXED: readonly (readonly [title: string, query: Partial<Query>, rows: number, operator: string])[] = [
    ['an index of vectors', { vectors: [V4], k: 5, vectorColumn: ['vec'] }, 5, 'ANNSubIndex'],
    ['exact probes', { vectors: [V4], k: 5, probes: { minimum: 1, maximum: 1 } }, 5, 'ANNSubIndex'],
    ['more probes than by default', { vectors: [V4], k: 5, probes: { minimum: 30, maximum: 40 } }, 5, 'ANNSubIndex'],
    ['fewer probes than by default', { vectors: [V4], k: 5, probes: { minimum: 2, maximum: 3 } }, 5, 'ANNSubIndex'],
    ['probes without a maximum', { vectors: [V4], k: 5, probes: { minimum: 5, maximum: undefined } }, 5, 'ANNSubIndex'],
    ['a maximum of probes alone', { vectors: [V4], k: 5, probes: { minimum: 0, maximum: 3 } }, 5, 'ANNSubIndex'],
    ['no probes', { vectors: [V4], k: 5, probes: { minimum: 0, maximum: 0 } }, 0, 'ANNSubIndex'],
    ['a refine factor', { vectors: [V4], k: 5, refineFactor: 3 }, 5, 'KNNVectorDistance'],
    ['a refine factor of 0', { vectors: [V4], k: 5, refineFactor: 0 }, 5, 'ANNSubIndex'],
    ['an index that is bypassed', { vectors: [V4], k: 5, bypassVectorIndex: true }, 5, 'KNNVectorDistance'],
    ['a fast search', { vectors: [V4], k: 5, fastSearch: true }, 5, 'ANNSubIndex'],
    [
      'search effort',
      { vectors: [[1, 2, 3, 4, 5, 6, 7, 8]], vectorColumn: ['twin_a'], k: 5, ef: 20 },
      5,
      'ANNSubIndex',
    ],
    ['a scalar index', { vectors: [V4], k: 5, filter: sql('id < 30') }, 5, 'ScalarIndexQuery'],
    ['text', { fullText: { kind: 'text', terms: 'alpha', columns: [] }, k: 5 }, 5, 'MatchQuery|CompoundFtsScorer'],
    [
      'text with a filter',
      { fullText: { kind: 'text', terms: 'alpha', columns: [] }, k: 5, filter: sql('id < 5') },
      2,
      'MatchQuery|CompoundFtsScorer',
    ],
    ['a match', { fullText: { kind: 'match', column: ['body'], ...MATCH }, k: 5 }, 5, 'MatchQuery'],
    [
      'a match of a nested column',
      { fullText: { kind: 'match', column: ['meta', 'title'], ...MATCH, terms: 'title' }, k: 5 },
      5,
      'MatchQuery',
    ],
    [
      'a match of every indexed column',
      { fullText: { kind: 'match', column: undefined, ...MATCH }, k: 5 },
      5,
      'UnionExec',
    ],
    [
      'a match of every indexed column, misspellings included',
      { fullText: { kind: 'match', column: undefined, ...MATCH, fuzziness: 1 }, k: 5 },
      5,
      'BooleanQuery|CrossColumnCompoundFtsScorer',
    ],
    [
      'a phrase',
      { fullText: { kind: 'phrase', terms: 'brown fox', column: ['body'], slop: 0 }, k: 5 },
      5,
      'PhraseQuery',
    ],
    [
      'a boost',
      { fullText: { kind: 'boost', positive: match('alpha'), negative: match('beta'), negativeBoost: 0.5 }, k: 5 },
      5,
      'BoostQuery|CompoundFtsScorer',
    ],
    [
      'a multi-match',
      {
        fullText: {
          kind: 'multi-match',
          terms: 'alpha',
          columns: [['body'], ['meta', 'title']],
          boosts: [1, 2],
          operator: 'or',
        },
        k: 5,
      },
      5,
      'MatchQuery|CompoundFtsScorer',
    ],
    [
      'a boolean',
      { fullText: { kind: 'boolean', must: [match('alpha')], should: [match('beta')], mustNot: [match('fox')] }, k: 5 },
      5,
      'BooleanQuery|CompoundFtsScorer',
    ],
  ];
  for (const [title, query, rows, operator] of INDEXED) {
    test(`analyses with an index: ${title}`, async () => {
      const { root } = await analyze(query, indexed);
      assert.equal(rowsOf(root), rows);
      const found = operators(root);
      assert.ok(
        operator.split('|').some((each) => found.includes(each)),
        found.join(' '),
      );
    });
  }

  const EMPTY: readonly (readonly [title: string, query: Partial<Query>])[] = [
    ['a scan', {}],
    ['a filtered scan', { filter: sql('id < 25'), offset: 3 }],
    ['a vector search', { vectors: [V4], projection: { kind: 'names', paths: [['id'], ['_distance']] } }],
    ['text without an index', { fullText: { kind: 'text', terms: 'alpha', columns: [['body']] } }],
    ['vector and text', { vectors: [V4], fullText: { kind: 'text', terms: 'alpha', columns: [['body']] } }],
  ];
  for (const [title, query] of EMPTY) {
    test(`finds no rows for a k of 0: ${title}`, async () => {
      assert.equal(rowsOf((await analyze({ ...query, k: 0 })).root), 0);
    });
  }

  const REFUSED: readonly (readonly [title: string, query: Partial<Query>, kind: ErrorName, pattern: RegExp])[] = [
    ['an unknown column in the filter', { filter: sql('nope = 1') }, 'TableColumnNotFound', /nope/],
    [
      'an unknown column in the projection',
      { projection: { kind: 'names', paths: [['meta', 'nope']] } },
      'TableColumnNotFound',
      /meta\.nope/,
    ],
    [
      'an unknown column in an alias',
      { projection: { kind: 'aliases', columns: [['a', sql('nope')]] } },
      'TableColumnNotFound',
      /nope/,
    ],
    [
      'an unknown column in the text search',
      { fullText: { kind: 'match', column: ['nope'], ...MATCH } },
      'TableColumnNotFound',
      /nope/,
    ],
    [
      'an unknown vector column, even for a k of 0',
      { vectors: [V4], vectorColumn: ['nope'], k: 0 },
      'TableColumnNotFound',
      /nope/,
    ],
    [
      'a column without text',
      { fullText: { kind: 'match', column: ['id'], ...MATCH } },
      'InvalidInput',
      /does not contain text/,
    ],
    [
      'a nested text column without index',
      { fullText: { kind: 'match', column: ['meta', 'title'], ...MATCH } },
      'InvalidInput',
      /has no full-text index/,
    ],
    [
      'text without column or index',
      { fullText: { kind: 'text', terms: 'a', columns: [] } },
      'InvalidInput',
      /full-text index/,
    ],
    [
      'a match without column or index',
      { fullText: { kind: 'match', column: undefined, ...MATCH } },
      'InvalidInput',
      /has no columns/,
    ],
    ['a distance that does not fit the vectors', { vectors: [V4], distanceType: 'hamming' }, 'InvalidInput', /hamming/],
    ['a filter that divides by zero', { filter: sql('1 / (id - id) = 1') }, 'InvalidInput', /divides by zero/],
    ['a filter that divides by zero late', { filter: sql('1 / (id - 599) < 1') }, 'InvalidInput', /divides by zero/],
    [
      'a filter whose cast fails',
      { vectors: [V4], filter: sql('CAST(body AS INT) = 1'), k: 5 },
      'InvalidInput',
      /converted/,
    ],
    [
      'an alias that divides by zero',
      { projection: { kind: 'aliases', columns: [['a', sql('1 / (id - id)')]] }, k: 3 },
      'InvalidInput',
      /divides by zero/,
    ],
    ['a filter that is no condition', { filter: sql('id + 1') }, 'InvalidInput', /not a condition/],
    [
      'a column selected twice',
      { projection: { kind: 'names', paths: [['id'], ['id']] } },
      'InvalidInput',
      /more than once/,
    ],
  ];
  for (const [title, query, kind, pattern] of REFUSED) {
    test(`refuses ${title}`, async () => {
      await assert.rejects(engine.analyzeQuery(plain, toQuery(query)), (error) => {
        assert.ok(error instanceof ServiceError, String(error));
        assert.equal(error.kind, kind, error.detail);
        assert.match(error.detail, pattern);
        return true;
      });
    });
  }

  test('refuses a search effort below k, which the engine would ignore', async () => {
    const query = toQuery({ vectors: [[1, 2, 3, 4, 5, 6, 7, 8]], vectorColumn: ['twin_a'], k: 50, ef: 1 });
    await assert.rejects(
      engine.analyzeQuery(indexed, query),
      (error) => error instanceof ServiceError && error.kind === 'InvalidInput' && /ef is smaller/.test(error.message),
    );
  });

  test('analyses an earlier version', async () => {
    assert.ok(
      !operators((await analyze({ vectors: [V4], k: 5 }, { ...indexed, version: 1 })).root).includes('ANNSubIndex'),
    );
  });

  test('filters after the search on request', async () => {
    const { root } = await analyze({ vectors: [V4], filter: sql('id < 300'), prefilter: false, k: 5 });
    const names = operators(root);
    assert.ok(names.indexOf('FilterExec') < names.indexOf('KNNVectorDistance'));
    assert.ok((rowsOf(root) ?? 0) <= 5);
  });
});

test('analyses an empty table', async (t) => {
  const { engine, location } = await openTestEngine(t);
  await engine.createTable(location(), await openFixture('zerobatch'), {});
  const { root } = await engine.analyzeQuery(
    latest(location()),
    toQuery({ vectors: [Array.from({ length: 16 }, () => 1)], k: 3 }),
  );
  assert.equal(rowsOf(root) ?? 0, 0);
});

test('runs a query again for its failure in batches of the size of results', async (t) => {
  const measured = measureBatches();
  const { engine, location } = await openTestEngine(t, {}, measured.native);
  const body = Array.from({ length: 300 }, () => randomBytes(16 * 1024).toString('hex'));
  await engine.createTable(location(), await toStream(toTable({ body: [new Utf8(), body] })), {});
  const projection = { kind: 'aliases', columns: [['x', sql("concat(body, '')")]] } as const;
  await engine.analyzeQuery(latest(location()), toQuery({ projection }));
  assert.ok(measured.bytesMax > 0 && measured.bytesMax <= 2 * ENGINE_LIMITS.resultBatchBytes);
});

test('stops waiting at the deadline', async (t) => {
  const { engine: hasty, location } = await openTestEngine(t, { querySeconds: 0.00001 });
  await hasty.createTable(location(), await toStream(toItems(1000)), {});
  await assert.rejects(
    hasty.analyzeQuery(latest(location()), toQuery({})),
    (error) => error instanceof ServiceError && error.kind === 'ServiceUnavailable' && /time limit/.test(error.message),
  );
});

function match(terms: string): FullTextQuery {
  return { kind: 'match', column: ['body'], ...MATCH, terms };
}

/** The rows of the outermost step that counts them. */
function rowsOf(step: PlanStep): number | undefined {
  const own = step.metrics['output_rows'];
  if (own !== undefined) return own.value;
  const [child] = step.children;
  return child === undefined ? undefined : rowsOf(child);
}

function operators(step: PlanStep): readonly string[] {
  return [step.operator, ...step.children.flatMap(operators)];
}
