import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Grant } from '../../../src/model/access.ts';
import { NOW, nextMessage, open, refusal, startChild, temporaryCatalog } from '../temporary-catalog.ts';

const DIGEST = 'ab'.repeat(32);
const GRANTS: readonly Grant[] = [
  { role: 'admin', database: 'default', path: [] },
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

test('names are known by id, also those of revoked keys', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const one = await catalog.keys.create({ name: 'one', digest: DIGEST, grants: [] });
  const two = await catalog.keys.create({ name: 'two', digest: 'cd', grants: [] });
  await catalog.keys.revoke(one.id);
  const names = await catalog.keys.names([one.id, two.id, 'none']);
  assert.deepEqual(
    names,
    new Map([
      [one.id, 'one'],
      [two.id, 'two'],
    ]),
  );
  assert.equal((await catalog.clients.names([one.id])).size, 0);
  assert.equal((await catalog.keys.names([])).size, 0);
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

const ADMINISTRATION: Grant = { role: 'admin', database: undefined, path: [] };

test('the last key that administers everything is neither revoked nor stripped of it', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const make = async (digest: string, grants: readonly Grant[], expiresAt?: number) =>
    catalog.keys.create({ name: digest, digest, grants, ...(expiresAt === undefined ? {} : { expiresAt }) });
  const last = await make('a', [ADMINISTRATION]);
  await make('expired', [ADMINISTRATION], NOW - 1);
  const lesser = await make('b', [{ role: 'admin', database: 'default', path: [] }]);
  const client = await catalog.clients.create({ name: 'c', digest: 'c', grants: [ADMINISTRATION] });
  await assert.rejects(catalog.keys.revoke(last.id), refusal('LastAdministrator'));
  await assert.rejects(catalog.grants.remove(`key:${last.id}`, ADMINISTRATION), refusal('LastAdministrator'));
  assert.equal(await catalog.keys.revoke(lesser.id), true);
  assert.equal(await catalog.clients.revoke(client.id), true);
  assert.equal(await catalog.keys.revoke('none'), false);
  const next = await make('d', [ADMINISTRATION]);
  const outcomes = await Promise.allSettled([last.id, next.id].map(async (id) => catalog.keys.revoke(id)));
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
});

test('a key that expires does not replace the last administrator that stays, and is rotated without one', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const make = async (digest: string, expiresAt?: number) =>
    catalog.keys.create({
      name: digest,
      digest,
      grants: [ADMINISTRATION],
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
  const permanent = await make('permanent');
  const [first, second] = [await make('first', NOW + 1000), await make('second', NOW + 2000)];
  const advice = /Every other key .* expires/;
  await assert.rejects(catalog.keys.revoke(permanent.id), refusal('LastAdministrator', advice));
  const grant = catalog.grants.remove(`key:${permanent.id}`, ADMINISTRATION);
  await assert.rejects(grant, refusal('LastAdministrator', advice));
  assert.equal(await catalog.keys.revoke(first.id), true);
  const next = await make('next');
  assert.equal(await catalog.keys.revoke(permanent.id), true);
  assert.equal(await catalog.keys.revoke(second.id), true);
  await assert.rejects(catalog.keys.revoke(next.id), refusal('LastAdministrator', /last key/));
});

test('keys that all expire can be rotated', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const make = async (digest: string, expiresAt: number) =>
    catalog.keys.create({ name: digest, digest, grants: [ADMINISTRATION], expiresAt });
  const former = await make('former', NOW + 2000);
  await assert.rejects(catalog.keys.revoke(former.id), refusal('LastAdministrator', /last key/));
  const next = await make('next', NOW + 1000);
  assert.equal(await catalog.keys.revoke(former.id), true);
  await assert.rejects(catalog.keys.revoke(next.id), refusal('LastAdministrator', /last key/));
});

test('a client is found by its id until it is revoked, and only its own digest matches', async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  const other = await open(context, file);
  const { id } = await catalog.clients.create({ name: 'loader', digest: DIGEST, grants: GRANTS });
  const second = await catalog.clients.create({ name: 'second', digest: 'cd', grants: [] });
  assert.deepEqual((await other.clients.find(id))?.grants, GRANTS);
  assert.equal(await other.clients.matches(id, DIGEST), true);
  for (const [who, digest] of [
    [id, 'cd'],
    [id, ''],
    [second.id, DIGEST],
    ['none', DIGEST],
    ['none', ''],
  ] as const) {
    assert.equal(await other.clients.matches(who, digest), false);
  }
  assert.equal(await catalog.keys.find(id), undefined);
  await catalog.clients.revoke(id);
  assert.equal(await other.clients.find(id), undefined);
  assert.equal(await other.clients.matches(id, DIGEST), false);
});

test('pages go on after an id, and may be of those with grants on some databases', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const on = (database: string | undefined): Grant => ({ role: 'reader', database, path: [] });
  const ids: string[] = [];
  for (const grants of [[on('a')], [on('b'), on('a')], [on(undefined)], [on('b')], []]) {
    ids.push((await catalog.keys.create({ name: 'k', digest: `${ids.length}`, grants })).id);
  }
  const order = ids.toSorted();
  const first = await catalog.keys.list({ limit: 2 });
  assert.deepEqual(
    first.map(({ id }) => id),
    order.slice(0, 2),
  );
  const rest = await catalog.keys.list({ limit: 10, after: first[1]?.id ?? '' });
  assert.deepEqual(
    rest.map(({ id }) => id),
    order.slice(2),
  );
  const ofA = await catalog.keys.list({ limit: 10, databases: ['a'] });
  assert.deepEqual(new Set(ofA.map(({ id }) => id)), new Set(ids.slice(0, 2)));
  assert.deepEqual(await catalog.keys.list({ limit: 10, databases: [] }), []);
  assert.deepEqual(await catalog.clients.list({ limit: 10, databases: ['a'] }), []);
});

test('refuses a grant on a database that is not there, when asked to', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const grants: readonly Grant[] = [{ role: 'reader', database: 'nowhere', path: [] }];
  const made = catalog.keys.create({ name: 'k', digest: 'a', grants, knownDatabasesOnly: true });
  await assert.rejects(made, refusal('DatabaseNotFound', /"nowhere"/));
  assert.deepEqual(await catalog.keys.list(), []);
});
