import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopback } from '../../src/model/address.ts';

test('knows the hosts that reach this machine only', () => {
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.9.8.7', '::1', '[::1]', '0:0:0:0:0:0:0:1']) {
    assert.equal(isLoopback(host), true, host);
  }
});

test('takes every other host for reachable', () => {
  const hosts = ['0.0.0.0', '::', '10.0.0.1', '127.example.com', '127.0.0.1.example.com', 'localhost.example.com', ''];
  for (const host of hosts) assert.equal(isLoopback(host), false, host);
});
