import { setTimeout as sleep } from 'node:timers/promises';
import { DIMENSION, randomNumbers } from '../../data.ts';
import { jsonRequest } from '../../http-client.ts';
import type { BareClient } from '../../http-client.ts';
import { BENCH_KEY } from '../../server-process.ts';
import { expectSuccess } from '../scenario.ts';

/** The engine's default, given explicitly: without it, the server would choose parameters for recall. */
const PROBES = 20;

export function makeVectors(count: number, seed: number): readonly Float32Array[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, () => Float32Array.from({ length: DIMENSION }, () => random() * 2 - 1));
}

export function queryRequest(table: string, body: object): Buffer {
  return jsonRequest(`/v1/table/${table}/query`, BENCH_KEY, body);
}

/** The ten nearest rows. */
export function searchRequest(table: string, vector: Float32Array): Buffer {
  return queryRequest(table, { vector: { single_vector: [...vector] }, k: 10, nprobes: PROBES });
}

const BUILD_MILLISECONDS_MAX = 600_000;

/** A long build returns 202; then waits for the index. */
export async function buildIndex(client: BareClient, table: string, index: object): Promise<void> {
  const status = await client.send(jsonRequest(`/v1/table/${table}/create_index`, BENCH_KEY, index));
  if (status !== 202) return expectSuccess(status);
  const list = jsonRequest(`/v1/table/${table}/index/vec_idx/stats`, BENCH_KEY, {});
  const startedAt = performance.now();
  while ((await client.poll(list)) !== 200) {
    if (performance.now() - startedAt > BUILD_MILLISECONDS_MAX) throw new Error(`the index of ${table} was not built`);
    await sleep(500);
  }
}
