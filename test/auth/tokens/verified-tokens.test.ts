import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VerifiedTokens } from '../../../src/auth/tokens/token-verifier.ts';

const NOW = 1_000_000;

function tokenUntil(expiresAt: number) {
  return { callerId: 'token:https://a#b', grants: [], expiresAt };
}

test('gives a verified token back for a minute', () => {
  const tokens = new VerifiedTokens();
  const verified = tokenUntil(NOW + 3_600_000);
  tokens.keep('digest', verified, NOW);
  assert.equal(tokens.find('digest', NOW + 59_999), verified);
  assert.equal(tokens.find('digest', NOW + 60_000), undefined);
});

test('gives a verified token back no longer than it is valid', () => {
  const tokens = new VerifiedTokens();
  tokens.keep('digest', tokenUntil(NOW + 10), NOW);
  assert.notEqual(tokens.find('digest', NOW + 9), undefined);
  assert.equal(tokens.find('digest', NOW + 10), undefined);
});

test('knows nothing of other tokens', () => {
  const tokens = new VerifiedTokens();
  tokens.keep('digest', tokenUntil(NOW + 10), NOW);
  assert.equal(tokens.find('other', NOW), undefined);
});

test('keeps 10,000 tokens and lets the oldest go', () => {
  const tokens = new VerifiedTokens();
  for (let index = 0; index <= 10_000; index += 1) tokens.keep(`digest ${index}`, tokenUntil(NOW + 10), NOW);
  assert.equal(tokens.find('digest 0', NOW), undefined);
  assert.notEqual(tokens.find('digest 1', NOW), undefined);
  assert.notEqual(tokens.find('digest 10000', NOW), undefined);
});

test('loses no other token when one is kept again', () => {
  const tokens = new VerifiedTokens();
  for (let index = 0; index < 10_000; index += 1) tokens.keep(`digest ${index}`, tokenUntil(NOW + 10), NOW);
  tokens.keep('digest 5000', tokenUntil(NOW + 10), NOW);
  assert.notEqual(tokens.find('digest 0', NOW), undefined);
});
