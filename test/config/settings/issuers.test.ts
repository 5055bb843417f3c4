import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readIssuers } from '../../../src/config/settings/issuers.ts';

const smallest = { issuer: 'https://id.example.com', audience: 'tiltyard' };

function faultsOf(value: unknown): string {
  const reading = readIssuers(value);
  return 'faults' in reading ? reading.faults.join('\n') : '';
}

test('fills in algorithms, subject claim and grants', () => {
  assert.deepEqual(readIssuers([smallest]), {
    value: [{ ...smallest, algorithms: ['RS256', 'ES256', 'EdDSA', 'PS256'], subjectClaim: 'sub', grants: [] }],
  });
});

test('turns the grants of a file into grants of the model', () => {
  const grants = [
    { claim: 'groups', value: 'ops', role: 'admin' },
    { claim: 'groups', value: 'sales', role: 'writer', database: 'shop', path: 'eu$orders' },
  ];
  const reading = readIssuers([{ ...smallest, keySetUrl: 'https://id.example.com/keys', grants }]);
  assert.ok('value' in reading);
  assert.equal(reading.value[0]?.keySetUrl, 'https://id.example.com/keys');
  assert.deepEqual(reading.value[0]?.grants, [
    { claim: 'groups', value: 'ops', grant: { role: 'admin', database: undefined, path: [] } },
    { claim: 'groups', value: 'sales', grant: { role: 'writer', database: 'shop', path: ['eu', 'orders'] } },
  ]);
});

test('takes http on a loopback host only', () => {
  for (const issuer of ['http://127.0.0.1:8080', 'http://localhost:8080/realm', 'http://[::1]:1']) {
    assert.equal(faultsOf([{ ...smallest, issuer }]), '', issuer);
  }
  const unsafe = [
    'http://id.example.com',
    'ftp://127.0.0.1',
    'id.example.com',
    'https://u:p@id.example.com',
    'https://a.b/#c',
  ];
  for (const issuer of unsafe)
    assert.match(faultsOf([{ ...smallest, issuer }]), /issuer must be an https address/, issuer);
  assert.match(faultsOf([{ ...smallest, keySetUrl: 'http://id.example.com/keys' }]), /keySetUrl must be an https/);
});

test('takes a query in the address of a key set, not in that of an issuer', () => {
  assert.equal(faultsOf([{ ...smallest, keySetUrl: 'https://id.example.com/keys?a=b' }]), '');
  assert.match(faultsOf([{ ...smallest, issuer: 'https://id.example.com?a=b' }]), /issuer must not have a query/);
});

test('refuses algorithms without a key pair', () => {
  for (const algorithm of ['HS256', 'none', 'rs256', 7]) {
    assert.match(faultsOf([{ ...smallest, algorithms: [algorithm] }]), /\[0\]\.algorithms must be/);
  }
  assert.match(faultsOf([{ ...smallest, algorithms: [] }]), /\[0\]\.algorithms must be/);
});

test('names every fault at once, with its path', () => {
  const grants = [{ claim: '', value: 1, role: 'king', path: 'a', extra: 1 }, { database: 'a/b' }, 'x'];
  const faults = faultsOf([{ issuer: 'https://a.example.com', grants, kids: 3 }, 5]);
  const expected = [
    /^\[0\] has no key "kids"/m,
    /^\[0\]\.audience is missing/m,
    /^\[0\]\.grants\[0\]\.claim must be a non-empty string/m,
    /^\[0\]\.grants\[0\]\.value must be a non-empty string/m,
    /^\[0\]\.grants\[0\]\.role must be one of reader, writer, owner, admin/m,
    /^\[0\]\.grants\[0\]\.path needs a database/m,
    /^\[0\]\.grants\[0\] has no key "extra"/m,
    /^\[0\]\.grants\[1\]\.database is not valid: The name "a\/b" contains/m,
    /^\[0\]\.grants\[2\] must be an object/m,
    /^\[1\] must be an object, not 5/m,
  ];
  for (const each of expected) assert.match(faults, each);
});

test('refuses the same issuer twice', () => {
  assert.match(faultsOf([smallest, smallest]), /twice/);
});

test('never throws, whatever the JSON is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const reading = readIssuers(value);
      assert.ok('value' in reading || reading.faults.length > 0);
    }),
  );
});
