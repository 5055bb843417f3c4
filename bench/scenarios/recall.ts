import { countOf, median, shareOf } from '../measure.ts';
import type { Count, Share } from '../measure.ts';
import { BenchTable, ClusteredVectors, NARROW_FILTER, VectorFile } from './clustered-table.ts';
import type { Bench } from './scenario.ts';

/** Override with RECALL_ROWS=50000,1000000; an HNSW graph of a million rows takes many minutes to build. */
const ROWS = (process.env['RECALL_ROWS'] ?? '50000,200000').split(',').map(Number);
/** RECALL_VECTORS=vectors.f32,384 measures the vectors of a file instead of clusters, as many as it has. */
const [VECTORS_FILE, VECTORS_DIMENSION] = process.env['RECALL_VECTORS']?.split(',') ?? [];
const TYPES = (process.env['RECALL_INDEXES'] ?? 'IVF_FLAT,IVF_PQ,IVF_HNSW_SQ,IVF_HNSW_PQ').split(',');

const QUERIES = 50;
const RECALL_GOAL = 0.95;
/** The measurement of an index takes at most this share of the total, or this many seconds. */
const TUNING_PART_MAX = 0.1;
const TUNING_SECONDS_MIN = 2;

/** How many of the ten nearest rows a search without parameters finds, and how long the measurement for it took. */
export async function* measureRecall(bench: Bench): AsyncGenerator<Share | Count> {
  for (const { vectors, rows } of sources()) {
    const table = new BenchTable(bench.port, `recall-${rows}`);
    await table.create(vectors, rows);
    const queries = Array.from({ length: QUERIES }, () => vectors.next());
    const filters = [{}, { filter: NARROW_FILTER }];
    const exact: (readonly (readonly number[])[])[] = [];
    for (const filter of filters) exact.push(await findAll(table, queries, { ...filter, bypass_vector_index: true }));
    for (const type of TYPES) {
      const { seconds, search } = await table.buildIndex({ column: 'vec', index_type: type });
      const name = `${type}, ${rows.toLocaleString('en')} × ${vectors.dimension}`;
      bench.report(`${name}: built in ${seconds.toFixed(1)} s; ${JSON.stringify(search)}`);
      for (const [at, filter] of filters.entries()) {
        const times: number[] = [];
        const found = await findAll(table, queries, filter, times);
        const recalls = found.map((ids, query) => recallOf(ids, exact[at]?.[query] ?? []));
        const what = `recall@10, ${name}, ${at === 0 ? 'no filter' : '1% filter'}, p50 ${median(times).toFixed(1)} ms`;
        yield shareOf(what, recalls, RECALL_GOAL);
      }
      const allowed = Math.max(TUNING_SECONDS_MIN, TUNING_PART_MAX * seconds);
      yield countOf(`seconds to measure ${name}`, [search.tuning_ms / 1000], allowed);
    }
    await table.call('drop', {});
  }
}

function* sources() {
  if (VECTORS_FILE === undefined) {
    for (const rows of ROWS) yield { vectors: new ClusteredVectors(), rows };
    return;
  }
  const vectors = new VectorFile(VECTORS_FILE, Number(VECTORS_DIMENSION));
  yield { vectors, rows: vectors.count - QUERIES };
}

async function findAll(
  table: BenchTable,
  queries: readonly Float32Array[],
  parameters: object,
  times: number[] = [],
): Promise<readonly (readonly number[])[]> {
  const found: (readonly number[])[] = [];
  for (const vector of queries) {
    const startedAt = performance.now();
    found.push(await table.find(vector, parameters));
    times.push(performance.now() - startedAt);
  }
  return found;
}

function recallOf(found: readonly number[], exact: readonly number[]): number {
  return exact.filter((id) => found.includes(id)).length / Math.max(exact.length, 1);
}
