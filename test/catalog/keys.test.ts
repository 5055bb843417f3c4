import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Grant } from '../../src/model/caller.ts';
import { NOW, nextMessage, open, refusal, startChild, temporaryCatalog } from './temporary-catalog.ts';

const DIGEST = 'ab'.repeat(32);
const GRANTS: readonly Grant[] = [
  { role: 'admin', database: undefined, path: [] },
  { role: 'reader', database: 'sales', path: ['a', 'b'] },
];

test('a key is found by its digest, with its grants and without the digest', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const key = await catalog.keys.create({ name: 'mine', digest: DIGEST, expiresAt: NOW + 5, grants: GRANTS });
  assert.deepEqual(key, { id: key.id, name: 'mine', createdAt: NOW, expiresAt: NOW + 5, grants: GRANTS });
  const found = await catalog.keys.findByDigest(DIGEST);
  assert.deepEqual(found, key);
  assert.ok(!JSON.stringify(found).includes(DIGEST));
  assert.equal(await catalog.keys.findByDigest(DIGEST.toUpperCase()), undefined);
});

test('a key without end has no end', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  await catalog.keys.create({ name: 'mine', digest: DIGEST, grants: [] });
  const found = await catalog.keys.findByDigest(DIGEST);
  assert.deepEqual(found, { id: found?.id, name: 'mine', createdAt: NOW, grants: [] });
});

test('refuses a digest that is known', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  await catalog.keys.create({ name: 'one', digest: DIGEST, grants: [] });
  const again = catalog.keys.create({ name: 'two', digest: DIGEST, grants: GRANTS });
  await assert.rejects(again, refusal('InvalidInput'));
  assert.equal((await catalog.keys.list()).length, 1);
});

test('a revoked key is not found, stays listed, and is revoked once', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const one = await catalog.keys.create({ name: 'one', digest: DIGEST, grants: GRANTS });
  const two = await catalog.keys.create({ name: 'two', digest: 'cd', grants: [] });
  assert.ok(await catalog.keys.findByDigest(DIGEST));
  assert.equal(await catalog.keys.revoke(one.id), true);
  assert.equal(await catalog.keys.findByDigest(DIGEST), undefined);
  assert.equal(await catalog.keys.revoke(one.id), false);
  assert.equal(await catalog.keys.revoke('none'), false);
  assert.deepEqual(await catalog.keys.findByDigest('cd'), two);
  const listed = await catalog.keys.list();
  assert.deepEqual(
    listed.find(({ id }) => id === one.id),
    { ...one, revokedAt: NOW },
  );
  assert.deepEqual(
    listed.find(({ id }) => id === two.id),
    two,
  );
  assert.equal(listed.length, 2);
});

test('a key that another process revokes is gone at the next lookup', async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  const key = await catalog.keys.create({ name: 'mine', digest: DIGEST, grants: GRANTS });
  assert.deepEqual(await catalog.keys.findByDigest(DIGEST), key);
  assert.equal(await nextMessage(startChild(context, 'revoke', [file, key.id])), true);
  assert.equal(await catalog.keys.findByDigest(DIGEST), undefined);
});

test("a change of a key's grants is seen at its next lookup", async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  const other = await open(context, file);
  const key = await catalog.keys.create({ name: 'mine', digest: DIGEST, grants: [] });
  const [grant] = GRANTS;
  assert.ok(grant);
  assert.deepEqual((await catalog.keys.findByDigest(DIGEST))?.grants, []);
  await catalog.grants.add(`key:${key.id}`, grant);
  assert.deepEqual((await catalog.keys.findByDigest(DIGEST))?.grants, [grant]);
  await other.grants.remove(`key:${key.id}`, grant);
  assert.deepEqual((await catalog.keys.findByDigest(DIGEST))?.grants, []);
});
