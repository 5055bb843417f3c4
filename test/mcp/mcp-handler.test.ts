import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiClient } from '../../src/client/api-client.ts';
import { createMcp } from '../../src/mcp/mcp-handler.ts';
import { testLimits } from '../support/limits.ts';
import { Int32, toStream } from '../support/arrow-tables.ts';

test('a call that fails before it has read its rows aborts their request, then answers', async () => {
  const signals: (AbortSignal | null | undefined)[] = [];
  const client = new ApiClient({
    url: 'http://localhost',
    fetch: async (_url, init) => {
      signals.push(init?.signal);
      return new Response(Buffer.from(toStream({ id: [new Int32(), (row) => row] }, 2)));
    },
  });
  const params = { name: 'find_similar_rows', arguments: { table: 'x', where: 'id = 1' } };
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const reply = await createMcp({
    release: '1',
    writes: false,
    limits: testLimits().mcp,
    onFailure: assert.ifError,
  }).handle({
    request: new Request('http://localhost/mcp', { method: 'POST', headers }),
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    caller: { id: 'key:x', kind: 'key', grants: [] },
    client,
  });
  const { value } = (await reply.body?.getReader().read()) ?? assert.fail('no reply');
  assert.equal(signals[0]?.aborted, true);
  assert.match(Buffer.from(value ?? []).toString(), /no vector column/);
});
