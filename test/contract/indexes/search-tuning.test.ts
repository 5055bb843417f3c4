import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Index } from '@lancedb/lancedb';
import { eventually } from '../../support/eventually.ts';
import { clusteredQueries, clusteredStream } from '../../support/clustered-vectors.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { assertRefused, badRequest } from '../refusal.ts';

/** Two sub-vectors for 32 dimensions round so far that the engine's own defaults miss nearly all neighbours. */
const SHAPE = { rows: 8000, dimension: 32, clusters: 40 };
const INDEX = { column: 'vec', index_type: 'IVF_PQ', num_sub_vectors: 2, num_partitions: 40 };
const QUERIES = clusteredQueries(SHAPE, 20);
const NARROW = 'bucket < 10';

let server: ContractServer;
let table: MadeTable;
let created: any;
before(async () => {
  // Long enough on a busy machine, too; with more time, more queries are measured.
  server = await ContractServer.start({ flags: ['--index-tuning-seconds-min=6', '--jobs-answer-seconds=200'] });
  table = await server.table({ stream: clusteredStream(SHAPE) });
  created = await build(table, INDEX);
});
after(async () => server.close());

async function build(made: MadeTable, body: object): Promise<any> {
  const answer = await server.admin.post(`${made.at}/create_index`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function find(vector: readonly number[], parameters: object): Promise<ReadonlySet<number>> {
  const body = { vector: { single_vector: vector }, k: 10, columns: { column_names: ['id'] }, ...parameters };
  const answer = await server.admin.post(`${table.at}/query`, body, { accept: 'application/json' });
  assert.equal(answer.status, 200, answer.text);
  return new Set(answer.json.rows.map(({ id }: { id: number }) => id));
}

/** Share of the exact neighbours that a search finds. */
async function recallOf(parameters: object, filter: object = {}): Promise<number> {
  let found = 0;
  let wanted = 0;
  for (const vector of QUERIES) {
    const exact = await find(vector, { ...filter, bypass_vector_index: true });
    const ids = await find(vector, { ...filter, ...parameters });
    wanted += exact.size;
    found += [...exact].filter((id) => ids.has(id)).length;
  }
  return found / wanted;
}

async function explain(parameters: object): Promise<string> {
  const query = { vector: { single_vector: QUERIES[0] }, k: 10, ...parameters };
  const answer = await server.admin.post(`${table.at}/explain_plan`, { query });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function listed(made = table): Promise<any> {
  const answer = await server.admin.post(`${made.at}/index/list`, {});
  return answer.json.indexes[0];
}

suite('a search that names no parameters', () => {
  test('finds nearly all exact neighbours where the defaults of the engine miss most of them', async () => {
    assert.ok((await recallOf({ nprobes: 20 })) < 0.6);
    assert.ok((await recallOf({})) >= 0.9);
  });

  test('finds them with a filter too, however few rows pass it', async () => {
    assert.ok((await recallOf({}, { filter: NARROW })) >= 0.9);
    assert.ok((await recallOf({}, { filter: 'bucket < 100' })) >= 0.9);
    assert.ok((await recallOf({}, { filter: 'bucket = 1' })) >= 0.9);
  });

  test('is explained with the parameters that it runs with', async () => {
    const { search } = await listed();
    assert.match(await explain({}), new RegExp(`fetch=${10 * search.refine_factor}\\b`));
    assert.match(await explain({}), new RegExp(`minimum_nprobes=${search.nprobes}, maximum_nprobes=Some`));
    assert.match(await explain({ filter: NARROW }), /maximum_nprobes=None/);
  });

  test('of a LanceDB client is one whose parameters are those that it always sends', async () => {
    const { search } = await listed();
    const always = { nprobes: 20, minimum_nprobes: 20, maximum_nprobes: 20, ef: null, refine_factor: null };
    assert.match(await explain(always), new RegExp(`fetch=${10 * search.refine_factor}\\b`));
    const explicit = await explain({ ...always, refine_factor: 2 });
    assert.match(explicit, /minimum_nprobes=20, maximum_nprobes=Some\(20\)/);
    assert.match(explicit, /fetch=20\b/);
  });
});

suite('fast_search', () => {
  test('searches the index with the best measured parameters where other searches compare every row', async () => {
    const made = await server.table({ stream: clusteredStream({ ...SHAPE, rows: 3000 }) });
    await build(made, { ...INDEX, num_partitions: 2, recall_target: 1 });
    for (const parameters of [{}, { recall_target: 1 }, { filter: 'bucket < 500' }]) {
      const query = { vector: { single_vector: QUERIES[0] }, k: 10, ...parameters };
      const slow = await server.admin.post(`${made.at}/explain_plan`, { query });
      assert.doesNotMatch(slow.text, /ANNSubIndex/);
      const body = { ...query, fast_search: true };
      const { text } = await server.admin.post(`${made.at}/explain_plan`, { query: body });
      // The nearest candidates are compared exactly.
      assert.match(text, /KNNVectorDistance[^]*ANNSubIndex/, JSON.stringify(parameters));
      const answer = await server.admin.post(`${made.at}/query`, body, { accept: 'application/json' });
      assert.equal(answer.json.rows.length, 10, JSON.stringify(parameters));
    }
  });
});

suite('recall_target', () => {
  test('of 1 compares every row', async () => {
    assert.doesNotMatch(await explain({ recall_target: 1 }), /ANNSubIndex/);
    assert.equal(await recallOf({ recall_target: 1 }), 1);
  });

  test('of a request may be lower than that of the index, as approx_mode of a LanceDB client', async () => {
    const costOf = (plan: string): number => Number(/TopK\(fetch=(\d+)\)[^\n]*\n[^\n]*ANNSubIndex/.exec(plan)?.[1]);
    const usual = costOf(await explain({}));
    assert.ok(usual > 0);
    assert.ok(costOf(await explain({ recall_target: 0.3 })) <= usual);
    assert.ok(costOf(await explain({ approx_mode: 'fast' })) <= usual);
    assert.ok(costOf(await explain({ approx_mode: 'normal' })) === usual);
  });

  test('yields to explicit parameters', async () => {
    for (const target of [0.99, 1]) {
      const plan = await explain({ recall_target: target, nprobes: 3 });
      assert.match(plan, /minimum_nprobes=3, maximum_nprobes=Some\(3\)/);
      assert.doesNotMatch(plan, /KNNVectorDistance/);
    }
  });

  test('of 1 keeps the distance of an index that was not measured, as bypass_vector_index does', async () => {
    const made = await server.table({ stream: clusteredStream({ ...SHAPE, rows: 300 }) });
    const flat = { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 1, distance_type: 'cosine' };
    assert.equal((await build(made, flat)).search, undefined);
    const distances = async (parameters: object): Promise<readonly number[]> => {
      const body = { vector: { single_vector: QUERIES[0] }, k: 3, columns: { column_names: ['id'] }, ...parameters };
      const answer = await server.admin.post(`${made.at}/query`, body, { accept: 'application/json' });
      assert.equal(answer.status, 200, answer.text);
      return answer.json.rows.map(({ _distance: distance }: { _distance: number }) => Math.round(distance * 1e4));
    };
    const byIndex = await distances({});
    for (const exact of [{ recall_target: 1 }, { bypass_vector_index: true }]) {
      assert.deepEqual(await distances(exact), byIndex);
      assert.deepEqual(await distances({ ...exact, vector_column: 'vec' }), byIndex);
      assert.notDeepEqual(await distances({ ...exact, distance_type: 'l2' }), byIndex);
      const query = { vector: { single_vector: QUERIES[0] }, ...exact };
      const { text } = await server.admin.post(`${made.at}/explain_plan`, { query });
      assert.match(text, /KNNVectorDistance: metric=cosine/);
    }
  });

  for (const wrong of [0, -0.5, 1.01, '0.9']) {
    test(`refuses ${JSON.stringify(wrong)}`, async () => {
      const body = { vector: { single_vector: QUERIES[0] }, k: 10, recall_target: wrong };
      assertRefused(await server.admin.post(`${table.at}/query`, body), badRequest(/recall_target/));
      assertRefused(
        await server.admin.post(`${table.at}/create_index`, { ...INDEX, recall_target: wrong }),
        badRequest(/recall_target/),
      );
    });
  }

  test('is refused for an index that is not one of vectors', async () => {
    const body = { column: 'id', index_type: 'BTREE', recall_target: 0.9 };
    assertRefused(await server.admin.post(`${table.at}/create_index`, body), badRequest(/recall_target/));
  });
});

suite('an index shows', () => {
  test('the measured recall and the parameters in the reply to its build, in the list and in its statistics', async () => {
    const { search } = await listed();
    assert.equal(search.recall_target, 0.95);
    assert.ok(search.recall >= 0.95, JSON.stringify(search));
    assert.ok(search.refine_factor > 1);
    // Fewer when the machine is busy: the measurement has little time.
    const shares = search.filtered.map(({ share }: { share: number }) => share);
    assert.deepEqual(shares, [0.1, 0.01].slice(0, shares.length));
    assert.deepEqual(created.search, search);
    const stats = await server.admin.post(`${table.at}/index/vec_idx/stats`, {});
    assert.deepEqual(stats.json.search, search);
  });

  test('advice when its target cannot be reached', async () => {
    const made = await server.table({ stream: clusteredStream({ ...SHAPE, rows: 3000 }) });
    await build(made, { ...INDEX, num_partitions: 2, recall_target: 1 });
    const { search } = await listed(made);
    assert.equal(search.recall_target, 1);
    assert.ok(search.recall === 1 ? search.advice === undefined : /num_sub_vectors/.test(search.advice));
  });

  test('nothing of the former index after it was dropped, and keeps it when the table is renamed', async () => {
    const made = await server.table({ stream: clusteredStream({ ...SHAPE, rows: 3000 }) });
    await build(made, { ...INDEX, index_type: 'IVF_FLAT', num_sub_vectors: undefined, num_partitions: 4 });
    const { search } = await listed(made);
    const renamed = `${made.id}_renamed`;
    const answer = await server.admin.post(`${made.at}/rename`, { new_table_name: renamed });
    assert.equal(answer.status, 200, answer.text);
    const at = `/v1/table/${renamed}`;
    assert.deepEqual((await server.admin.post(`${at}/index/list`, {})).json.indexes[0].search, search);
    await server.admin.post(`${at}/index/vec_idx/drop`, {});
    await server.admin.post(`${at}/branches/create`, { name: 'side' });
    await server.admin.post(`${at}/create_index`, { column: 'vec', index_type: 'IVF_FLAT' });
    const onBranch = await server.admin.post(`${at}/index/list`, { branch: 'side' });
    assert.deepEqual(onBranch.json.indexes, []);
  });

  test('its own recall and parameters on a branch that has built another one', async () => {
    const made = await server.table({ stream: clusteredStream({ ...SHAPE, rows: 4000 }) });
    await build(made, { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 4 });
    const onMain = await listed(made);
    await server.admin.post(`${made.at}/branches/create`, { name: 'side' });
    const onSide = async () => (await server.admin.post(`${made.at}/index/list`, { branch: 'side' })).json.indexes[0];
    assert.deepEqual((await onSide()).search, onMain.search);

    const { search } = await build(made, { ...INDEX, num_partitions: 4, branch: 'side', recall_target: 0.9 });
    assert.deepEqual((await onSide()).search, search);
    assert.equal(search.recall_target, 0.9);
    assert.deepEqual((await listed(made)).search, onMain.search);
    const query = { vector: { single_vector: QUERIES[0] }, k: 10, branch: 'side' };
    const plan = (await server.admin.post(`${made.at}/explain_plan`, { query })).json;
    const candidates = search.exact === true ? undefined : String(10 * (search.refine_factor ?? 1));
    assert.equal(/ANNSubIndex: name=vec_idx, k=(\d+)/.exec(plan)?.[1], candidates, plan);

    await server.admin.post(`${made.at}/branches/delete`, { name: 'side' });
    await server.admin.post(`${made.at}/branches/create`, { name: 'side' });
    assert.deepEqual((await onSide()).search, onMain.search);
  });

  test('nothing of an index of another type that a restore has replaced, until maintenance measures it', async () => {
    const made = await server.table({ stream: clusteredStream({ ...SHAPE, rows: 4000 }) });
    const { version } = await build(made, { ...INDEX, num_partitions: 4 });
    await build(made, { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 4 });
    const restored = await server.admin.post(`${made.at}/restore`, { version });
    assert.equal(restored.status, 200, restored.text);
    const { index_type: type, search } = await listed(made);
    assert.deepEqual([type, search], ['IVF_PQ', undefined]);
    await server.admin.post(`${made.at}/maintenance/run`, {});
    assert.ok((await listed(made)).search !== undefined);
  });

  test('nothing of the rows before an overwrite by a few', async () => {
    const made = await server.table({ stream: clusteredStream({ ...SHAPE, rows: 3000 }) });
    const flat = { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 1 };
    await build(made, flat);
    const rows = clusteredStream({ ...SHAPE, rows: 50 });
    const written = await server.admin.arrow(`${made.at}/insert?mode=overwrite`, rows);
    assert.equal(written.status, 200, written.text);
    assert.equal((await build(made, flat)).search, undefined);
    assert.equal((await listed(made)).search, undefined);
  });

  test('a measured recall also where one row in a hundred has a vector', async () => {
    const made = await server.table({ stream: clusteredStream({ ...SHAPE, rows: 3000 }) });
    const none = { updates: [['vec', 'NULL']], predicate: 'id % 100 != 0' };
    const updated = await server.admin.post(`${made.at}/update`, none);
    assert.equal(updated.status, 200, updated.text);
    const { search } = await build(made, { column: 'vec', index_type: 'IVF_FLAT' });
    assert.ok(search?.recall >= 0.95, JSON.stringify(search));
  });
});

suite('what was measured of an index is not used', () => {
  /** For this target a search compares every row, by the cosine: what uses the measurement is easy to tell. */
  const COSINE = {
    column: 'vec',
    index_type: 'IVF_FLAT',
    num_partitions: 2,
    distance_type: 'cosine',
    recall_target: 1,
  };
  const rows = clusteredStream({ ...SHAPE, rows: 2000 });

  async function measured(): Promise<MadeTable> {
    const made = await server.table({ stream: rows });
    assert.ok((await build(made, COSINE)).search);
    return made;
  }

  async function post(made: MadeTable, operation: string, body: object): Promise<any> {
    const answer = await server.admin.post(`${made.at}/${operation}`, body, { accept: 'application/json' });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }

  async function distances(made: MadeTable, parameters: object = {}): Promise<readonly number[]> {
    const body = { vector: { single_vector: QUERIES[0] }, k: 3, columns: { column_names: ['id'] }, ...parameters };
    return (await post(made, 'query', body)).rows.map((row: { _distance: number }) => row._distance);
  }

  /** As a search without any index does. */
  async function assertByDefault(made: MadeTable): Promise<void> {
    assert.deepEqual(await distances(made), await distances(made, { distance_type: 'l2' }));
  }

  const planOf = async (made: MadeTable): Promise<string> =>
    post(made, 'explain_plan', { query: { vector: { single_vector: QUERIES[0] }, k: 10 } });

  test('after an overwrite, nor for the next index of the column', async () => {
    const made = await measured();
    const written = await server.admin.arrow(`${made.at}/insert?mode=overwrite`, rows);
    assert.equal(written.status, 200, written.text);
    await assertByDefault(made);
    const { search } = await build(made, { ...INDEX, num_partitions: 4, name: 'next', recall_target: 0.5 });
    assert.match(await planOf(made), new RegExp(`minimum_nprobes=${search.nprobes}\\b`));
  });

  test('after an overwrite in several commits', async () => {
    const made = await measured();
    const query = `upload_id=${(await post(made, 'multipart_write/create', {})).upload_id}`;
    for (const part of ['1', '2']) {
      const sent = `${made.at}/insert?mode=overwrite&${query}&upload_part_id=${part}`;
      assert.equal((await server.admin.arrow(sent, rows)).status, 200);
    }
    await post(made, `multipart_write/complete?${query}`, {});
    await assertByDefault(made);
  });

  test('after a restore of another index with its name', async () => {
    const made = await server.table({ stream: rows });
    const { version } = await build(made, { ...INDEX, num_partitions: 2 });
    await build(made, { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 2, recall_target: 1 });
    assert.doesNotMatch(await planOf(made), /ANNSubIndex/);
    await post(made, 'restore', { version });
    assert.match(await planOf(made), /ANNSubIndex/);
  });

  test('but is used after a restore of the same index', async () => {
    const made = await measured();
    const { search } = await listed(made);
    const { version } = await post(made, 'update', { updates: [['bucket', '1']] });
    await post(made, 'restore', { version: version - 1 });
    assert.deepEqual((await listed(made)).search, search);
  });

  test('after its column was dropped, for another column', async () => {
    const made = await server.table({ stream: rows });
    await post(made, 'add_columns', { new_columns: [{ name: 'other', expression: 'vec' }] });
    await build(made, COSINE);
    await post(made, 'drop_columns', { columns: ['vec'] });
    await assertByDefault(made);
  });

  test('but is used after its column was renamed, also by searches that name the column', async () => {
    const made = await measured();
    const byIndex = await distances(made);
    await post(made, 'alter_columns', { alterations: [{ path: 'vec', rename: 'renamed' }] });
    const query = { vector: { single_vector: QUERIES[0] }, k: 3, vector_column: 'renamed' };
    assert.doesNotMatch(await post(made, 'explain_plan', { query }), /ANNSubIndex/);
    assert.deepEqual(await distances(made, { vector_column: 'renamed' }), byIndex);
  });

  test('after another program has dropped it and maintenance has run', async () => {
    const made = await measured();
    await (await server.embedded(made)).dropIndex('vec_idx');
    await post(made, 'maintenance/run', {});
    await assertByDefault(made);
  });

  test('when it is dropped while it is being measured', async () => {
    const made = await server.table({ stream: rows });
    const started = await server.admin.post(`${made.at}/create_index`, COSINE, { prefer: 'respond-async' });
    assert.equal(started.status, 202, started.text);
    const job = async (): Promise<any> =>
      (await server.admin.post('/v1/jobs/describe', { job_id: started.json.job_id })).json;
    await eventually(async () => (await job()).phase === 'measuring' || (await job()).job_state === 'DONE');
    await post(made, 'index/vec_idx/drop', {});
    await eventually(async () => (await job()).job_state === 'DONE');
    await assertByDefault(made);
  });
});

suite('after maintenance', () => {
  const flat = { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 4, recall_target: 0.9 };

  test('an index of a table that has grown is measured again, for its own target', async () => {
    const made = await server.table({ stream: clusteredStream({ ...SHAPE, rows: 2000 }) });
    const before = (await build(made, flat)).search;
    const inserted = await server.admin.arrow(`${made.at}/insert`, clusteredStream({ ...SHAPE, rows: 2000 }, 8));
    assert.equal(inserted.status, 200, inserted.text);
    const ran = await server.admin.post(`${made.at}/maintenance/run`, {});
    assert.equal(ran.status, 200, ran.text);
    const { search } = await listed(made);
    assert.ok(Date.parse(search.tuned_at) > Date.parse(before.tuned_at));
    assert.equal(search.recall_target, 0.9);
  });

  test('an index that another program has built is measured', async () => {
    const made = await server.table({ stream: clusteredStream({ ...SHAPE, rows: 2000 }) });
    const embedded = await server.embedded(made);
    await embedded.createIndex('vec', { config: Index.ivfFlat({ numPartitions: 4 }) });
    assert.equal((await listed(made)).search, undefined);
    await server.admin.post(`${made.at}/maintenance/run`, {});
    assert.ok((await listed(made)).search.recall >= 0.95);
  });
});
