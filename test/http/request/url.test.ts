import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Type } from 'typebox';
import { readQueryValues, decodePlusSigns } from '../../../src/http/request/url.ts';
import { CreateTableQuery } from '../../../src/wire/tables.ts';
import { refusalOf } from '../../support/refusal.ts';

const read = (url: string) => readQueryValues(url, CreateTableQuery, 'lance').query;

test('reads the parameters of an address, form-encoded or percent-encoded', () => {
  assert.deepEqual(read('/v1/table/a/create?mode=exist_ok&properties=%7B%22a%22%3A%22b+c%20d%22%7D'), {
    mode: 'exist_ok',
    properties: '{"a":"b c d"}',
  });
  assert.deepEqual(read('/v1/table/a/create'), {});
  assert.deepEqual(read('/v1/table/a/create?'), {});
  assert.deepEqual(read('/x?delimiter='), { delimiter: '' });
  assert.deepEqual(read('/x?mode'), { mode: '' });
});

test('gives back every value that was encoded', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (mode, delimiter) => {
      const text = new URLSearchParams({ mode, delimiter }).toString();
      assert.deepEqual(read(`/x?${text}`), { mode, delimiter });
    }),
  );
});

test('refuses a parameter that the operation does not know', () => {
  const refusal = refusalOf(() => read('/x?moed=create'));
  assert.equal(refusal.message, 'The query parameter "moed" is unknown.');
  assert.equal(refusal.hint, 'The query parameters are delimiter, mode, properties, storage_options.');
  assert.equal(refusalOf(() => read('/x?__proto__=1')).kind, 'InvalidInput');
  assert.equal(refusalOf(() => read('/x?constructor=1')).kind, 'InvalidInput');
});

test('ignores a parameter that only newer LanceDB clients send', () => {
  assert.deepEqual(readQueryValues('/x/?newer=1&mode=create', CreateTableQuery, 'lancedb').query, { mode: 'create' });
});

test('collects a parameter whose shape is an array, in order, however often it comes', () => {
  const shape = Type.Object({ on: Type.Optional(Type.Array(Type.String())), mode: Type.Optional(Type.String()) });
  const { query, queryLists } = readQueryValues('/x?on=a&mode=m&on=b&on=a', shape, 'lance');
  assert.deepEqual(query, { mode: 'm' });
  assert.deepEqual(queryLists, { on: ['a', 'b', 'a'] });
});

test('refuses a parameter given twice, also in another spelling', () => {
  for (const url of ['/x?mode=create&mode=create', '/x?mode=&mode=', '/x?mode=a&%6dode=b']) {
    assert.equal(refusalOf(() => read(url)).message, 'The query parameter mode is given twice.');
  }
});

test('refuses escapes that are cut off or no UTF-8 instead of guessing', () => {
  for (const value of ['%', '%4', '%zz', '%ff', '%c3', '%ed%a0%80']) {
    const refusal = refusalOf(() => read(`/x?mode=${value}`));
    assert.equal(refusal.message, 'The query of the URL is not valid percent-encoded UTF-8.');
  }
});

test('a plus sign in the path of a client without a name is a space', () => {
  const url = '/v1/table/a+b%2Bc/describe?delimiter=%2B&x=1+2?3';
  assert.equal(decodePlusSigns({ url, headers: {} }), '/v1/table/a%20b%2Bc/describe?delimiter=%2B&x=1+2?3');
});

test('a plus sign in the path of any other client is a plus sign', () => {
  const url = '/v1/table/a+b/describe';
  assert.equal(decodePlusSigns({ url, headers: { 'user-agent': 'curl/8' } }), url);
});
