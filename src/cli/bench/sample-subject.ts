import type { ApiClient } from '../../client/api-client.ts';
import { insertRows } from '../../client/rows.ts';
import { createTable } from '../../client/tables.ts';
import { countOf } from '../show/amounts.ts';
import { SAMPLE_DIMENSIONS, sampleRows, sampleVector } from './sample-rows.ts';
import type { Subject } from './subject.ts';

const PART_ROWS = 10_000;
const WRITE_ROWS = 100;

export interface Sample {
  readonly name: string;
  readonly rows: number;
  readonly limit: number;
}

/** What can be asked of the sample table, once it is there. */
export function sampleSubject({ name, rows, limit }: Sample): Subject {
  const small = sampleRows(rows, WRITE_ROWS);
  return {
    table: [name],
    described: `a sample table: ${countOf(rows, 'row')}, vectors of ${SAMPLE_DIMENSIONS} numbers, no index`,
    searches: (turn) => ({ vector: { single_vector: sampleVector(-1 - turn) }, vector_column: 'vector', k: limit }),
    filters: (turn) => ({ filter: `id = ${rowOf(turn, rows)}`, k: limit }),
    change: (turn) => ({ updates: [['price', 'price + 1']], predicate: `id = ${rowOf(turn, rows)}` }),
    rowsToInsert: () => small,
    rowsToCreate: () => small,
    tableToCreate: (turn) => [`${name}-${turn}`],
  };
}

/** Makes the sample table, a part at a time, so that it needs little memory here. */
export async function makeSample(client: ApiClient, { name, rows }: Sample, stop: AbortSignal): Promise<void> {
  for (let first = 0; first < rows && !stop.aborted; first += PART_ROWS) {
    const part = sampleRows(first, Math.min(PART_ROWS, rows - first));
    if (first === 0) await createTable(client, [name], part);
    else await insertRows(client, [name], part);
  }
}

/** Jumps about, so that no request finds what the one before has just read. */
function rowOf(turn: number, rows: number): number {
  return (turn * 7919) % rows;
}
