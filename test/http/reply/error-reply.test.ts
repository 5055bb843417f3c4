import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Compile } from 'typebox/compile';
import { ERROR_KINDS, STATUS_TEXTS, ServiceError } from '../../../src/errors/service-error.ts';
import type { ErrorName } from '../../../src/errors/service-error.ts';
import { toErrorReply, toPublicError } from '../../../src/http/reply/error-reply.ts';
import { ErrorBody } from '../../../src/wire/shapes.ts';

const CONTEXT = { path: '/v1/table/a/update', dialect: 'lance', requestId: 'r1' } as const;
const KINDS = Object.keys(ERROR_KINDS) as ErrorName[];

function replyTo(error: ServiceError, context: Parameters<typeof toErrorReply>[1] = CONTEXT) {
  const { status, headers, body } = toErrorReply(error, context);
  return { status, headers, body: JSON.parse(body) as ErrorBody };
}

test('gives every refusal a whole error body that agrees with its status', () => {
  const shape = Compile(ErrorBody);
  for (const kind of KINDS) {
    const { body } = replyTo(new ServiceError(kind, 'Wrong.', { hint: 'Right.' }));
    assert.ok(shape.Check(body), kind);
    assert.deepEqual(body, {
      ...STATUS_TEXTS[ERROR_KINDS[kind].status],
      status: ERROR_KINDS[kind].status,
      detail: 'Wrong. Right.',
      instance: '/v1/table/a/update',
      code: ERROR_KINDS[kind].code,
      error: 'Wrong.',
    });
  }
});

test('words the statuses of the contract as the contract does', () => {
  const words = (kind: ErrorName): readonly unknown[] => {
    const { status, body } = replyTo(new ServiceError(kind, ''));
    return [status, body.type, body.title];
  };
  assert.deepEqual(words('InvalidInput'), [400, '/errors/bad-request', 'Malformed request']);
  assert.deepEqual(words('Unauthenticated'), [
    401,
    '/errors/unauthorized-request',
    'No valid authentication credentials for the operation',
  ]);
  assert.deepEqual(words('PermissionDenied'), [
    403,
    '/errors/forbidden-request',
    'Not authorized to make this request',
  ]);
  assert.deepEqual(words('TableNotFound'), [404, '/errors/not-found-error', 'Not found Error']);
  assert.deepEqual(words('TableAlreadyExists'), [
    409,
    '/errors/conflict',
    'The namespace has been concurrently modified',
  ]);
  assert.deepEqual(words('Internal'), [500, '/errors/server-error', 'Internal Server Error']);
  assert.deepEqual(words('Throttling'), [503, '/errors/service-unavailable', 'Slow down']);
});

test('follows the status that the LanceDB client gets', () => {
  const { status, body } = replyTo(new ServiceError('TableAlreadyExists', 'It already exists.'), {
    ...CONTEXT,
    dialect: 'lancedb',
  });
  assert.equal(status, 400);
  assert.equal(body.status, 400);
  assert.equal(body.type, '/errors/bad-request');
  assert.equal(body.code, 5);
  assert.match(body.error, /already exists/);
});

test('challenges a caller without a credential, and no other', () => {
  for (const kind of KINDS) {
    const challenge = replyTo(new ServiceError(kind, '')).headers['www-authenticate'];
    assert.equal(challenge !== undefined, kind === 'Unauthenticated', kind);
  }
});

test('says when to come back exactly where coming back may help', () => {
  for (const kind of KINDS) {
    const after = replyTo(new ServiceError(kind, '')).headers['retry-after'];
    assert.equal(after, ERROR_KINDS[kind].retryable ? '1' : undefined, kind);
  }
  const later = new ServiceError('ServiceUnavailable', '', { retryAfterSeconds: 7 });
  assert.equal(replyTo(later).headers['retry-after'], '7');
});

test('shortens an address of absurd length', () => {
  const { body } = replyTo(new ServiceError('RouteNotFound', ''), {
    ...CONTEXT,
    path: `/${'a'.repeat(30_000)}`,
  });
  assert.equal(body.instance.length, 2048);
});

test('hides the cause of an internal error from the caller', () => {
  const failure = new Error('ENOENT: /srv/data/secret');
  const refusal = toPublicError(failure);
  assert.equal(refusal.kind, 'Internal');
  assert.equal(refusal.cause, failure);
  assert.ok(!JSON.stringify(replyTo(refusal)).includes('secret'));
});

test('passes a refusal on as it is', () => {
  const refusal = new ServiceError('InvalidInput', 'Wrong.');
  assert.equal(toPublicError(refusal), refusal);
});
