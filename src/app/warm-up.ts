import { performance } from 'node:perf_hooks';
import { ServiceError } from '../errors/service-error.ts';
import { decodeBody } from '../invoke/decode-body.ts';
import type { Limits } from '../model/limits.ts';
import { isObject, parseStrictJson } from '../model/strict-json.ts';
import { toQueryKey } from '../operations/data/cached-query.ts';
import { readQuery } from '../operations/data/read-query.ts';
import { OPERATIONS } from '../operations/registry.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { QueryTableBody } from '../wire/data.ts';

const ROUNDS = 300;
const MILLISECONDS_MAX = 100;
const DIMENSION = 128;

let isWarm = false;

/**
 * Reads a made-up query again and again, up to where a table would be needed: its validator is compiled, and V8 has seen
 * the code, before the first client waits for both. Touches no data.
 */
export function warmUp({ limits, telemetry }: { readonly limits: Limits; readonly telemetry: Telemetry }): void {
  const operation = OPERATIONS.find(({ id }) => id === 'query_table');
  if (operation === undefined || isWarm) return;
  isWarm = true;
  const vector = Array.from({ length: DIMENSION }, (_unused, index) => Math.sin(index));
  const bytes = Buffer.from(JSON.stringify({ vector: { single_vector: vector }, filter: 'id > 1', k: 10 }));
  const location = { kind: 'listed', root: '/', directory: '' } as const;
  const state = { location, branch: undefined, version: undefined };
  const until = performance.now() + MILLISECONDS_MAX;
  for (let round = 0; round < ROUNDS && performance.now() < until; round += 1) {
    try {
      const json = parseStrictJson(bytes, { depthMax: limits.http.jsonDepthMax });
      if (!isObject(json)) return;
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Checked against this shape.
      const body = decodeBody(operation, json, 'lance', { telemetry }) as QueryTableBody;
      const query = readQuery(body, limits);
      toQueryKey({ table: { id: '' }, dialect: 'lance' }, { state, query, mediaType: '' });
    } catch (error) {
      // Limits may be set so low that they refuse this query.
      if (error instanceof ServiceError) return;
      throw error;
    }
  }
}
