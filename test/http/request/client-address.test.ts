import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { createClientAddress } from '../../../src/http/request/client-address.ts';

const PROXIES = ['10.0.0.0/8', '192.0.2.1', 'fd00::/8'];

function addressOf(peer: string, headers: IncomingHttpHeaders, proxies: readonly string[] = PROXIES): string {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: peer });
  return createClientAddress(proxies)({ headers, socket });
}

function forwardedFor(list: string): IncomingHttpHeaders {
  return { 'x-forwarded-for': list };
}

test('is the peer when no proxy is trusted, or the peer is none', () => {
  assert.equal(addressOf('10.0.0.1', forwardedFor('203.0.113.9'), []), '10.0.0.1');
  assert.equal(addressOf('198.51.100.7', forwardedFor('203.0.113.9')), '198.51.100.7');
  assert.equal(addressOf('10.0.0.1', {}), '10.0.0.1');
});

test('is the last address that is no trusted proxy', () => {
  assert.equal(addressOf('10.0.0.1', forwardedFor('203.0.113.9')), '203.0.113.9');
  assert.equal(addressOf('10.0.0.1', forwardedFor('1.2.3.4, 203.0.113.9,10.2.3.4 , 192.0.2.1')), '203.0.113.9');
  assert.equal(addressOf('fd00::1', forwardedFor('1.2.3.4, 2001:DB8::1')), '2001:db8::1');
  assert.equal(addressOf('10.0.0.1', forwardedFor('10.0.0.3, 10.0.0.2')), '10.0.0.3');
});

test('stops before what is no address', () => {
  for (const list of ['unknown', '', '1.2.3.4, x', '203.0.113.9, 1.2.3.4.5', '_hidden, 10.0.0.1, ']) {
    assert.equal(addressOf('10.0.0.1', forwardedFor(list)), '10.0.0.1', list);
  }
});

test('is the same however it is written', () => {
  assert.equal(addressOf('::ffff:10.0.0.1', forwardedFor('::ffff:203.0.113.9')), '203.0.113.9');
  assert.equal(addressOf('10.0.0.1', forwardedFor('203.0.113.9:4711')), '203.0.113.9');
  assert.equal(addressOf('10.0.0.1', forwardedFor('[2001:db8::1]:4711')), '2001:db8::1');
});

test('is read from Forwarded where there is no X-Forwarded-For', () => {
  const forwarded = 'for=1.2.3.4, for="[2001:db8::1]:80";proto=https;by=10.0.0.3, proto=http;For=10.0.0.2';
  assert.equal(addressOf('10.0.0.1', { forwarded }), '2001:db8::1');
  assert.equal(addressOf('10.0.0.1', { forwarded: 'proto=https' }), '10.0.0.1');
  assert.equal(addressOf('10.0.0.1', { forwarded: 'for=1.2.3.4', 'x-forwarded-for': '203.0.113.9' }), '203.0.113.9');
});
