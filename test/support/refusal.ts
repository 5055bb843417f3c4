import assert from 'node:assert/strict';
import type { ErrorName } from '../../src/errors/service-error.ts';
import { ServiceError } from '../../src/errors/service-error.ts';

/** The refusal that `action` ends in; anything else fails the test. */
export function refusalOf(action: () => unknown): ServiceError {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof ServiceError, `not a refusal: ${String(error)}`);
    return error;
  }
  return assert.fail('nothing was refused');
}

/** Of a refusal; anything else fails the test. */
export function kindOf(error: unknown): ErrorName {
  assert.ok(error instanceof ServiceError, `not a refusal: ${String(error)}`);
  return error.kind;
}

/** For `assert.rejects`: a refusal of this kind, whose sentence or hint has these words. */
export function refusal(kind: ErrorName, words = /./): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError, `not a refusal: ${String(error)}`);
    assert.equal(error.kind, kind, error.message);
    assert.match(`${error.message} ${error.hint ?? ''}`, words);
    return true;
  };
}
