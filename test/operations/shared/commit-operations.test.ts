import assert from 'node:assert/strict';
import test from 'node:test';
import { COMMIT_OPERATIONS } from '../../../src/model/events/commit-operations.ts';
import { OPERATIONS } from '../../../src/operations/registry.ts';

/** They change a table, and are recorded under another name, or not at all. */
const OTHERS = [
  /^(create|abort)_multipart_write$/,
  /^alter_table_backfill_columns$/,
  /_(lsm|rte)(_|$)/,
  /^(merge_table_branches|cherry_pick_table_branch)$/,
  /_(function|secret)$/,
  /(?<!_materialized)_view$/,
];

test('every operation that can commit can be filtered by', () => {
  const changing = OPERATIONS.filter(
    ({ target, permission }) => /table|namespace/.test(target) && /write|manage/.test(permission),
  ).map(({ id }) => id);
  const unlisted = changing.filter((id) => !COMMIT_OPERATIONS.includes(id) && !OTHERS.some((other) => other.test(id)));
  assert.deepEqual(unlisted, []);
});
