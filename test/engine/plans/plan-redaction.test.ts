import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactPlan } from '../../../src/engine/plans/plan-text.ts';

const PLACE = { kind: 'listed', root: '/srv/data, projection', directory: 'orders-7' } as const;

test('hides the address in a step that reads, for any name of the root', () => {
  const line = '  LanceRead: elapsed=1ms, uri=srv/data, projection/orders-7.lance/data, projection=[id], metrics=[]';
  const redacted = redactPlan(line, PLACE);
  assert.doesNotMatch(redacted, /srv|orders-7/);
  assert.match(redacted, /uri=\[hidden\].*projection=\[id\], metrics=\[\]$/);
});

test('hides the location of the table anywhere else', () => {
  const text = '  Other: file=/srv/data, projection/orders-7.lance/_indices/x, metrics=[]';
  assert.doesNotMatch(redactPlan(text, PLACE), /srv|orders-7/);
});

test('hides the address on an object store', () => {
  const location = { ...PLACE, root: 's3://bucket/prefix' };
  assert.doesNotMatch(
    redactPlan('LanceScan: uri=prefix/orders-7.lance/data, projection=[a], metrics=[]', location),
    /prefix/,
  );
  assert.doesNotMatch(redactPlan('X: bucket/prefix/orders-7.lance, metrics=[]', location), /bucket/);
});

test("leaves the caller's own literals alone", () => {
  const text = 'FilterExec: a = Utf8("uri=/etc/passwd, x"), metrics=[]';
  assert.equal(redactPlan(text, PLACE), text);
});
