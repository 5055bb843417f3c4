import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ARROW_FILE } from './data.ts';
import { openRawEngine } from './engine-side.ts';
import type { RawTable } from './engine-side.ts';

/** A request to the bare server. */
export interface BareQuery {
  readonly filter?: string;
  readonly vector?: readonly number[];
  readonly k?: number;
  readonly analyze?: true;
}

export interface BareUpdate {
  readonly predicate: string;
  readonly updates: [string, string][];
}

/**
 * The minimum that a Node server must do: parse a body, call the engine, send the bytes. No authentication, catalog,
 * limits, checks or records of writes. Its figures are the ceiling for comparisons on this machine.
 */
async function main([folder = '', ...names]: readonly string[]): Promise<void> {
  const connection = await openRawEngine(folder);
  const open = async (name: string) => [`/${name}`, await connection.openTable(name)] as const;
  const tables = new Map<string, RawTable>(await Promise.all(names.map(open)));
  const server = createServer((request, response) => {
    const table = tables.get(request.url ?? '');
    if (table !== undefined) void answer(table, request, response);
  });
  // Connections are idle while the other side of a comparison runs.
  server.keepAliveTimeout = 0;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (typeof address === 'object') process.stdout.write(`listens on http://127.0.0.1:${address?.port}\n`);
}

async function answer(table: RawTable, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces);
  if (request.headers['content-type'] === ARROW_FILE) await table.add(body, 'append');
  else await answerJson(table, JSON.parse(body.toString()) as BareQuery | BareUpdate, response);
  if (!response.headersSent) response.writeHead(200, { 'content-length': 2 }).end('{}');
}

async function answerJson(table: RawTable, body: BareQuery | BareUpdate, response: ServerResponse): Promise<void> {
  if ('updates' in body) await table.update(body.predicate, body.updates);
  else await answerQuery(table, body, response);
}

async function answerQuery(table: RawTable, asked: BareQuery, response: ServerResponse): Promise<void> {
  const { filter, vector, k, analyze } = asked;
  const query = vector === undefined ? table.query() : table.query().nearestTo(Float32Array.from(vector));
  if (filter !== undefined) query.onlyIf(filter);
  if (k !== undefined) query.limit(k);
  if (analyze === true) {
    const text = Buffer.from(JSON.stringify(await query.analyzePlan()));
    response.writeHead(200, { 'content-length': text.length }).end(text);
    return;
  }
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
