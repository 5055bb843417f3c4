import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReach } from '../../src/events/public-address.ts';

test('public addresses may be reached, others not', () => {
  const mayReach = createReach([]);
  for (const address of ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946', '::ffff:93.184.216.34']) {
    assert.ok(mayReach(address), address);
  }
  for (const address of [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.9.9.9',
    '169.254.169.254',
    '172.31.0.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '::a00:1',
    '::ffff:0:127.0.0.1',
    '::ffff:0:a00:1',
    '64:ff9b::a00:1',
    '2002:a00:1::',
    '3fff:fff::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    'example.com',
    '',
  ]) {
    assert.ok(!mayReach(address), address);
  }
});

test('a private network that an operator allows may be reached, and no other', () => {
  const mayReach = createReach(['10.1.0.0/16', '::1']);
  assert.ok(mayReach('10.1.200.3') && mayReach('::1') && mayReach('::ffff:10.1.0.1'));
  assert.ok(!mayReach('10.2.0.1') && !mayReach('127.0.0.1'));
});
