import assert from 'node:assert/strict';
import { openArrowStream } from '../../../src/arrow/stream/checked-stream.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { ErrorName } from '../../../src/errors/service-error.ts';
import type { ArrowLimits } from '../../../src/model/limits.ts';
import { ARROW_LIMITS, whole } from '../../support/arrow-fixtures.ts';

/** Reads a stream to its end, whatever comes of it. */
export async function drain(source: AsyncIterable<Uint8Array>, limits: ArrowLimits = ARROW_LIMITS): Promise<number> {
  const { chunks } = await openArrowStream(source, limits);
  let rows = 0;
  for await (const chunk of chunks) {
    rows += chunk.rows;
    chunk.release();
  }
  return rows;
}

export interface Refusal {
  readonly kind?: ErrorName;
  readonly says: RegExp;
  readonly limits?: Partial<ArrowLimits>;
}

/** A refusal is a `ServiceError`, of the right kind, whose text for the caller says what was wrong. */
export async function assertRefused(
  bytes: Uint8Array,
  { kind = 'InvalidInput', says, limits }: Refusal,
): Promise<void> {
  const error = await refusalOf(bytes, { ...ARROW_LIMITS, ...limits });
  assert.equal(error.kind, kind, error.detail);
  assert.match(error.detail, says);
}

export async function refusalOf(bytes: Uint8Array, limits: ArrowLimits = ARROW_LIMITS): Promise<ServiceError> {
  try {
    await drain(whole(bytes), limits);
  } catch (error) {
    assert.ok(error instanceof ServiceError, `not a refusal: ${String(error)}`);
    return error;
  }
  return assert.fail('the stream was accepted');
}
