import assert from 'node:assert/strict';
import { Float64, Int32, Utf8 } from 'apache-arrow';
import type { Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import type { ContractServer, MadeTable, PlainRow } from '../contract-server.ts';
import { count, streamOf } from '../contract-tables.ts';

/** An item is `[id, price, quantity]`. */
export type Item = readonly [id: number, price: number | null, quantity: number | null];

export function itemsStream(items: readonly Item[]): Uint8Array {
  return streamOf({
    id: { type: new Int32(), values: items.map(([id]) => id), nullable: false },
    price: { type: new Float64(), values: items.map(([, price]) => price) },
    quantity: { type: new Int32(), values: items.map(([, , quantity]) => quantity) },
  });
}

export const ITEMS: readonly Item[] = [
  [1, 1.5, 2],
  [2, 2.5, 4],
  [3, null, 1],
];

export const TOTAL = { new_columns: [{ name: 'total', computed: 'price * quantity' }] };

/** Rows of about a kilobyte each. Texts differ: what counts is the size of the stored, compressed rows. */
export function wideStream(rows: number): Uint8Array {
  const text = (row: number): string =>
    Array.from({ length: 200 }, (_unused, part) => ((row * 7919 + part * 104729) % 999_983).toString(36)).join('');
  return streamOf({
    id: { type: new Int32(), values: count(rows), nullable: false },
    text: { type: new Utf8(), values: count(rows).map(text) },
  });
}

/** A table of items with the computed column `total`, not filled. */
export async function itemsWithTotal(server: ContractServer, items = ITEMS): Promise<MadeTable> {
  const made = await server.table({ stream: itemsStream(items) });
  const answer = await server.admin.post(`${made.at}/add_columns`, TOTAL);
  assert.equal(answer.status, 200, answer.text);
  return made;
}

export async function column(server: ContractServer, table: MadeTable, name = 'total'): Promise<readonly unknown[]> {
  const rows: readonly PlainRow[] = await server.rows(table);
  return rows.map((row) => row[name]);
}

/** The job when it has ended. */
export async function ended(client: Client, jobId: string): Promise<any> {
  let job: any;
  await eventually(
    async () => {
      const answer = await client.post('/v1/jobs/describe', { job_id: jobId });
      assert.equal(answer.status, 200, answer.text);
      job = answer.json;
      return job.job_state !== 'IN_PROGRESS';
    },
    () => JSON.stringify(job),
  );
  return job;
}
