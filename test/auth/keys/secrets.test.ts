import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { digestSecret, isApiKey, generateApiKey } from '../../../src/auth/keys/secrets.ts';

test('generates keys of 32 random bytes after a prefix', () => {
  const { key } = generateApiKey();
  assert.match(key, /^ty_[A-Za-z0-9_-]{43}$/);
  assert.equal(Buffer.from(key.slice(3), 'base64url').length, 32);
});

test('never generates the same key twice', () => {
  const keys = new Set(Array.from({ length: 1000 }, () => generateApiKey().key));
  assert.equal(keys.size, 1000);
});

test('gives the SHA-256 of the whole key in hex as its digest', () => {
  const { key, digest } = generateApiKey();
  assert.equal(digest, createHash('sha256').update(key).digest('hex'));
  assert.equal(digestSecret('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('distinguishes a key from an access token', () => {
  assert.equal(isApiKey(generateApiKey().key), true);
  assert.equal(isApiKey('eyJhbGciOiJSUzI1NiJ9.e30.c2ln'), false);
});
