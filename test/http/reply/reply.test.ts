import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commonHeaders, toJsonReply, toHttpReply } from '../../../src/http/reply/reply.ts';

test('repeats every header of a reply in the context of its object', () => {
  const reply = toHttpReply({ kind: 'object', body: { version: 3 }, headers: { 'x-lancedb-version': '3' } }, 'r1');
  assert.equal(reply.status, 200);
  assert.ok(typeof reply.body === 'string');
  const { version, context } = JSON.parse(reply.body) as { version: number; context: Record<string, string> };
  assert.equal(version, 3);
  const expected = Object.entries(reply.headers).map(([name, value]) => [`header.${name}`, value]);
  assert.deepEqual(context, Object.fromEntries(expected));
  assert.equal(context['header.x-request-id'], 'r1');
  assert.equal(context['header.x-lancedb-version'], '3');
  assert.equal(context['header.content-type'], 'application/json; charset=utf-8');
});

test('says which protocol it speaks, and that nothing may be kept or guessed', () => {
  assert.deepEqual(commonHeaders('r1'), {
    'x-request-id': 'r1',
    'phalanx-version': '0.4.0',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
});

test('sends a value as JSON and a text as it is', () => {
  const value = toHttpReply({ kind: 'value', value: 'a "plan"\n' }, 'r1');
  assert.equal(value.body, '"a \\"plan\\"\\n"');
  assert.equal(value.headers['content-type'], 'application/json; charset=utf-8');
  const text = toHttpReply({ kind: 'text', text: 'a "plan"\n' }, 'r1');
  assert.equal(text.body, 'a "plan"\n');
  assert.equal(text.headers['content-type'], 'text/plain; charset=utf-8');
});

test('hands on the bytes of a stream as they are, and gives an empty reply the type of text', () => {
  const pieces = (async function* () {
    yield Uint8Array.of(1);
  })();
  const stream = toHttpReply({ kind: 'stream', mediaType: 'application/x-ndjson', pieces, status: 200 }, 'r1');
  assert.equal(stream.body, pieces);
  assert.equal(stream.headers['content-type'], 'application/x-ndjson');
  const empty = toHttpReply({ kind: 'empty', status: 202 }, 'r1');
  assert.deepEqual([empty.status, empty.body, empty.headers['content-type']], [202, '', 'text/plain; charset=utf-8']);
});

test('keeps the media type that an operation chose', () => {
  const reply = toHttpReply({ kind: 'object', body: {}, mediaType: 'application/vnd.tiltyard.plan+json' }, 'r1');
  assert.equal(reply.headers['content-type'], 'application/vnd.tiltyard.plan+json; charset=utf-8');
});

test('sends a refusal as JSON with the headers that it was given', () => {
  const reply = toJsonReply(503, { 'retry-after': '1' }, { code: 17 });
  assert.deepEqual(reply, {
    status: 503,
    headers: { 'retry-after': '1', 'content-type': 'application/json; charset=utf-8' },
    body: '{"code":17}',
  });
});
