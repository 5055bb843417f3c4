import assert from 'node:assert/strict';
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
