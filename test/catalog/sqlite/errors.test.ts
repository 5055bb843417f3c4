import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'libsql';
import { isBusy, translateSqliteError } from '../../../src/catalog/sqlite/errors.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';

/** https://www.sqlite.org/rescode.html: every primary code of an error, and some extended ones. */
const CODES: readonly (readonly [
  name: string,
  code: number,
  kind: 'ServiceUnavailable' | 'ConcurrentModification' | 'Internal',
])[] = [
  ['SQLITE_ERROR', 1, 'Internal'],
  ['SQLITE_INTERNAL', 2, 'Internal'],
  ['SQLITE_PERM', 3, 'ServiceUnavailable'],
  ['SQLITE_ABORT', 4, 'Internal'],
  ['SQLITE_BUSY', 5, 'ServiceUnavailable'],
  ['SQLITE_BUSY_RECOVERY', 261, 'ServiceUnavailable'],
  ['SQLITE_BUSY_SNAPSHOT', 517, 'ServiceUnavailable'],
  ['SQLITE_LOCKED', 6, 'ServiceUnavailable'],
  ['SQLITE_NOMEM', 7, 'ServiceUnavailable'],
  ['SQLITE_READONLY', 8, 'ServiceUnavailable'],
  ['SQLITE_READONLY_DBMOVED', 1032, 'ServiceUnavailable'],
  ['SQLITE_INTERRUPT', 9, 'ServiceUnavailable'],
  ['SQLITE_IOERR', 10, 'ServiceUnavailable'],
  ['SQLITE_IOERR_WRITE', 778, 'ServiceUnavailable'],
  ['SQLITE_IOERR_FSYNC', 1034, 'ServiceUnavailable'],
  ['SQLITE_CORRUPT', 11, 'Internal'],
  ['SQLITE_NOTFOUND', 12, 'Internal'],
  ['SQLITE_FULL', 13, 'ServiceUnavailable'],
  ['SQLITE_CANTOPEN', 14, 'ServiceUnavailable'],
  ['SQLITE_PROTOCOL', 15, 'ServiceUnavailable'],
  ['SQLITE_SCHEMA', 17, 'Internal'],
  ['SQLITE_TOOBIG', 18, 'Internal'],
  ['SQLITE_CONSTRAINT', 19, 'Internal'],
  ['SQLITE_CONSTRAINT_FOREIGNKEY', 787, 'ConcurrentModification'],
  ['SQLITE_MISMATCH', 20, 'Internal'],
  ['SQLITE_MISUSE', 21, 'Internal'],
  ['SQLITE_NOLFS', 22, 'ServiceUnavailable'],
  ['SQLITE_AUTH', 23, 'ServiceUnavailable'],
  ['SQLITE_RANGE', 25, 'Internal'],
  ['SQLITE_NOTADB', 26, 'Internal'],
];

for (const [name, code, kind] of CODES) {
  test(`${name} is ${kind}, without a word of SQLite's`, () => {
    const cause = new Database.SqliteError('private text', name, code);
    const error = translateSqliteError(cause);
    assert.ok(error instanceof ServiceError);
    assert.equal(error.kind, kind);
    assert.equal(error.cause, cause);
    assert.doesNotMatch(error.detail, /private|SQL/);
  });
}

test('a full disk is said in one sentence', () => {
  const error = translateSqliteError(new Database.SqliteError('database or disk is full', 'SQLITE_FULL', 13));
  assert.ok(error instanceof ServiceError);
  assert.equal(error.detail, 'The storage of the catalog is full.');
  assert.equal(error.retryAfterSeconds, 30);
});

test('an unavailable catalog is said in one sentence, and when to come back', () => {
  const error = translateSqliteError(new Database.SqliteError('database is locked', 'SQLITE_BUSY', 5));
  assert.ok(error instanceof ServiceError);
  assert.equal(error.detail, 'The catalog is not available at the moment.');
  assert.equal(error.retryAfterSeconds, 1);
});

test('only a busy database is worth another try', () => {
  assert.equal(isBusy(new Database.SqliteError('', 'SQLITE_BUSY_RECOVERY', 261)), true);
  assert.equal(isBusy(new Database.SqliteError('', 'SQLITE_FULL', 13)), false);
  assert.equal(isBusy(new Error('busy')), false);
});

test('errors that are not of SQLite stay as they are', () => {
  for (const error of [new ServiceError('TableNotFound', 'x'), new TypeError('x'), 'text', undefined, { rawCode: 5 }]) {
    assert.equal(translateSqliteError(error), error);
  }
});
