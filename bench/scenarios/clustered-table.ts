import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Field, FixedSizeList, Float32, Table, makeData, makeVector, tableToIPC } from 'apache-arrow';
import { DIMENSION, randomNumbers } from '../data.ts';
import { BENCH_KEY } from '../server-process.ts';

const CLUSTERS = 500;
const BATCH_ROWS = 50_000;

/** A filter that a hundredth of the rows pass. */
export const NARROW_FILTER = 'bucket < 10';

export interface Vectors {
  readonly dimension: number;
  next(): Float32Array;
}

/** Vectors in clusters whose members are almost equally distant from each other, like embeddings of similar items. */
export class ClusteredVectors implements Vectors {
  readonly dimension = DIMENSION;
  readonly #random = randomNumbers(5);
  readonly #centres = Array.from({ length: CLUSTERS }, () =>
    Float32Array.from({ length: DIMENSION }, () => this.#random() * 2 - 1),
  );

  next(): Float32Array {
    const centre = this.#centres[Math.floor(this.#random() * CLUSTERS)] ?? new Float32Array(DIMENSION);
    return centre.map((value) => value + 0.1 * this.#normal());
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(this.#random() + 1e-12)) * Math.cos(2 * Math.PI * this.#random());
  }
}

/** Other vectors, such as embeddings of texts: a file of consecutive 32-bit float vectors. */
export class VectorFile implements Vectors {
  readonly dimension: number;
  readonly #values: Float32Array;
  #next = 0;

  constructor(path: string, dimension: number) {
    if (!(dimension > 0)) throw new Error('The vectors of a file need a dimension: RECALL_VECTORS=vectors.f32,384');
    const bytes = readFileSync(path);
    this.dimension = dimension;
    this.#values = new Float32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4));
  }

  get count(): number {
    return Math.floor(this.#values.length / this.dimension);
  }

  next(): Float32Array {
    const from = this.#next * this.dimension;
    this.#next += 1;
    return this.#values.subarray(from, from + this.dimension);
  }
}

/** Arrow streams with all rows together: `id`, a random `bucket` from 0 to 999, and `vec`. */
function* toStreams(vectors: Vectors, rows: number): Generator<Buffer> {
  const random = randomNumbers(6);
  for (let from = 0; from < rows; from += BATCH_ROWS) {
    yield toStream(vectors, random, { from, rows: Math.min(BATCH_ROWS, rows - from) });
  }
}

function toStream(
  vectors: Vectors,
  random: () => number,
  { from, rows }: { readonly from: number; readonly rows: number },
): Buffer {
  const { dimension } = vectors;
  const values = new Float32Array(rows * dimension);
  for (let row = 0; row < rows; row += 1) values.set(vectors.next(), row * dimension);
  const child = makeData({ type: new Float32(), data: values, length: values.length });
  const type = new FixedSizeList(dimension, new Field('item', new Float32(), true));
  const table = new Table({
    id: makeVector(Int32Array.from({ length: rows }, (_unused, row) => from + row)),
    bucket: makeVector(Int32Array.from({ length: rows }, () => Math.floor(random() * 1000))),
    vec: makeVector(makeData({ type, length: rows, nullCount: 0, child })),
  });
  return Buffer.from(tableToIPC(table, 'stream'));
}

/** Calls of the server whose reply matters, for preparation; timed requests use `BareClient`. */
export class BenchTable {
  readonly #url: string;

  constructor(port: number, name: string) {
    this.#url = `http://127.0.0.1:${port}/v1/table/${name}`;
  }

  async create(vectors: Vectors, rows: number): Promise<void> {
    let operation = 'create';
    for (const stream of toStreams(vectors, rows)) {
      await this.#send(operation, stream, 'application/vnd.apache.arrow.stream');
      operation = 'insert';
    }
  }

  async call(operation: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<any> {
    return this.#send(operation, JSON.stringify(body), 'application/json', headers);
  }

  /** Resolves when the index is built and measured; the time is that of the job. */
  async buildIndex(body: object): Promise<{ readonly seconds: number; readonly search: any }> {
    const startedAt = performance.now();
    const { index_name: name, job_id: id } = await this.call('create_index', body, { prefer: 'respond-async' });
    const jobs = this.#url.replace(/\/table\/.*$/, '/jobs/describe');
    for (;;) {
      const { job_state: state, failure } = await this.#post(jobs, JSON.stringify({ job_id: id }));
      if (state === 'DONE') break;
      if (state !== 'IN_PROGRESS') throw new Error(`the build ended as ${state}: ${JSON.stringify(failure)}`);
      await sleep(50);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const { search } = await this.call(`index/${name}/stats`, {});
    return { seconds, search };
  }

  /** Ids of the nearest rows. */
  async find(vector: Float32Array, parameters: object): Promise<readonly number[]> {
    const body = { vector: [...vector], k: 10, columns: ['id'], ...parameters };
    const { rows } = await this.call('query', body, { accept: 'application/json' });
    return rows.map(({ id }: { readonly id: number }) => id);
  }

  async #send(operation: string, body: Buffer | string, type: string, headers = {}): Promise<any> {
    return this.#post(`${this.#url}/${operation}`, body, { 'content-type': type, ...headers });
  }

  async #post(url: string, body: Buffer | string, headers: Readonly<Record<string, string>> = {}): Promise<any> {
    const sent = { 'x-api-key': BENCH_KEY, 'content-type': 'application/json', ...headers };
    const reply = await fetch(url, { method: 'POST', headers: sent, body });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`the server answered ${reply.status}: ${text}`);
    return text === '' ? {} : JSON.parse(text);
  }
}
