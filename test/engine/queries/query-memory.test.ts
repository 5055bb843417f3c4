import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import type { QueryPlan } from '../../../src/engine/queries/native-query.ts';
import { estimateFilter, estimateMemory, mayBeLarge, tooMuchMemory } from '../../../src/engine/queries/query-memory.ts';
import type { Query } from '../../../src/model/query.ts';
import type { DataType, Field } from '../../../src/model/schema.ts';
import { sql, toQuery } from '../test-engine.ts';

const MiB = 2 ** 20;
const SIZE = { rows: 60_000, bytes: 60_000 * 600 };

function field(name: string, type: DataType): Field {
  return { name, type, nullable: true, metadata: new Map() };
}

/** Rows of some 800 bytes, as they were measured: 512 of the vector, 250 of the text. */
const SCHEMA = {
  fields: [
    field('id', { kind: 'int', bits: 64, signed: true }),
    field('vec', { kind: 'fixed-size-list', length: 128, item: field('item', { kind: 'float', bits: 32 }) }),
    field('text', { kind: 'utf8', layout: 'plain' }),
  ],
  metadata: new Map<string, string>(),
};

function plan(query: Partial<Query>, others: Partial<QueryPlan> = {}): QueryPlan {
  const vectorColumn = query.vectors === undefined ? undefined : { path: ['vec'] as const, isMultiVector: false };
  return {
    query: toQuery(query),
    schema: SCHEMA,
    vectorColumn,
    search: undefined,
    release: readEngineRelease(),
    ...others,
  };
}

const vectors = (count: number): Query['vectors'] =>
  Array.from({ length: count }, () => Array.from({ length: 128 }, () => 0));
const ids = { kind: 'names', paths: [['id']] } as const;
const estimate = (query: Partial<Query>, others?: Partial<QueryPlan>): number =>
  estimateMemory(plan(query, others), SIZE, 1024).bytes / MiB;

/** At least what was measured on the engine, and not far above. */
function assertAbout(mebibytes: number, measured: number): void {
  assert.ok(mebibytes >= measured && mebibytes <= 2.5 * measured + 64, `${mebibytes} for ${measured}`);
}

test('estimates what searches were measured to take', () => {
  assertAbout(estimate({ vectors: vectors(10), k: 60_000 }), 1267);
  assertAbout(estimate({ vectors: vectors(10), k: 6000 }), 140);
  assertAbout(estimate({ vectors: vectors(100), k: 600 }), 155);
  assertAbout(estimate({ vectors: vectors(100), k: 60_000, projection: ids }), 608);
  assertAbout(estimate({ vectors: vectors(1), k: 60_000 }), 148);
  // A large offset costs as much as a large k.
  assertAbout(estimate({ vectors: vectors(1), k: 10, offset: 59_000 }), 118);
});

test('estimates what sorts and fused searches were measured to take', () => {
  const orderBy = [{ path: ['id'] as const, ascending: true, nullsFirst: false }];
  assertAbout(estimate({ orderBy }), 161);
  assertAbout(estimate({ orderBy, k: 30_000 }), 105);
  const search = { query: 'alpha', columns: ['text'] };
  assertAbout(estimate({ vectors: vectors(1), k: 60_000 }, { search }), 384);
  assertAbout(estimate({ k: 60_000 }, { search }), 190);
});

const byText = [{ path: ['text'] as const, ascending: true, nullsFirst: false }];
const renamed = { kind: 'aliases', columns: [['x', sql('id')]] } as const;

test('counts a column that is only sorted by like one that is returned', () => {
  const [returned, sorted, alias] = [{ kind: 'names', paths: [['id'], ['text']] } as const, ids, renamed].map(
    (projection) => estimate({ projection, orderBy: byText }),
  );
  assert.ok(returned !== undefined && sorted !== undefined && alias !== undefined);
  assert.equal(sorted, returned);
  assert.ok(alias >= sorted, `${alias} for ${sorted}`);
});

test('a scan takes the same, however many rows it returns', () => {
  const large = { rows: 60_000_000, bytes: 60_000_000 * 600 };
  assert.ok(estimateMemory(plan({}), large, 1024).bytes < 128 * MiB);
});

test('counts the columns that an expression names, each time', () => {
  const joined = sql(Array.from({ length: 100 }, () => 'text').join(' || '));
  const { rowBytes } = estimateMemory(plan({ projection: { kind: 'aliases', columns: [['x', joined]] } }), SIZE, 1);
  assert.ok(rowBytes >= 100 * 240, String(rowBytes));
  const plain = { kind: 'aliases', columns: [['x', sql('id + 1')]] } as const;
  assert.ok(estimateMemory(plan({ projection: plain }), SIZE, 1).rowBytes < 100);
});

test('estimates a filter by its length', () => {
  const list = sql(`id in (${Array.from({ length: 100_000 }, (_unused, index) => index * 3).join(',')})`);
  assertAbout(estimateFilter(list, SCHEMA, SIZE) / MiB, 113);
});

test('does not look at small queries, and at all that may be large', () => {
  for (const small of [
    { vectors: vectors(1), k: 10 },
    { vectors: vectors(1), k: 500, projection: ids },
    { k: 10 },
    { k: 10, offset: 100_000 },
    { k: 10, filter: sql('id = 7') },
    { k: 10, projection: ids, orderBy: [{ path: ['id'] as const, ascending: true, nullsFirst: false }] },
    { vectors: vectors(1), k: 10, orderBy: byText },
  ]) {
    assert.equal(mayBeLarge(plan(small)), false, JSON.stringify(small).slice(0, 80));
  }
  for (const large of [
    {},
    { vectors: vectors(1), k: 10, offset: 100_000, projection: ids },
    { vectors: vectors(100), k: 100, projection: ids },
    { vectors: vectors(1), k: 100, refineFactor: 1000, projection: ids },
    { k: 10, filter: sql(`text = '${'x'.repeat(10_000)}'`) },
    { k: 100, projection: { kind: 'aliases', columns: [['x', sql('text')]] } as const },
    // Reads the texts of the whole table.
    { k: 1, projection: ids, orderBy: byText },
    { k: 1, projection: renamed, orderBy: byText },
  ]) {
    assert.equal(mayBeLarge(plan(large)), true, JSON.stringify(large).slice(0, 80));
  }
});

test('counts the vectors that are read to refine few results', () => {
  const wide = [Array.from({ length: 1536 }, () => 0)];
  assert.equal(mayBeLarge(plan({ vectors: wide, k: 16, projection: ids, refineFactor: 1000 })), true);
  assert.ok(estimate({ vectors: wide, k: 16, projection: ids, refineFactor: 1000 }) > 90);
  assert.equal(mayBeLarge(plan({ vectors: vectors(1), k: 10, refineFactor: 50 })), false);
});

test('counts the list of ids by which a full-text search is filtered afterwards', () => {
  const search = { query: 'alpha', columns: ['text'] };
  const query = { k: 50_000, projection: ids, filter: sql('id >= 0') };
  const [before, after] = [true, false].map((prefilter) => estimate({ ...query, prefilter }, { search }));
  assertAbout((after ?? 0) - (before ?? 0), (113e6 / MiB) * 0.5);
});

test('says which value to lower, and the lower value is accepted', () => {
  const bytesMax = 512 * MiB;
  const refusal = (query: Partial<Query>): string => {
    const refused = plan(query);
    return String(tooMuchMemory(refused, estimateMemory(refused, SIZE, 1024), bytesMax).hint);
  };
  const hint = refusal({ vectors: vectors(100), k: 60_000 });
  assert.match(hint, /Lower k plus offset to [\d,]+ for 100 vectors, send fewer vectors, or select only/);
  const k = Number(/to ([\d,]+) for/.exec(hint)?.[1]?.replaceAll(',', ''));
  assert.ok(k > 100 && estimate({ vectors: vectors(100), k }) <= 512, String(k));
  const refined = { k: 50, refineFactor: 1000, projection: ids };
  assert.equal(refusal({ vectors: vectors(100), ...refined }), 'Send fewer vectors, or lower k or refine_factor.');
  const long = [Array.from({ length: 1536 }, () => 0)];
  assert.equal(refusal({ vectors: long, ...refined }), 'Lower k or refine_factor.');
  const orderBy = [{ path: ['id'] as const, ascending: true, nullsFirst: false }];
  const wide = { rows: 10_000_000, bytes: 6e9 };
  const sorted = plan({ orderBy });
  const sortedHint = String(tooMuchMemory(sorted, estimateMemory(sorted, wide, 1024), bytesMax).hint);
  assert.match(sortedHint, /Limit the rows of order_by: set k so that k plus offset is at most \d+/);
  const byWide = (projection: Query['projection']): string => {
    const refused = plan({ orderBy: byText, ...(projection && { projection }) });
    return String(tooMuchMemory(refused, estimateMemory(refused, wide, 1024), bytesMax).hint);
  };
  assert.match(byWide(ids), /at most [\d,]+, or sort by columns of fixed width, such as numbers\.$/);
  assert.match(byWide(undefined), /, or select only the columns that you need and sort by columns of fixed width/);
});
