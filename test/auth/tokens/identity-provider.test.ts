import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discoveryAddress, isKeySetAddressOf } from '../../../src/auth/tokens/identity-provider.ts';

test('finds the discovery document below the issuer, whether or not it ends with a slash', () => {
  const expected = 'https://login.example.test/realm/.well-known/openid-configuration';
  assert.equal(discoveryAddress('https://login.example.test/realm'), expected);
  assert.equal(discoveryAddress('https://login.example.test/realm/'), expected);
});

test('lets a provider elsewhere name a key set on another host, but not on this machine over http', () => {
  const issuer = 'https://login.example.test';
  assert.equal(isKeySetAddressOf(issuer, 'https://keys.example.test/keys'), true);
  assert.equal(isKeySetAddressOf(issuer, 'http://127.0.0.1:9000/keys'), false);
  assert.equal(isKeySetAddressOf(issuer, 'http://keys.example.test/keys'), false);
});

test('lets a provider on this machine name a key set on this machine', () => {
  assert.equal(isKeySetAddressOf('http://localhost:9000', 'http://127.0.0.1:9000/keys'), true);
});
