import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Grant } from '../../src/model/access.ts';
import { ENTRY, createTable, holdVersion, open, recordCommit, refusal, temporaryCatalog } from './temporary-catalog.ts';

const GRANT: Grant = { role: 'writer', database: 'default', path: ['a'] };
const PRINCIPAL = 'token:issuer#subject';

/** What is true, as it should be seen by everyone. */
interface Truth {
  isGranted: boolean;
  keyIsGranted: boolean;
  isRevoked: boolean;
  heldVersion: number | undefined;
  property: string;
}

type Change = 'grant' | 'grant key' | 'revoke' | 'hold' | 'property' | 'record';

test('every lookup sees every acknowledged write, of this catalog or another', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const other = await open(context, file);
  const changes = fc.constantFrom<Change>('grant', 'grant key', 'revoke', 'hold', 'property', 'record');
  const steps = fc.array(fc.record({ change: changes, isOurs: fc.boolean() }), { maxLength: 15 });
  let run = 0;
  const property = fc.asyncProperty(steps, async (script) => {
    run += 1;
    const world = await createWorld(catalog, database.id, `run ${run}`);
    for (const { change, isOurs } of script) {
      await apply(isOurs ? catalog : other, world, change);
      for (const each of [catalog, other]) await assertSeen(each, world);
    }
  });
  await fc.assert(property, { numRuns: 40 });
});

test('a lookup that overlaps a write does not hide it from the next one', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const other = await open(context, file);
  const table = await createTable(catalog, database.id, ['orders']);
  for (let round = 0; round < 100; round += 1) {
    const writer = round % 2 === 0 ? catalog : other;
    const writing = recordCommit(writer, table, { ...ENTRY, properties: { round: String(round) } });
    const reading = Array.from({ length: 5 }, async () => catalog.tables.find(database.id, ['orders']));
    await writing;
    const found = await catalog.tables.find(database.id, ['orders']);
    assert.equal(found?.properties['round'], String(round));
    await Promise.all(reading);
  }
});

test('records of writes leave what was looked up where it is', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const other = await open(context, file);
  const table = await createTable(catalog, database.id, ['orders']);
  const found = await catalog.tables.find(database.id, ['orders']);
  await recordCommit(catalog, table);
  await recordCommit(other, table);
  await createTable(other, database.id, ['another']);
  assert.equal(await catalog.tables.find(database.id, ['orders']), found);
});

test('a catalog that is closed refuses every call', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders']);
  await catalog.close();
  const unavailable = refusal('ServiceUnavailable', /^The catalog is not available at the moment\.$/);
  await assert.rejects(catalog.ping(), unavailable);
  await assert.rejects(catalog.databases.find('default'), unavailable);
  await assert.rejects(catalog.tables.find(database.id, ['orders']), unavailable);
  await assert.rejects(recordCommit(catalog, table), unavailable);
});

interface World extends Truth {
  readonly databaseId: string;
  readonly name: string;
  readonly tableId: string;
  readonly keyId: string;
  readonly principal: string;
}

async function createWorld(catalog: Catalog, databaseId: string, name: string): Promise<World> {
  const table = await createTable(catalog, databaseId, [name], { value: '' });
  const key = await catalog.keys.create({ name, digest: name, grants: [] });
  return {
    databaseId,
    name,
    tableId: table.id,
    keyId: key.id,
    principal: PRINCIPAL + name,
    isGranted: false,
    keyIsGranted: false,
    isRevoked: false,
    heldVersion: undefined,
    property: '',
  };
}

async function apply(catalog: Catalog, world: World, change: Change): Promise<void> {
  const table = await catalog.tables.find(world.databaseId, [world.name]);
  assert.ok(table);
  switch (change) {
    case 'grant':
      await (world.isGranted
        ? catalog.grants.remove(world.principal, GRANT)
        : catalog.grants.add(world.principal, GRANT));
      world.isGranted = !world.isGranted;
      return;
    case 'grant key': {
      const principal = `key:${world.keyId}`;
      await (world.keyIsGranted ? catalog.grants.remove(principal, GRANT) : catalog.grants.add(principal, GRANT));
      world.keyIsGranted = !world.keyIsGranted;
      return;
    }
    case 'revoke':
      assert.equal(await catalog.keys.revoke(world.keyId), !world.isRevoked);
      world.isRevoked = true;
      return;
    case 'hold':
      await (world.heldVersion === undefined
        ? holdVersion(catalog, table.id, { version: 3 })
        : catalog.tables.release(table.id));
      world.heldVersion = world.heldVersion === undefined ? 3 : undefined;
      return;
    case 'property':
      world.property += 'x';
      await recordCommit(catalog, table, { ...ENTRY, properties: { value: world.property } });
      return;
    case 'record':
      await recordCommit(catalog, table);
      return;
  }
}

async function assertSeen(catalog: Catalog, world: World): Promise<void> {
  const table = await catalog.tables.find(world.databaseId, [world.name]);
  assert.equal(table?.heldVersion, world.heldVersion);
  assert.deepEqual(table?.properties, { value: world.property });
  assert.deepEqual(await catalog.grants.of(world.principal), world.isGranted ? [GRANT] : []);
  const key = await catalog.keys.findByDigest(world.name);
  assert.deepEqual(key?.grants, world.isRevoked ? undefined : world.keyIsGranted ? [GRANT] : []);
}
