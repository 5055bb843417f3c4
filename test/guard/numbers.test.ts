import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/errors/service-error.ts';
import { guardVectors, requireFinite, requireInteger } from '../../src/guard/numbers.ts';
import { queryLimits } from './limits.ts';

const RULE = { field: 'k', minimum: 0, maximum: 100 };

describe('requireInteger', () => {
  it('gives back whole numbers up to both bounds', () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 100 }), (value) => requireInteger(value, RULE) === value));
  });

  it('refuses what is not a whole number within the bounds', () => {
    const outside = fc.double().filter((value) => !(Number.isInteger(value) && value >= 0 && value <= 100));
    fc.assert(fc.property(outside, (value) => refused(() => requireInteger(value, RULE)) !== undefined));
  });

  it('names the bound that was passed', () => {
    assert.equal(refused(() => requireInteger(101, RULE))?.message, 'k is 101, which is more than 100.');
    assert.equal(refused(() => requireInteger(-1, RULE))?.message, 'k is -1, which is less than 0.');
    assert.equal(refused(() => requireInteger(1.5, RULE))?.message, 'k is 1.5, which is not a whole number.');
    assert.equal(refused(() => requireInteger(Number.NaN, RULE))?.message, 'k is NaN, which is not a whole number.');
    assert.equal(refused(() => requireInteger(7, RULE))?.message, undefined);
    assert.equal(refused(() => requireInteger(101, RULE))?.hint, 'Give a whole number from 0 to 100.');
  });

  it('refuses whole numbers that JSON cannot carry exactly, however high the bound', () => {
    const rule = { ...RULE, maximum: Number.POSITIVE_INFINITY };
    assert.ok(refused(() => requireInteger(2 ** 53, rule)) !== undefined);
  });
});

describe('requireFinite', () => {
  it('gives back finite numbers and refuses the others', () => {
    assert.equal(requireFinite(-1.5, 'lower_bound'), -1.5);
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      assert.match(refused(() => requireFinite(value, 'lower_bound'))?.message ?? '', /^lower_bound is .* finite/);
    }
  });
});

describe('guardVectors', () => {
  it('passes vectors of one dimension, and none', () => {
    guardVectors([], queryLimits);
    guardVectors([[0.5]], queryLimits);
    guardVectors([vector(4096), vector(4096)], queryLimits);
  });

  it('refuses too many vectors', () => {
    assert.match(message(Array.from({ length: 17 }, () => [1])), /number of query vectors is 17, .* more than 16/);
  });

  it('refuses an empty vector and one of too many dimensions', () => {
    assert.match(message([[]]), /number of dimensions of the query vector is 0, which is less than 1/);
    assert.match(message([vector(4097)]), /number of dimensions of the query vector is 4097, which is more than 4,096/);
  });

  it('refuses vectors of different dimensions', () => {
    assert.match(message([[1, 2], [1]]), /^Query vector 1 has 1 dimensions; query vector 0 has 2/);
  });

  it('refuses an element that is not finite in 32 bits', () => {
    assert.match(message([[1, Number.NaN]]), /^Element 1 of query vector 0 is NaN/);
    assert.match(message([[1], [1e39]]), /^Element 0 of query vector 1 is 1e\+39/);
    guardVectors([[3.4e38, -3.4e38, 5e-324]], queryLimits);
  });
});

function vector(length: number): readonly number[] {
  return Array.from({ length }, () => 0);
}

function message(vectors: readonly (readonly number[])[]): string {
  return refused(() => guardVectors(vectors, queryLimits))?.message ?? '';
}

function refused(action: () => unknown): ServiceError | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.kind === 'InvalidInput', String(error));
    return error;
  }
}
