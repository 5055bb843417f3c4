import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDatabaseName } from '../../src/http/database-name.ts';
import { refusalOf } from '../support/refusal.ts';
import { incomingMessage } from './incoming-message.ts';

const SUFFIX = 'tables.example.com';

function read(headers: Readonly<Record<string, string>>, suffix: string | undefined = SUFFIX): string {
  return readDatabaseName(incomingMessage(Object.entries(headers)), suffix);
}

test('is the default database when nothing names one', () => {
  assert.equal(read({}), 'default');
  assert.equal(read({ host: 'localhost:2333' }), 'default');
  assert.equal(read({ host: SUFFIX }), 'default');
  assert.equal(readDatabaseName(incomingMessage([['host', `sales.${SUFFIX}`]]), undefined), 'default');
});

test('is the one that a header names, under either name of the header', () => {
  assert.equal(read({ 'x-service-database': 'sales' }), 'sales');
  assert.equal(read({ 'x-lancedb-database': 'Sales 2' }), 'Sales 2');
  assert.equal(read({ 'x-service-database': 'sales', 'x-lancedb-database': 'sales' }), 'sales');
  assert.equal(read({ 'x-service-database': '', 'x-lancedb-database': 'sales' }), 'sales');
});

test('is the name in front of the configured host suffix', () => {
  assert.equal(read({ host: `sales.${SUFFIX}` }), 'sales');
  assert.equal(read({ host: `SALES.Tables.Example.COM:8443` }), 'sales');
  assert.equal(read({ host: `sales.${SUFFIX}` }, 'Tables.Example.Com'), 'sales');
  assert.equal(read({ host: `salestables.example.com` }), 'default');
});

test('never takes a longer host name for the default database', () => {
  assert.equal(read({ host: `a.b.${SUFFIX}` }), 'a.b');
  assert.equal(read({ host: `.${SUFFIX}` }), '');
});

test('refuses names that contradict each other', () => {
  const contradictions = [
    { 'x-service-database': 'a', 'x-lancedb-database': 'b' },
    { 'x-service-database': 'a', host: `b.${SUFFIX}` },
    { 'x-lancedb-database': 'default', host: `b.${SUFFIX}` },
  ];
  for (const headers of contradictions) {
    const refusal = refusalOf(() => read(headers));
    assert.equal(refusal.kind, 'InvalidInput');
    assert.equal(refusal.message, 'The headers and the host name do not name the same database.');
  }
  assert.equal(read({ 'x-service-database': 'b', host: `b.${SUFFIX}` }), 'b');
});
