import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { openRawEngine } from './engine-side.ts';
import type { RawTable } from './engine-side.ts';

/** What the bare server is asked for. */
export interface BareQuery {
  readonly filter?: string;
  readonly vector?: readonly number[];
  readonly k?: number;
}

/**
 * The least that a Node server can do for a query: parse its body, call the engine, send the bytes. No authentication, no
 * catalog, no limits, no checks. Its figures are the ceiling of the comparison on this machine.
 */
async function main([folder = '', name = '']: readonly string[]): Promise<void> {
  const connection = await openRawEngine(folder);
  const table = await connection.openTable(name);
  const server = createServer((request, response) => void answer(table, request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (typeof address === 'object') process.stdout.write(`listens on http://127.0.0.1:${address?.port}\n`);
}

async function answer(table: RawTable, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const { filter, vector, k } = JSON.parse(Buffer.concat(pieces).toString()) as BareQuery;
  const query = vector === undefined ? table.query() : table.query().nearestTo(Float32Array.from(vector));
  if (filter !== undefined) query.onlyIf(filter);
  if (k !== undefined) query.limit(k);
  const batches = await query.execute();
  const first = (await batches.next()) ?? Buffer.alloc(0);
  let next = await batches.next();
  if (next === null) {
    response.writeHead(200, { 'content-length': first.length });
    response.end(first);
    return;
  }
  response.writeHead(200);
  response.write(first);
  for (; next !== null; next = await batches.next()) if (!response.write(next)) await once(response, 'drain');
  response.end();
}

await main(process.argv.slice(2));
