import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  hasCredential,
  readHeaderCredentials,
  readIdentity,
  refuseDoubledHeaders,
  readDatabaseName,
  readPrefix,
  headerReader,
} from '../../../src/http/request/headers.ts';
import { refusalOf } from '../../support/refusal.ts';
import { incomingMessage } from '../incoming-message.ts';

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

test('treats an empty header as absent', () => {
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

const SUFFIX = 'tables.example.com';

function read(headers: Readonly<Record<string, string>>, suffix: string | undefined = SUFFIX): string {
  return readDatabaseName(incomingMessage(Object.entries(headers)), suffix);
}

test('is the default database when nothing names one', () => {
  assert.equal(read({}), 'default');
  assert.equal(read({ host: 'localhost:2333' }), 'default');
  assert.equal(read({ host: SUFFIX }), 'default');
  assert.equal(readDatabaseName(incomingMessage([['host', `sales.${SUFFIX}`]]), undefined), 'default');
});

test('is the one that either header names', () => {
  assert.equal(read({ 'x-service-database': 'sales' }), 'sales');
  assert.equal(read({ 'x-lancedb-database': 'Sales 2' }), 'Sales 2');
  assert.equal(read({ 'x-service-database': 'sales', 'x-lancedb-database': 'sales' }), 'sales');
  assert.equal(read({ 'x-service-database': '', 'x-lancedb-database': 'sales' }), 'sales');
});

test('is read as UTF-8, or as Latin-1 where it is not valid UTF-8', () => {
  const sent = Buffer.from('é漢字').toString('latin1');
  assert.equal(read({ 'x-service-database': sent, 'x-lancedb-database': sent }), 'é漢字');
  assert.equal(read({ 'x-service-database': '\u00e9' }), 'é');
  const message = incomingMessage([['x-lancedb-database-prefix', `${sent}/b`]]);
  assert.deepEqual(readPrefix(message, '$'), ['é漢字', 'b']);
});

test('is the name in front of the configured host suffix', () => {
  assert.equal(read({ host: `sales.${SUFFIX}` }), 'sales');
  assert.equal(read({ host: `SALES.Tables.Example.COM:8443` }), 'sales');
  assert.equal(read({ host: `sales.${SUFFIX}` }, 'Tables.Example.Com'), 'sales');
  assert.equal(read({ host: `salestables.example.com` }), 'default');
});

test('never takes a longer host name for the default database', () => {
  assert.equal(read({ host: `a.b.${SUFFIX}` }), 'a.b');
  assert.equal(read({ host: `.${SUFFIX}` }), '');
});

test('refuses names that contradict each other', () => {
  const contradictions = [
    { 'x-service-database': 'a', 'x-lancedb-database': 'b' },
    { 'x-service-database': 'a', host: `b.${SUFFIX}` },
    { 'x-lancedb-database': 'default', host: `b.${SUFFIX}` },
  ];
  for (const headers of contradictions) {
    const refusal = refusalOf(() => read(headers));
    assert.equal(refusal.kind, 'InvalidInput');
    assert.equal(refusal.message, 'The headers and the host name give different databases.');
  }
  assert.equal(read({ 'x-service-database': 'b', host: `b.${SUFFIX}` }), 'b');
});

test('reads a header that was sent', () => {
  const header = headerReader(incomingMessage([['Accept', 'text/plain']]), undefined);
  assert.equal(header('accept'), 'text/plain');
  assert.equal(header('x-other'), undefined);
});

test('reads an entry of the context for a header that was not sent', () => {
  const header = headerReader(incomingMessage([]), { 'header.Accept': 'text/plain', 'HEADER.x-a': 'b', accept: 'c' });
  assert.equal(header('accept'), 'text/plain');
  assert.equal(header('x-a'), 'b');
});

test('prefers what was sent, even when it is empty', () => {
  const header = headerReader(incomingMessage([['accept', '']]), { 'header.accept': 'text/plain' });
  assert.equal(header('accept'), '');
});

test('lets no context replace credentials, the database or framing', () => {
  const names = [
    'authorization',
    'x-api-key',
    'x-service-database',
    'x-lancedb-database',
    'host',
    'cookie',
    'connection',
    'proxy-authorization',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'content-length',
    'content-type',
    'content-encoding',
  ];
  const context = Object.fromEntries(names.map((name) => [`header.${name.toUpperCase()}`, 'x']));
  const header = headerReader(incomingMessage([]), context);
  for (const name of names) assert.equal(header(name), undefined, name);
});

test('ignores a context, or an entry of it, that is no text', () => {
  for (const context of [undefined, null, 'header.accept', 7, ['header.accept']]) {
    assert.equal(headerReader(incomingMessage([]), context)('accept'), undefined);
  }
  const header = headerReader(incomingMessage([]), { 'header.accept': 7, 'header.': 'x', 'header.__proto__': 'y' });
  assert.equal(header('accept'), undefined);
});

test('joins a header that came several times', () => {
  const message = incomingMessage([]);
  message.headers['x-many'] = ['a', 'b'];
  assert.equal(headerReader(message, undefined)('x-many'), 'a, b');
});
