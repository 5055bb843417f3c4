import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { after, before, suite, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { FixedSizeList, Field, Float32, Int32, toStream } from './support/arrow-tables.ts';
import { ADMIN_KEY } from './support/server.ts';
import { startServerProcess } from './support/server-process.ts';

const MEBIBYTE = 1024 ** 2;
const ROWS = 8192;

suite('the memory of the worker', { skip: process.platform !== 'linux' }, () => {
  let folder: string;
  let reply: { status: number; text: string };
  let addedByCreate: number;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiltyard-memory-'));
    const server = await startServerProcess(folder, ['--log-level=info']);
    const { schema, batch, end } = makeParts();
    const batches = Math.ceil((1024 * MEBIBYTE) / batch.length);
    // A first, small create loads what the engine loads only once.
    await upload(server.url, 'small', [schema, batch, end]);
    const beforehand = await readMebibytes(server.workerPid(), 'VmRSS');
    reply = await upload(server.url, 'large', repeat(schema, batch, end, batches));
    addedByCreate = (await readMebibytes(server.workerPid(), 'VmHWM')) - beforehand;
    await server.stop();
  });
  after(async () => rm(folder, { recursive: true, force: true }));

  test('a create of 1 GiB adds at most 512 MiB', () => {
    assert.equal(reply.status, 200, reply.text);
    assert.ok(addedByCreate <= 512, `${Math.round(addedByCreate)} MiB were added`);
  });

  test('a result of 1 GiB, read quickly or slowly, adds less than 256 MiB', async () => {
    const added: number[] = [];
    for (const pauseMilliseconds of [0, 5]) added.push(await measureDownload(folder, pauseMilliseconds));
    assert.ok(Math.max(...added) < 256, `${added.map(Math.round).join(' and ')} MiB were added`);
  });
});

/** In a process of its own: what other work leaves behind would hide what the query adds. */
async function measureDownload(folder: string, pauseMilliseconds: number): Promise<number> {
  const server = await startServerProcess(folder, []);
  await download(server.url, { k: 1000 }, 0);
  const before = await readMebibytes(server.workerPid(), 'VmRSS');
  const bytes = await download(server.url, {}, pauseMilliseconds);
  const after = await readMebibytes(server.workerPid(), 'VmHWM');
  await server.stop();
  assert.ok(bytes >= 1024 * MEBIBYTE, `${bytes} bytes`);
  return after - before;
}

async function download(url: string, query: object, pauseMilliseconds: number): Promise<number> {
  const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' };
  const sent = request(`${url}/v1/table/large/query`, { method: 'POST', headers });
  sent.end(JSON.stringify(query));
  const [response] = await once(sent, 'response');
  let bytes = 0;
  let untilPause = 0;
  for await (const part of response) {
    bytes += part.length;
    untilPause += part.length;
    if (pauseMilliseconds === 0 || untilPause < MEBIBYTE) continue;
    untilPause = 0;
    await wait(pauseMilliseconds);
  }
  assert.ok(response.complete);
  return bytes;
}

function makeParts(): { readonly schema: Buffer; readonly batch: Buffer; readonly end: Buffer } {
  const vector = new FixedSizeList(128, new Field('item', new Float32(), true));
  const numbers = Array.from({ length: 128 }, (_unused, index) => Math.sin(index));
  const stream = Buffer.from(
    toStream({ id: [new Int32(), (row) => row], vec: [vector, (row) => numbers.map((number) => number + row)] }, ROWS),
  );
  const schemaEnd = 8 + stream.readInt32LE(4);
  return { schema: stream.subarray(0, schemaEnd), batch: stream.subarray(schemaEnd, -8), end: stream.subarray(-8) };
}

function* repeat(schema: Buffer, batch: Buffer, end: Buffer, batches: number): Generator<Buffer> {
  yield schema;
  for (let index = 0; index < batches; index += 1) yield batch;
  yield end;
}

async function upload(url: string, name: string, pieces: Iterable<Buffer>): Promise<{ status: number; text: string }> {
  const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/vnd.apache.arrow.stream' };
  const sent = request(`${url}/v1/table/${name}/create`, { method: 'POST', headers });
  const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
    sent.once('error', reject);
    sent.once('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }));
    });
  });
  await pipeline(Readable.from(pieces, { objectMode: true }), sent);
  return answered;
}

async function readMebibytes(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
}
