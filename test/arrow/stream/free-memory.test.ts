import assert from 'node:assert/strict';
import test from 'node:test';
import { freeMemory } from '../../../src/arrow/stream/buffer-pool.ts';

test('the memory of a piece that has it for itself is freed at once', () => {
  const piece = Buffer.allocUnsafeSlow(64 * 1024);
  const before = process.memoryUsage().arrayBuffers;
  freeMemory(piece);
  assert.equal(piece.length, 0);
  assert.ok(process.memoryUsage().arrayBuffers <= before - 64 * 1024);
});

test('memory that a piece shares with others is left alone', () => {
  const whole = Buffer.alloc(64 * 1024, 7);
  freeMemory(whole.subarray(0, 32 * 1024));
  freeMemory(whole.subarray(32 * 1024));
  assert.equal(whole.length, 64 * 1024);
  assert.ok(whole.every((byte) => byte === 7));
});

test('small pieces are left to the garbage collector', () => {
  const piece = Buffer.allocUnsafeSlow(1024);
  freeMemory(piece);
  assert.equal(piece.length, 1024);
});
