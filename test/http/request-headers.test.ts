import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headerReader } from '../../src/http/request-headers.ts';
import { incomingMessage } from './incoming-message.ts';

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

test('lets no context stand in for credentials, the database or how bytes travel', () => {
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
