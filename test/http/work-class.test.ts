import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toWorkClass } from '../../src/http/work-class.ts';
import { OPERATIONS } from '../../src/operations/registry.ts';

function classOf(id: string): string {
  return toWorkClass(OPERATIONS.find((operation) => operation.id === id) ?? assert.fail(id));
}

test('tells reads, writes, uploads and administration apart', () => {
  assert.deepEqual(['query_table', 'describe_table', 'list_tables'].map(classOf), ['read', 'read', 'read']);
  assert.deepEqual(['update_table', 'drop_table'].map(classOf), ['write', 'write']);
  assert.deepEqual(['create_table', 'insert_into_table'].map(classOf), ['ingest', 'ingest']);
  assert.equal(toWorkClass({ permission: 'administer', body: { kind: 'none' } }), 'admin');
});
