import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createAuthenticator } from '../../src/auth/authenticator.ts';
import { checkIssuerSettings } from '../../src/auth/settings.ts';
import { SIGNATURE_ALGORITHMS } from '../../src/model/access.ts';
import { issuerOf, lookupOf, settingsFor } from './trial.ts';

const GOOD = issuerOf({ issuer: 'https://login.example.test/tenant', audience: 'tables' });
const ADDRESS_RULE = 'must be https, or http on loopback, without user name and fragment.';

suite('issuer settings', () => {
  for (const issuer of ['http://127.0.0.1:8080', 'http://127.9.9.9', 'http://localhost:1', 'http://[::1]:9/realm/']) {
    test(`accepts ${issuer}, which does not leave the machine`, () => {
      assert.deepEqual(checkIssuerSettings({ ...GOOD, issuer }), []);
    });
  }

  for (const address of [
    'http://login.example.test',
    'http://127.0.0.1.example.test',
    'http://localhost.example.test',
    'http://0.0.0.0',
    'http://10.0.0.1',
    'http://[::2]',
    'ftp://login.example.test',
    'file:///etc/passwd',
    'data:application/json,{}',
    'login.example.test',
    '',
    'https://name:password@login.example.test',
    'https://login.example.test/#part',
    'https://login.example.test/#',
  ]) {
    test(`refuses ${JSON.stringify(address)} as issuer and as key set address`, () => {
      assert.deepEqual(checkIssuerSettings({ ...GOOD, issuer: address }), [`The issuer's address ${ADDRESS_RULE}`]);
      assert.deepEqual(checkIssuerSettings({ ...GOOD, keySetUrl: address }), [`The key set's address ${ADDRESS_RULE}`]);
    });
  }

  test('refuses a query in the issuer but not in the key set address', () => {
    const address = 'https://login.example.test/keys?policy=a';
    assert.deepEqual(checkIssuerSettings({ ...GOOD, issuer: address }), [
      "The issuer's address must not have a query.",
    ]);
    assert.deepEqual(checkIssuerSettings({ ...GOOD, keySetUrl: address }), []);
  });

  test('accepts every asymmetric algorithm', () => {
    assert.deepEqual(checkIssuerSettings({ ...GOOD, algorithms: SIGNATURE_ALGORITHMS }), []);
  });

  for (const algorithm of ['none', 'None', 'HS256', 'HS384', 'HS512', 'rs256', 'RSA-OAEP', '', 'toString']) {
    test(`refuses the algorithm ${JSON.stringify(algorithm)}, even beside a good one`, () => {
      const faults = checkIssuerSettings({ ...GOOD, algorithms: ['RS256', algorithm] });
      assert.equal(faults.length, 1);
      assert.ok(faults[0]?.startsWith(`The algorithm ${JSON.stringify(algorithm)} is not one of RS256,`));
    });
  }

  test('reports every fault at once', () => {
    const grant = { role: 'reader', database: undefined, path: [] } as const;
    const faults = checkIssuerSettings({
      issuer: 'http://login.example.test',
      audience: '',
      algorithms: [],
      subjectClaim: '',
      grants: [
        { claim: 'groups', value: '', grant },
        { claim: 'groups', value: 'readers', grant },
      ],
    });
    assert.deepEqual(faults, [
      `The issuer's address ${ADDRESS_RULE}`,
      'No signature algorithm is allowed.',
      'The audience is empty.',
      'The subject claim is empty.',
      'A grant by claim has an empty claim or value.',
    ]);
  });

  test('refuse an authenticator when they are not safe', () => {
    const settings = settingsFor([{ ...GOOD, algorithms: ['HS256'] }]);
    assert.throws(() => createAuthenticator(settings, lookupOf(), Date.now), /The algorithm "HS256" is not one of/);
  });

  test('refuse an authenticator when two issuers have one address', () => {
    const settings = settingsFor([GOOD, { ...GOOD, audience: 'other' }]);
    assert.throws(() => createAuthenticator(settings, lookupOf(), Date.now), /Two issuers have the same address/);
  });
});
