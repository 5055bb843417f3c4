import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseMetric, formatStepLine, indentPlan, parsePlan } from '../../../src/engine/plans/plan-text.ts';
import type { PlanStep } from '../../../src/model/query.ts';

const PLAN = `AnalyzeExec verbose=true, elapsed=2.24ms, metrics=[]
  TracedExec, elapsed=2.24ms, metrics=[]
    UnionExec, elapsed=1.2ms, metrics=[output_rows=18, output_bytes=660.0 B]
      FilterExec: elapsed=535.06µs, id@0 < 100, metrics=[output_rows=2, selectivity=40% (2/5)]
        LanceRead: elapsed=1.75s, uri=[hidden], projection=[id], full_filter=--, metrics=[rows_scanned=1.00 K, bytes_read=14.41 K]
      EmptyExec, metrics=[]
`;

test('reads steps, their nesting, details and metrics', () => {
  const root = parsePlan(PLAN);
  assert.deepEqual(outline(root), [
    'AnalyzeExec',
    ['TracedExec', ['UnionExec', ['FilterExec', ['LanceRead']], ['EmptyExec']]],
  ]);
  const filter = root.children[0]?.children[0]?.children[0];
  assert.equal(filter?.details, 'id@0 < 100, selectivity=40% (2/5)');
  assert.deepEqual(filter?.metrics, {
    elapsed: { value: 535_060, unit: 'nanoseconds', text: '535.06µs' },
    output_rows: { value: 2, unit: 'count', text: '2' },
  });
  assert.equal(root.details, 'verbose=true');
  assert.equal(filter?.children[0]?.details, 'uri=[hidden], projection=[id], full_filter=--');
});

test('reads figures into whole units', () => {
  const figures: readonly (readonly [string, string, number, string])[] = [
    ['output_rows', '1.00 K', 1000, 'count'],
    ['rows_scanned', '2.56 M', 2_560_000, 'count'],
    ['rows_scanned', '1.50 B', 1_500_000_000, 'count'],
    ['output_bytes', '12.1 KB', 12_390, 'bytes'],
    ['output_bytes', '2016.0 B', 2016, 'bytes'],
    ['output_bytes', '1.5 GB', 1_610_612_736, 'bytes'],
    ['bytes_read', '7.30 K', 7300, 'bytes'],
    ['bytes_read', '528', 528, 'bytes'],
    ['elapsed_compute', '1ns', 1, 'nanoseconds'],
    ['elapsed_compute', '34.13µs', 34_130, 'nanoseconds'],
    ['elapsed_compute', '1.05ms', 1_050_000, 'nanoseconds'],
    ['elapsed_compute', '2.5s', 2_500_000_000, 'nanoseconds'],
  ];
  for (const [name, text, value, unit] of figures) assert.deepEqual(parseMetric(name, text), { value, unit, text });
  for (const text of ['N/A', '100% (5/5)', '', 'x', '1.5 KiB']) assert.equal(parseMetric('a', text), undefined, text);
});

test('keeps a literal with line breaks and false steps in its step', () => {
  const literal = `Utf8("a\n  FakeExec: metrics=[x=1]") OR name = Utf8("b\n\nc`;
  const text = `AnalyzeExec verbose=true, elapsed=1ms, metrics=[]\n  FilterExec: elapsed=1ms, name = ${literal}"), metrics=[output_rows=0]\n`;
  const root = parsePlan(text);
  assert.deepEqual(outline(root), ['AnalyzeExec', ['FilterExec']]);
  assert.equal(root.children[0]?.details, `name = ${literal}")`);
});

test('returns a single step for text that is not a plan', () => {
  assert.deepEqual(parsePlan('nothing of the kind'), {
    operator: 'nothing',
    details: 'nothing of the kind',
    metrics: {},
    children: [],
  });
  assert.equal(parsePlan('').children.length, 0);
});

test('never fails for any literal', () => {
  const fragments = fc.constantFrom('\n', '  ', 'metrics=[', ']', 'FakeExec: ', 'elapsed=1ms, ', ', ', '=', '"', 'x');
  fc.assert(
    fc.property(fc.array(fragments, { maxLength: 30 }), (parts) => {
      const literal = parts.join('');
      const root = parsePlan(
        `AnalyzeExec verbose=true, elapsed=1ms, metrics=[]\n  FilterExec: elapsed=1ms, a = Utf8("${literal}"), metrics=[output_rows=0]\n    LanceRead: uri=x, metrics=[]\n`,
      );
      assert.ok(root.operator.length > 0);
    }),
  );
});

test("reads back every tree that is written in the engine's form", () => {
  const metric = fc.nat().map((value) => ({ value, unit: 'count' as const, text: String(value) }));
  const { step } = fc.letrec<{ step: PlanStep }>((tie) => ({
    step: fc.record(
      {
        operator: fc.stringMatching(/^[A-Z][A-Za-z]{0,12}Exec$/),
        details: fc.stringMatching(/^([a-z]{1,8}=[a-z0-9 ]{0,8}[a-z0-9])?$/),
        metrics: fc
          .dictionary(fc.stringMatching(/^[a-z]{1,5}_rows$/), metric, { maxKeys: 3 })
          .map((entries) => ({ ...entries })),
        children: fc.oneof({ depthSize: 'small' }, fc.constant([]), fc.array(tie('step'), { maxLength: 3 })),
      },
      { noNullPrototype: true },
    ),
  }));
  fc.assert(fc.property(step, (tree) => assert.deepEqual(parsePlan(format(tree)), tree)));
});

function format(step: PlanStep): string {
  const line = formatStepLine(step.operator, step.details, step.metrics);
  return [line, ...step.children.map((child) => indentPlan(format(child)))].join('\n');
}

type Outline = [string, ...Outline[]];

function outline(step: PlanStep): Outline {
  return [step.operator, ...step.children.map(outline)];
}
