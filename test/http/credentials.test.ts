import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  hasCredential,
  readHeaderCredentials,
  readIdentity,
  refuseDoubledHeaders,
} from '../../src/http/credentials.ts';
import { refusalOf } from '../support/refusal.ts';
import { incomingMessage } from './incoming-message.ts';

const NONE = { apiKey: undefined, bearer: undefined };

test('reads the API key and the bearer token of the headers', () => {
  const read = (name: string, value: string) => readHeaderCredentials(incomingMessage([[name, value]]));
  assert.deepEqual(read('X-Api-Key', 'k'), { apiKey: 'k', bearer: undefined });
  assert.deepEqual(read('Authorization', 'Bearer t'), { apiKey: undefined, bearer: 't' });
  assert.deepEqual(read('Authorization', 'bEARER   a.b.c  '), { apiKey: undefined, bearer: 'a.b.c' });
});

test('reads both credentials when both are sent, for the authenticator to refuse', () => {
  const message = incomingMessage([
    ['x-api-key', 'k'],
    ['authorization', 'Bearer t'],
  ]);
  assert.deepEqual(readHeaderCredentials(message), { apiKey: 'k', bearer: 't' });
});

test('takes an empty header for one that was not sent', () => {
  const message = incomingMessage([
    ['x-api-key', ''],
    ['authorization', ''],
  ]);
  assert.deepEqual(readHeaderCredentials(message), NONE);
  assert.equal(hasCredential(NONE), false);
});

test('refuses an Authorization header of any other form', () => {
  for (const header of ['Basic dXNlcjpwYXNz', 'Bearer', 'Bearer ', 'Bearer a b', 'Bearera', 'a', ' Bearer a']) {
    const refusal = refusalOf(() => readHeaderCredentials(incomingMessage([['authorization', header]])));
    assert.equal(refusal.kind, 'Unauthenticated');
    assert.ok(!refusal.detail.includes('dXNlcjpwYXNz'));
  }
});

test('reads the identity of a body', () => {
  assert.deepEqual(readIdentity({ identity: { api_key: 'k' } }), { apiKey: 'k', bearer: undefined });
  assert.deepEqual(readIdentity({ identity: { auth_token: 't' } }), { apiKey: undefined, bearer: 't' });
  assert.equal(hasCredential(readIdentity({ identity: { auth_token: 't' } })), true);
});

test('finds no credential in an identity of another form', () => {
  for (const identity of [undefined, null, 'k', 7, [], {}, { api_key: 7, auth_token: ['t'] }]) {
    assert.deepEqual(readIdentity({ identity }), NONE);
  }
});

test('refuses headers that may not come twice', () => {
  for (const name of [
    'authorization',
    'x-api-key',
    'x-service-database',
    'x-lancedb-database',
    'host',
    'content-type',
  ]) {
    const doubled = incomingMessage([
      [name, 'a'],
      ['accept', 'b'],
      [name.toUpperCase(), 'a'],
    ]);
    assert.equal(refusalOf(() => refuseDoubledHeaders(doubled)).message, `The header ${name} is given twice.`);
  }
});

test('takes other headers as often as they come', () => {
  const message = incomingMessage([
    ['accept', 'a'],
    ['accept', 'b'],
    ['x-api-key', 'k'],
    ['host', 'h'],
  ]);
  refuseDoubledHeaders(message);
});
