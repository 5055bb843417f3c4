import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Engine } from '../../../src/engine/engine.ts';
import { parsePlan } from '../../../src/engine/plans/plan-text.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { PlanStep, Query } from '../../../src/model/query.ts';
import type { TableState } from '../../../src/model/table.ts';
import { latest, openApart, openTestEngine, sql, toQuery, toStream } from '../test-engine.ts';
import { toDocuments } from '../sample-tables.ts';
import { loadNative } from '../../../src/engine/native/native.ts';

const TEXT = { kind: 'text', terms: 'alpha', columns: [] } as const;
const HYBRID: Partial<Query> = { vectors: [[1, 2, 3, 4]], fullText: TEXT, k: 5 };

describe('analysis of a search by vector and words', () => {
  let engine: Engine;
  let table: TableState;
  const closing: (() => unknown)[] = [];
  const suite = { after: (work: () => unknown) => void closing.push(work) };

  before(async () => {
    const fixture = await openTestEngine(suite);
    engine = fixture.engine;
    table = latest(fixture.location());
    await engine.createTable(table.location, await toStream(toDocuments(200)), {});
    const apart = await openApart(suite, table);
    await apart.createIndex(loadNative().Index.fts(true), 'body');
  });
  after(async () => {
    for (const close of closing) await close();
  });

  test('shows the fusion above both legs, in one tree and one text', async () => {
    const { root, text } = await engine.analyzeQuery(table, toQuery(HYBRID));
    assert.equal(root.operator, 'HybridFusionExec');
    assert.match(root.details, /rrf/);
    const [vectorLeg, textLeg, ...others] = root.children;
    assert.equal(others.length, 0);
    assert.ok(vectorLeg !== undefined && operators(vectorLeg).includes('KNNVectorDistance'));
    assert.ok(textLeg !== undefined && operators(textLeg).includes('MatchQuery'));
    assert.deepEqual(parsePlan(text), root);
    assert.doesNotMatch(text, /tiltyard-engine|\.lance/);
  });

  test('measures a run of both legs and of their fusion', async () => {
    const { root } = await engine.analyzeQuery(table, toQuery(HYBRID));
    assert.equal(root.metrics['output_rows']?.value, 5);
    assert.equal(root.metrics['vector_rows']?.value, 5);
    assert.equal(root.metrics['text_rows']?.value, 5);
    const elapsed = root.metrics['elapsed']?.value ?? 0;
    const fusion = root.metrics['elapsed_compute']?.value ?? 0;
    assert.ok(fusion > 0 && elapsed > fusion);
  });

  const VARIANTS: readonly (readonly [title: string, query: Partial<Query>, rows: number])[] = [
    ['without k', { vectors: [[1, 2, 3, 4]], fullText: TEXT }, 10],
    ['with a filter that leaves nothing', { filter: sql('id < 0') }, 0],
    ['with words that no row has', { fullText: { ...TEXT, terms: 'zebra' } }, 5],
    ['with names', { projection: { kind: 'names', paths: [['id']] } }, 5],
    ['with aliases', { projection: { kind: 'aliases', columns: [['twice', sql('id * 2')]] } }, 5],
    [
      'with a multi-vector column',
      {
        vectors: [
          [1, 2, 3],
          [3, 2, 1],
        ],
        vectorColumn: ['many'],
      },
      5,
    ],
    ['with an offset', { offset: 2 }, 5],
    ['with more rows than there are', { k: 1000 }, 200],
  ];
  for (const [title, query, rows] of VARIANTS) {
    test(`runs ${title}`, async () => {
      const whole = title === 'without k' ? query : { ...HYBRID, ...query };
      const { root } = await engine.analyzeQuery(table, toQuery(whole));
      assert.equal(root.metrics['output_rows']?.value, rows);
    });
  }

  test('refuses several vectors for a column of single ones', async () => {
    const query = toQuery({
      ...HYBRID,
      vectors: [
        [1, 2, 3, 4],
        [4, 3, 2, 1],
      ],
    });
    await assert.rejects(
      engine.analyzeQuery(table, query),
      (error) => error instanceof ServiceError && error.kind === 'InvalidInput' && /one vector/.test(error.message),
    );
  });

  test('refuses a search that fails while it runs', async () => {
    const query = toQuery({ ...HYBRID, filter: sql('1 / (id - id) = 1') });
    await assert.rejects(
      engine.analyzeQuery(table, query),
      (error) => error instanceof ServiceError && error.kind === 'InvalidInput' && /zero/.test(error.message),
    );
  });
});

function operators(step: PlanStep): readonly string[] {
  return [step.operator, ...step.children.flatMap(operators)];
}
