import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TableActivity } from '../../src/maintenance/table-activity.ts';
import type { TableRecord } from '../../src/model/table.ts';

test('a table in use is kept without its properties, which can be large', () => {
  const table: TableRecord = {
    id: 't',
    databaseId: 'd',
    path: ['items'],
    location: { kind: 'listed', root: '/data', directory: 'items-t' },
    properties: { note: 'x' },
    heldVersion: undefined,
  };
  const { properties: _properties, ...others } = table;
  const activity = new TableActivity(table);
  assert.deepEqual(activity.table, others);
  activity.see({ ...table, path: ['renamed'] });
  assert.deepEqual(activity.table, { ...others, path: ['renamed'] });
});
