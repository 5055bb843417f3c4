import assert from 'node:assert/strict';
import type { PlanContext } from '../../src/plans/advice.ts';
import type { PlanStep } from '../../src/model/query.ts';
import { readPlan } from '../../src/plans/plan-steps.ts';
import type { QueryTableBody } from '../../src/wire/data.ts';
import { Field, FixedSizeList, Float32, Int32, Utf8, toStream } from '../support/arrow-tables.ts';
import { Client } from '../support/client.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

export const DIMENSION = 16;
export const VECTOR = { single_vector: Array.from({ length: DIMENSION }, (_unused, index) => Math.sin(index)) };

const WORDS = ['amber', 'basalt', 'cedar', 'delta', 'ember'];

/** A table of the real server, and the analyses of queries on it. */
export class AnalysedTable {
  readonly #server: TestServer;
  readonly #client: Client;

  private constructor(server: TestServer) {
    this.#server = server;
    this.#client = new Client(server.url);
  }

  static async start(rows: number, flags: readonly string[] = []): Promise<AnalysedTable> {
    const table = new AnalysedTable(await startServer({ flags: ['--maintenance-running-max=0', ...flags] }));
    await table.#require(table.#client.arrow('/v1/table/items/create', rowStream(rows)));
    return table;
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  async insert(rows: number): Promise<void> {
    await this.#require(this.#client.arrow('/v1/table/items/insert', rowStream(rows)));
  }

  async index(body: object): Promise<void> {
    await this.#post('create_index', body);
  }

  async branch(name: string): Promise<void> {
    await this.#post('branches/create', { name });
  }

  async analyze(query: QueryTableBody): Promise<PlanStep> {
    const accept = { accept: 'application/vnd.tiltyard.plan+json' };
    const answer = await this.#require(this.#client.post('/v1/table/items/analyze_plan', query, accept));
    return readPlan(answer.plan) ?? assert.fail('not a plan');
  }

  async ids(query: QueryTableBody): Promise<readonly number[]> {
    const body = { ...query, columns: { column_names: ['id'] } };
    const answer = await this.#require(
      this.#client.post('/v1/table/items/query', body, { accept: 'application/json' }),
    );
    return answer.rows.map(({ id }: { id: number }) => id);
  }

  async context(query: QueryTableBody): Promise<PlanContext> {
    const on = query.branch === undefined ? {} : { branch: query.branch };
    const { schema } = await this.#post('describe', on);
    const { indexes } = await this.#post('index/list', on);
    return { query, schema, indexes, stats: await this.#post('stats', on) };
  }

  async #post(path: string, body: object): Promise<any> {
    return this.#require(this.#client.post(`/v1/table/items/${path}`, body));
  }

  async #require(answer: ReturnType<Client['post']>): Promise<any> {
    const { status, text, json } = await answer;
    assert.equal(status, 200, text);
    return json;
  }
}

/** Numbers that look random and are the same in every run. */
function rowStream(rows: number): Uint8Array {
  const vectorType = new FixedSizeList(DIMENSION, new Field('item', new Float32(), true));
  return toStream(
    {
      id: [new Int32(), (row) => row],
      shelf: [new Int32(), (row) => row % 1000],
      title: [new Utf8(), (row) => `${WORDS[row % 5]} ${WORDS[(row >> 3) % 5]}`],
      vec: [vectorType, (row) => Array.from({ length: DIMENSION }, (_unused, at) => Math.sin(row * 37 + at * at))],
    },
    rows,
  );
}
