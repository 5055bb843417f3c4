import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStorageRoots } from '../../src/catalog/storage-roots.ts';

test('a root at or below the storage root moves with it', () => {
  const before = createStorageRoots('/srv/old/');
  const after = createStorageRoots('/srv/new');
  assert.equal(after.fromStored(before.toStored('/srv/old')), '/srv/new');
  assert.equal(after.fromStored(before.toStored('/srv/old/databases/x')), '/srv/new/databases/x');
});

test('a root elsewhere stays where it is, also one whose name begins alike', () => {
  const before = createStorageRoots('/srv/old');
  const after = createStorageRoots('/srv/new');
  for (const root of ['/srv/older', '/mnt/x', 's3://bucket/path']) {
    assert.equal(after.fromStored(before.toStored(root)), root);
  }
});
