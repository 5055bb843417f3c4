import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'libsql';
import type { GivenGrant } from '../../../src/catalog/catalog.ts';
import type { Grant } from '../../../src/model/access.ts';
import { ON_POSTGRES, open, refusal, temporaryCatalog } from '../temporary-catalog.ts';

const PRINCIPAL = 'token:https://issuer.example#someone';
const READER: Grant = { role: 'reader', database: 'sales', path: ['a', 'b'] };
const ADMIN: Grant = { role: 'admin', database: undefined, path: [] };

test('a principal without grants has none', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), []);
});

test('grants are given and taken one by one', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  await catalog.databases.create({ name: 'sales' });
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), []);
  await catalog.grants.add(PRINCIPAL, READER);
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), [READER]);
  await catalog.grants.add(PRINCIPAL, ADMIN);
  await catalog.grants.add(PRINCIPAL, ADMIN);
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), [ADMIN, READER]);
  assert.equal(await catalog.grants.remove(PRINCIPAL, { ...READER, path: ['a'] }), false);
  assert.equal(await catalog.grants.remove(PRINCIPAL, { ...READER, role: 'writer' }), false);
  assert.equal(await catalog.grants.remove(PRINCIPAL, ADMIN), true);
  assert.equal(await catalog.grants.remove(PRINCIPAL, ADMIN), false);
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), [READER]);
});

test('a principal with more grants than a new limit keeps them, and gets no new one', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const grants = ['a', 'b', 'c'].map((name): Grant => ({ role: 'reader', database: 'default', path: [name] }));
  for (const grant of grants) await catalog.grants.add(PRINCIPAL, grant);
  for (const grant of grants) await catalog.grants.add(PRINCIPAL, grant, 2);
  await assert.rejects(catalog.grants.add(PRINCIPAL, ADMIN, 2), refusal('InvalidInput'));
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), grants);
});

test('principals that differ in anything are different', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  await catalog.grants.add(PRINCIPAL, ADMIN);
  for (const other of [`${PRINCIPAL} `, PRINCIPAL.toUpperCase(), PRINCIPAL.slice(0, -1), `${PRINCIPAL}\ufffd`]) {
    assert.deepEqual(await catalog.grants.of(other), [], other);
  }
});

test('refuses a principal that could be taken for another once stored', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  await catalog.databases.create({ name: 'sales' });
  await catalog.grants.add(`${PRINCIPAL}\ufffd`, ADMIN);
  for (const other of [`${PRINCIPAL}\u0000`, `${PRINCIPAL}\ud800`]) {
    await assert.rejects(catalog.grants.of(other), refusal('InvalidInput'));
    await assert.rejects(catalog.grants.add(other, READER), refusal('InvalidInput'));
  }
});

test('refuses a database without a name, which is not the same as all databases', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const grant = { ...READER, database: '' };
  await assert.rejects(catalog.keys.create({ name: 'k', digest: 'a', grants: [grant] }), refusal('InvalidInput'));
  await assert.rejects(catalog.grants.add(PRINCIPAL, grant), refusal('DatabaseNotFound'));
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), []);
});

test('a grant by another process is seen at the next lookup, and so is its end', async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  await catalog.databases.create({ name: 'sales' });
  const other = await open(context, file);
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), []);
  await other.grants.add(PRINCIPAL, READER);
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), [READER]);
  await other.grants.remove(PRINCIPAL, READER);
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), []);
});

test('a role that this release does not know gives nothing', { skip: ON_POSTGRES }, async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  await catalog.databases.create({ name: 'sales' });
  await catalog.grants.add(PRINCIPAL, READER);
  const other = new Database(file);
  context.after(() => other.close());
  other.prepare('insert into grants values (?, ?, ?, ?)').run([PRINCIPAL, '', '', 'emperor']);
  assert.deepEqual(await catalog.grants.of(PRINCIPAL), [READER]);
});

test('are listed by principal, database, path and role, in pages', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  await catalog.databases.create({ name: 'sales' });
  const given: GivenGrant[] = [];
  for (const principal of ['client:b', 'key:a', 'token:i#s']) {
    for (const database of [undefined, 'default', 'sales']) {
      const path = database === undefined ? [] : ['x', principal];
      const grant = { role: 'reader', database, path } as const;
      given.push({ ...grant, principal });
      await catalog.grants.add(principal, grant);
    }
  }
  const listed: GivenGrant[] = [];
  for (let page = await catalog.grants.list({ limit: 2 }); page.length > 0;) {
    listed.push(...page);
    const last = listed.at(-1);
    page = await catalog.grants.list({ limit: 2, ...(last === undefined ? {} : { after: last }) });
  }
  assert.deepEqual(listed, given);
  const ofKey = await catalog.grants.list({ limit: 10, principal: 'key:a' });
  assert.equal(ofKey.length, 3);
  const inSales = await catalog.grants.list({ limit: 10, databases: ['sales'], under: ['x'] });
  assert.equal(inSales.length, 3);
  assert.deepEqual(await catalog.grants.list({ limit: 10, databases: ['sales'], under: ['y'] }), []);
  assert.deepEqual(await catalog.grants.list({ limit: 10, databases: [] }), []);
});

test('on a database that is not there are refused', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const grant = { role: 'reader', database: 'nowhere', path: [] } as const;
  const given = catalog.grants.add(PRINCIPAL, grant);
  await assert.rejects(given, refusal('DatabaseNotFound', /"nowhere"/));
  await catalog.grants.add(PRINCIPAL, { ...grant, database: 'default' });
  assert.equal((await catalog.grants.of(PRINCIPAL)).length, 1);
});
