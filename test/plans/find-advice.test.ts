import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Finding } from '../../src/plans/advice.ts';
import { describeRemedy } from '../../src/plans/advice.ts';
import { findAdvice } from '../../src/plans/find-advice.ts';
import type { QueryTableBody } from '../../src/wire/data.ts';
import { AnalysedTable, VECTOR } from './analysed-table.ts';

const ROWS = 12_000;
const ID = { column_names: ['id'] };

let table: AnalysedTable;

async function advise(query: QueryTableBody): Promise<readonly Finding[]> {
  return findAdvice(await table.analyze(query), await table.context(query));
}

async function find(kind: Finding['kind'], query: QueryTableBody): Promise<Finding> {
  const findings = await advise(query);
  return findings.find((each) => each.kind === kind) ?? assert.fail(JSON.stringify(findings.map((each) => each.kind)));
}

async function kinds(query: QueryTableBody): Promise<readonly Finding['kind'][]> {
  return (await advise(query)).map(({ kind }) => kind);
}

suite('of a table without indexes', () => {
  before(async () => (table = await AnalysedTable.start(ROWS)));
  after(async () => table.close());

  test('a search by vector asks for an index on the column that it compared', async () => {
    const { severity, seen, remedy } = await find('no-vector-index', { vector: VECTOR, k: 5, columns: ID });
    assert.equal(severity, 'serious');
    assert.match(seen, /compared with 12,000 rows of vec, which took \d+% of the time/);
    assert.deepEqual(remedy, { kind: 'create-index', column: 'vec', indexType: 'IVF_PQ', distanceType: 'l2' });
    assert.equal(remedy && describeRemedy(remedy), 'Create an index of type IVF_PQ on vec');
  });

  test('a search for whose sake the index is left aside is only a hint', async () => {
    const query = { vector: VECTOR, k: 5, bypass_vector_index: true, columns: ID };
    assert.deepEqual(await kinds(query), ['index-bypassed']);
  });

  test('a filter that keeps few rows asks for a scalar index on its column', async () => {
    const { seen, remedy } = await find('filter-without-index', { filter: 'shelf = 7', columns: ID });
    assert.match(seen, /12,000 rows were read and 12 kept, .*\(shelf\)/);
    assert.deepEqual(remedy, { kind: 'create-index', column: 'shelf', indexType: 'BTREE' });
  });

  test('a name inside a text of the filter is not taken for a column', async () => {
    const { remedy } = await find('filter-without-index', { filter: "title = 'shelf id'", columns: ID });
    assert.deepEqual(remedy, { kind: 'create-index', column: 'title', indexType: 'BTREE' });
  });

  test('an index that a query on a branch needs is proposed for that branch', async () => {
    await table.branch('trial');
    const query = { filter: 'shelf = 7', columns: ID, branch: 'trial' };
    const { remedy } = await find('filter-without-index', query);
    assert.deepEqual(remedy, { kind: 'create-index', column: 'shelf', indexType: 'BTREE', branch: 'trial' });
    assert.equal(remedy && describeRemedy(remedy), 'Create an index of type BTREE on shelf on the branch trial');
  });

  test('a filter that keeps most rows has no finding', async () => {
    assert.deepEqual(await kinds({ filter: 'id >= 10', columns: ID }), []);
  });

  test('a filter after the search that leaves too few rows should come before it', async () => {
    const query = { vector: VECTOR, k: 5, filter: 'shelf = 7', prefilter: false, columns: ID };
    const { severity, seen, remedy } = await find('post-filter', query);
    assert.equal(severity, 'serious');
    assert.match(seen, /^The search found 5 rows, and the filter kept \d of them; 5 were requested\.$/);
    assert.deepEqual(remedy, { kind: 'set', settings: { prefilter: true } });
  });

  test('full text that is searched row by row asks for a full-text index', async () => {
    const words = { string_query: { query: 'amber', columns: ['title'] } };
    const { seen, remedy } = await find('text-without-index', { full_text_query: words, k: 5, columns: ID });
    assert.match(seen, /12,000 rows of title/);
    assert.deepEqual(remedy, { kind: 'create-index', column: 'title', indexType: 'FTS' });
  });

  test('suggests the columns without vectors that were not requested', async () => {
    const { severity, remedy } = await find('wide-columns', { k: 5 });
    assert.equal(severity, 'hint');
    assert.deepEqual(remedy, { kind: 'set', settings: { columns: { column_names: ['id', 'shelf', 'title'] } } });
  });

  test('vectors that are read for all rows to sort them count more', async () => {
    const { severity } = await find('wide-columns', { k: 5, order_by: [{ column_name: 'id' }] });
    assert.equal(severity, 'notable');
  });

  test('a plain read has no finding', async () => {
    assert.deepEqual(await kinds({ k: 5, columns: ID }), []);
  });
});

test('a size of each row is given only if all wide columns have one', () => {
  const item = { name: 'item', nullable: true, type: { type: 'float32' } };
  const vec = { name: 'vec', nullable: true, type: { type: 'fixed_size_list', length: 16, fields: [item] } };
  const image = { name: 'image', nullable: true, type: { type: 'binary' } };
  const vectors = { name: 'vectors', nullable: true, type: { type: 'list', fields: [{ ...vec, name: 'item' }] } };
  const id = { name: 'id', nullable: true, type: { type: 'int32' } };
  const count = (value: number) => ({ value, unit: 'count' as const, text: String(value) });
  const seen = (...wide: readonly (typeof image)[]): string | undefined => {
    const names = wide.map(({ name }) => name).join(', ');
    const metrics = { output_rows: count(5), bytes_read: { ...count(9000), unit: 'bytes' as const } };
    const plan = { operator: 'LanceRead', details: `projection=[id, ${names}]`, metrics, children: [] };
    const found = findAdvice(plan, { query: { k: 5 }, schema: { fields: [id, ...wide] } });
    return found.find(({ kind }) => kind === 'wide-columns')?.seen;
  };
  assert.equal(seen(vec), 'vec is read for 5 rows, 64 B each; the step read 8.79 KiB.');
  assert.equal(seen(vec, image), 'vec, image are read for 5 rows; the step read 8.79 KiB.');
  assert.equal(seen(vectors), 'vectors is read for 5 rows; the step read 8.79 KiB.');
});

suite('of a table with indexes', () => {
  before(async () => {
    table = await AnalysedTable.start(ROWS);
    await table.index({ column: 'vec', index_type: 'IVF_PQ', num_partitions: 16, num_sub_vectors: 4 });
    await table.index({ column: 'title', index_type: 'FTS' });
    await table.index({ column: 'shelf', index_type: 'BTREE' });
  });
  after(async () => table.close());

  test('a search without parameters has no finding where the measured recall reaches the target', async () => {
    assert.deepEqual(await kinds({ vector: VECTOR, k: 5, columns: ID }), []);
  });

  test('advice for a search with too little effort names the parameters to raise', async () => {
    const { remedy, seen } = await find('low-recall', { vector: VECTOR, k: 5, refine_factor: 1, columns: ID });
    assert.match(seen, /measured parameters, which find (?:9\d|100)% of the exact neighbours/);
    assert.ok(remedy?.kind === 'set' && (remedy.settings.refine_factor ?? 0) > 1, JSON.stringify(remedy));
  });

  test('an index that misses its target is a finding of every search, also of one without parameters', async () => {
    const query = { vector: VECTOR, k: 5, columns: ID };
    const context = await table.context(query);
    const indexes = context.indexes?.map((index) =>
      index.search === undefined
        ? index
        : { ...index, search: { ...index.search, recall: 0.4, advice: 'Build anew.' } },
    );
    const findings = findAdvice(await table.analyze(query), { ...context, ...(indexes && { indexes }) });
    assert.deepEqual(
      findings.map(({ kind, severity, why }) => [kind, severity, why]),
      [['low-recall', 'serious', 'Build anew.']],
    );
  });

  test('a filter on an indexed column has no finding; on a calculation it cannot use the index', async () => {
    assert.deepEqual(await kinds({ filter: 'shelf = 7', columns: ID }), []);
    const { remedy } = await find('index-not-usable', { filter: 'shelf + 1 = 8', columns: ID });
    assert.equal(remedy, undefined);
  });

  test('full text with an index has no finding', async () => {
    assert.deepEqual(await kinds({ full_text_query: { string_query: { query: 'amber' } }, k: 5, columns: ID }), []);
  });

  test('a high refine_factor is to be lowered', async () => {
    const query = { vector: VECTOR, k: 10, refine_factor: 60, nprobes: 4, columns: ID };
    const { seen, remedy } = await find('refine-too-high', query);
    assert.match(seen, /^600 candidates were read .* refine_factor of 60\.$/);
    assert.deepEqual(remedy, { kind: 'set', settings: { refine_factor: 12 } });
  });

  test('a search of every partition suggests fewer probes', async () => {
    const { remedy } = await find('every-partition', { vector: VECTOR, k: 5, nprobes: 16, columns: ID });
    assert.deepEqual(remedy, { kind: 'set', settings: { nprobes: 4 } });
  });

  test('a distance that the index was not built with is a finding', async () => {
    const query = { vector: VECTOR, k: 5, distance_type: 'cosine', columns: ID };
    const { seen, remedy } = await find('other-distance', query);
    assert.match(seen, /for the distance l2, but the query uses cosine/);
    assert.deepEqual(remedy, { kind: 'set', settings: { distance_type: 'l2' } });
  });

  test('a low recall asks for more probes first, then for exact comparisons', async () => {
    const advice = async (nprobes: number): Promise<Finding | undefined> => {
      const query = { vector: VECTOR, k: 5, nprobes, columns: ID };
      const context = { ...(await table.context(query)), recall: 0.4 };
      return findAdvice(await table.analyze(query), context).find(({ kind }) => kind === 'low-recall');
    };
    assert.deepEqual((await advice(1))?.remedy, { kind: 'set', settings: { nprobes: 4 } });
    assert.deepEqual((await advice(16))?.remedy, { kind: 'set', settings: { refine_factor: 4 } });
  });
});

suite('of a table whose index was not measured', () => {
  before(async () => {
    table = await AnalysedTable.start(ROWS, ['--index-tuning-seconds=0']);
    await table.index({ column: 'vec', index_type: 'IVF_PQ', num_partitions: 16, num_sub_vectors: 4 });
  });
  after(async () => table.close());

  test('a cold index is a finding of the first search only', async () => {
    const query = { vector: VECTOR, k: 5, nprobes: 4, columns: ID };
    const { remedy, seen } = await find('cold-index', query);
    assert.deepEqual(remedy, { kind: 'prewarm-index', index: 'vec_idx' });
    assert.match(seen, /Partitions loaded: \d+, [\d.]+ [KM]iB in \d+ reads/);
    assert.deepEqual(await kinds(query), ['unknown-recall']);
  });
});

suite('of a table that has grown since its indexes were built', () => {
  before(async () => {
    table = await AnalysedTable.start(ROWS);
    await table.index({ column: 'vec', index_type: 'IVF_FLAT', num_partitions: 4 });
    await table.index({ column: 'title', index_type: 'FTS' });
    await table.index({ column: 'shelf', index_type: 'BTREE' });
    for (let count = 0; count < 9; count += 1) await table.insert(200);
  });
  after(async () => table.close());

  test('rows that the vector index does not have are counted, and it is to be refreshed', async () => {
    const { seen, remedy } = await find('unindexed-rows', { vector: VECTOR, k: 5, columns: ID });
    assert.match(seen, /^1,800 rows of 13,800 were added after the index was built/);
    assert.deepEqual(remedy, { kind: 'refresh-index', index: 'vec_idx' });
  });

  test('so are those that the full-text index does not have', async () => {
    const words = { string_query: { query: 'amber', columns: ['title'] } };
    const { seen, remedy } = await find('unindexed-rows', { full_text_query: words, k: 5, columns: ID });
    assert.match(seen, /1,800 rows of title/);
    assert.deepEqual(remedy, { kind: 'refresh-index', index: 'title_idx' });
  });

  test('and those of a scalar index', async () => {
    const { seen, remedy } = await find('unindexed-rows', { filter: 'shelf = 7', columns: ID });
    assert.match(seen, /^1,800 rows of 13,800 were added after the index was built/);
    assert.deepEqual(remedy, { kind: 'refresh-index', index: 'shelf_idx' });
  });

  test('fragments that are many and small are to be merged', async () => {
    const { seen, remedy } = await find('small-fragments', { filter: 'id = 7', columns: ID });
    assert.match(seen, /13,800 rows were read from 10 fragments in \d+ reads/);
    assert.deepEqual(remedy, { kind: 'merge-fragments' });
  });
});
