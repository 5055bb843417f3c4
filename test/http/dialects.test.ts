import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_KINDS } from '../../src/errors/service-error.ts';
import type { ErrorName } from '../../src/errors/service-error.ts';
import { LANCEDB_PROTOCOL, chooseDialect, statusFor } from '../../src/http/dialects.ts';

test('knows the LanceDB client by the slash at the end of its addresses', () => {
  assert.equal(chooseDialect('/v1/table/a/update/', undefined), 'lancedb');
  assert.equal(chooseDialect('/v1/table/a/update', undefined), 'lance');
  assert.equal(chooseDialect('/', undefined), 'lance');
  assert.equal(chooseDialect('', undefined), 'lance');
});

test('knows the LanceDB client by its name', () => {
  assert.equal(chooseDialect('/v1/tables', 'LanceDB-Node-Client/0.31.0'), 'lancedb');
  assert.equal(chooseDialect('/v1/tables', 'LanceDB-Rust-Client/0.38.0'), 'lancedb');
  assert.equal(chooseDialect('/v1/tables', 'curl/8 LanceDB-Node-Client'), 'lance');
});

test('answers each refusal with the status of the table of codes', () => {
  for (const kind of Object.keys(ERROR_KINDS) as ErrorName[]) {
    assert.equal(statusFor(kind, 'lance'), ERROR_KINDS[kind].status);
  }
});

test('sends the LanceDB client 400 where it would misread 404 or repeat after 409', () => {
  assert.equal(statusFor('TableColumnNotFound', 'lancedb'), 400);
  assert.equal(statusFor('TableAlreadyExists', 'lancedb'), 400);
  assert.equal(statusFor('TableNotFound', 'lancedb'), 404);
  assert.equal(statusFor('ConcurrentModification', 'lancedb'), 503);
});

test('promises the LanceDB client a protocol that it can parse', () => {
  assert.match(LANCEDB_PROTOCOL, /^\d+\.\d+\.\d+$/);
});
