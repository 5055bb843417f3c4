import { Int32, toStream } from '../test/support/arrow-tables.ts';
import type { HttpClient } from './http.ts';

/** An Arrow stream of integers, with a column for each name. */
export function intRows(rows: readonly Readonly<Record<string, number>>[], names?: readonly string[]): Uint8Array {
  const columns = names ?? Object.keys(rows[0] ?? {});
  return toStream(
    Object.fromEntries(
      columns.map((name) => [name, [new Int32(), (row: number) => rows[row]?.[name] ?? null] as const]),
    ),
    rows.length,
  );
}

const EVERYTHING = 1_000_000;

/** All rows of a table, or those that a filter selects. */
export async function readRows(
  client: HttpClient,
  table: string,
  query: object = {},
): Promise<readonly Readonly<Record<string, any>>[]> {
  const reply = await client.post(
    `/v1/table/${table}/query`,
    { k: EVERYTHING, ...query },
    { accept: 'application/json' },
  );
  if (reply.status !== 200) throw new Error(`query of ${table}: ${reply.status} ${reply.text}`);
  return reply.json.rows;
}

export async function requireOk(reply: Promise<{ readonly status: number; readonly text: string }>): Promise<void> {
  const { status, text } = await reply;
  if (status !== 200) throw new Error(`${status} ${text}`);
}
