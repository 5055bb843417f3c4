import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodePlusSigns } from '../../src/http/form-encoded-path.ts';

test('a plus sign in the path of a client without a name is a space', () => {
  const url = '/v1/table/a+b%2Bc/describe?delimiter=%2B&x=1+2?3';
  assert.equal(decodePlusSigns({ url, headers: {} }), '/v1/table/a%20b%2Bc/describe?delimiter=%2B&x=1+2?3');
});

test('a plus sign in the path of any other client is a plus sign', () => {
  const url = '/v1/table/a+b/describe';
  assert.equal(decodePlusSigns({ url, headers: { 'user-agent': 'curl/8' } }), url);
});
