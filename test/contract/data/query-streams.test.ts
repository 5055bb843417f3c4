import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { tableFromIPC } from 'apache-arrow';
import { eventually } from '../../support/eventually.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Float64, Int32, count, streamOf, vectorType } from '../contract-tables.ts';
import { CODE, assertRefused } from '../refusal.ts';

const ROWS = 60_000;

let server: ContractServer;
let table: MadeTable;
before(async () => {
  // One place among the running requests: whoever does not give it back is noticed by the next.
  server = await ContractServer.start({ flags: ['--http-requests-max=1', '--engine-result-batch-bytes=64KiB'] });
  table = await server.table({
    stream: streamOf({
      id: { type: new Int32(), values: count(ROWS) },
      price: { type: new Float64(), values: count(ROWS) },
      vec: { type: vectorType(64), values: count(ROWS).map((row) => count(64).map((index) => row + index)) },
    }),
  });
});
after(async () => server.close());

async function open(body: object, headers: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${table.at}/query`, {
      method: 'POST',
      headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', ...headers },
    });
    sent.once('response', resolve);
    sent.once('error', reject);
    sent.end(JSON.stringify(body));
  });
}

async function becomesFree(): Promise<void> {
  await eventually(async () => (await server.admin.post(`${table.at}/count_rows`, {})).status === 200);
}

suite('a large result', () => {
  for (const accept of [
    'application/vnd.apache.arrow.file',
    'application/vnd.apache.arrow.stream',
    'application/x-ndjson',
  ]) {
    test(`is left half-read as ${accept}: its slot is free again`, async () => {
      const response = await open({}, { accept });
      assert.equal(response.statusCode, 200);
      await new Promise<void>((resolve) => response.once('readable', resolve));
      response.destroy();
      await becomesFree();
    });

    test(`that fails on the way as ${accept} breaks the connection`, async () => {
      // The filter is right until a row far behind the first batches.
      const response = await open({ columns: { column_aliases: { a: `10 / (id - ${ROWS - 5})` } } }, { accept });
      assert.equal(response.statusCode, 200);
      const parts: Buffer[] = [];
      const ended = await new Promise<'end' | 'broken'>((resolve) => {
        response.on('data', (part: Buffer) => parts.push(part));
        response.once('end', () => resolve(response.complete ? 'end' : 'broken'));
        response.once('error', () => resolve('broken'));
        response.once('aborted', () => resolve('broken'));
      });
      assert.equal(ended, 'broken');
      assert.ok(parts.length > 0);
      assert.ok(!Buffer.concat(parts).subarray(-16).includes('ARROW1'));
      await becomesFree();
    });
  }

  test('comes in batches of about the size that is set', async () => {
    const response = await open({}, { accept: 'application/vnd.apache.arrow.stream' });
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(Buffer.from(part));
    const { batches } = tableFromIPC(Buffer.concat(parts));
    for (const { numRows } of batches) assert.ok(numRows * 268 <= 64 * 1024, String(numRows));
    assert.ok(batches.length >= (ROWS * 268) / (64 * 1024), String(batches.length));
  });

  test('whose caller waits less than it takes is a 503, and its slot is free again', async () => {
    const slow = { filter: `id IN (${count(20_000).join(',')}) AND sqrt(price) * cbrt(price) >= 0`, k: 10 };
    const answer = await server.admin.post(`${table.at}/query`, slow, { 'x-request-timeout-ms': '1' });
    assertRefused(answer, { status: 503, code: CODE.unavailable, detail: /0\.001 s/ });
    assert.equal(answer.headers.get('retry-after'), '1');
    await becomesFree();
  });

  test('is not cut short by a reader who takes longer than the query may', async () => {
    const response = await open({}, { 'x-request-timeout-ms': '6000' });
    await wait(6500);
    let bytes = 0;
    for await (const part of response) bytes += Buffer.from(part).length;
    assert.ok(response.complete);
    assert.ok(bytes > ROWS * 64 * 4, String(bytes));
  });
});
