import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import type { Connection, Table } from '@lancedb/lancedb';
import { ADMIN_KEY } from '../support/server.ts';
import type { TestService } from '../support/server.ts';
import { startService } from '../support/service.ts';

/** The unmodified client twice: over the service, and embedded. Whatever is done, both must tell the same. */
let server: TestService;
let folder: string;
let remote: Connection;
let embedded: Connection;
before(async () => {
  server = await startService();
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-embedded-'));
  remote = await connect('db://default', { apiKey: ADMIN_KEY, hostOverride: server.url });
  embedded = await connect(folder, { readConsistencyInterval: 0 });
});
after(async () => {
  remote.close();
  embedded.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

interface Pair {
  readonly name: string;
  readonly tables: readonly [remote: Table, embedded: Table];
}

let names = 0;

/** The same rows in both, and an update on top: two versions. */
async function makePair(): Promise<Pair> {
  names += 1;
  const name = `pair${names}`;
  const rows = [1, 2, 3].map((id) => ({ id, price: id * 10 }));
  const tables = [await remote.createTable(name, rows), await embedded.createTable(name, rows)] as const;
  for (const table of tables) await table.update({ valuesSql: { price: '2' } });
  return { name, tables };
}

type Work<Value> = (table: Table) => Promise<Value>;

async function both<Value>({ tables }: Pair, work: Work<Value>): Promise<Value> {
  const [service, local] = [await work(tables[0]), await work(tables[1])];
  assert.deepEqual(service, local);
  return service;
}

async function bothRefuse({ tables }: Pair, work: Work<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(work(tables[0]), message);
  await assert.rejects(work(tables[1]));
}

/** Of the state that the table is at. */
const rowsAndBytes: Work<object> = async (table) => table.stats();
const version: Work<number> = async (table) => table.version();

suite('the versions of a table', () => {
  test('are counted and listed alike, with the time of each', async () => {
    const pair = await makePair();
    assert.equal(await both(pair, version), 2);
    const listed = await both(pair, async (table) =>
      (await table.listVersions()).map((each) => [each.version, each.metadata]),
    );
    assert.equal(listed.length, 2);
    for (const { timestamp } of await pair.tables[0].listVersions()) {
      assert.ok(Math.abs(timestamp.getTime() - Date.now()) < 600_000);
    }
  });

  test('can be gone back to and forward again', async () => {
    const pair = await makePair();
    await both(pair, async (table) => table.checkout(1));
    assert.equal(await both(pair, version), 1);
    await both(pair, async (table) => (await table.schema()).toString());
    await bothRefuse(pair, async (table) => table.update({ valuesSql: { price: '5' } }), /fixed at version/);
    await both(pair, async (table) => table.checkoutLatest());
    assert.equal(await both(pair, version), 2);
  });

  test('can be restored', async () => {
    const pair = await makePair();
    await both(pair, async (table) => table.checkout(1));
    await both(pair, async (table) => table.restore());
    assert.equal(await both(pair, version), 3);
    await both(pair, rowsAndBytes);
    await both(pair, async (table) => table.update({ values: { price: 9 } }));
    assert.equal(await both(pair, version), 4);
  });

  test('that are not there are refused', async () => {
    const pair = await makePair();
    await bothRefuse(pair, async (table) => table.checkout(99), /99/);
    assert.equal(await both(pair, version), 2);
    await bothRefuse(pair, async (table) => table.restore(), /version/);
  });
});

suite('the tags of a table', () => {
  test('are made, read, moved, followed and deleted alike', async () => {
    const pair = await makePair();
    const listTags: Work<object> = async (table) => {
      const entries = Object.entries(await (await table.tags()).list());
      return entries.map(([tag, contents]) => [tag, contents.version]).toSorted();
    };
    await both(pair, async (table) => (await table.tags()).create('first', 1));
    await both(pair, async (table) => (await table.tags()).create('second', 2));
    assert.deepEqual(await both(pair, listTags), [
      ['first', 1],
      ['second', 2],
    ]);
    await both(pair, async (table) => table.checkout('first'));
    assert.equal(await both(pair, version), 1);
    await both(pair, async (table) => table.checkoutLatest());
    await both(pair, async (table) => (await table.tags()).update('second', 1));
    assert.equal(await both(pair, async (table) => (await table.tags()).getVersion('second')), 1);
    await both(pair, async (table) => (await table.tags()).delete('first'));
    assert.deepEqual(await both(pair, listTags), [['second', 1]]);
  });

  test('are refused when they exist, are not there, or name nothing', async () => {
    const pair = await makePair();
    await both(pair, async (table) => (await table.tags()).create('once', 1));
    await bothRefuse(pair, async (table) => (await table.tags()).create('once', 1), /already exists/);
    await bothRefuse(pair, async (table) => (await table.tags()).create('late', 99), /99/);
    await bothRefuse(pair, async (table) => (await table.tags()).create('a/b', 1), /not a valid tag name/);
    await bothRefuse(pair, async (table) => (await table.tags()).getVersion('none'), /tag .*none.* was not found/);
    await bothRefuse(pair, async (table) => (await table.tags()).update('none', 1), /tag .*none.* was not found/);
    await bothRefuse(pair, async (table) => (await table.tags()).delete('none'), /tag .*none.* was not found/);
    await bothRefuse(pair, async (table) => table.checkout('none'), /none/);
  });
});

suite('the branches of a table', () => {
  const listBranches: Work<object> = async (table) => {
    const entries = Object.entries(await (await table.branches()).list());
    return entries
      .map(([name, { parentBranch, parentVersion }]) => [name, parentBranch ?? null, parentVersion])
      .toSorted();
  };

  test('are made, listed, written, read and deleted alike', async () => {
    const pair = await makePair();
    await both(pair, async (table) => {
      const branch = await (await table.branches()).create('team/trial', undefined, 1);
      const updated = await branch.update({ valuesSql: { price: '7' } });
      return [branch.currentBranch(), updated.rowsUpdated, updated.version, await branch.version()];
    });
    await both(pair, async (table) => {
      await (await table.branches()).create('child', 'team/trial');
    });
    assert.deepEqual(await both(pair, listBranches), [
      ['child', 'team/trial', 2],
      ['team/trial', null, 1],
    ]);
    await both(pair, async (table) => {
      const branch = await (await table.branches()).checkout('team/trial');
      const versions = (await branch.listVersions()).map((each) => each.version);
      return [versions, await branch.version(), await branch.stats(), table.currentBranch(), await table.version()];
    });
    await both(pair, async (table) => (await (await table.branches()).checkout('team/trial', 1)).version());
    await bothRefuse(pair, async (table) => (await table.branches()).delete('team/trial'), /created from the branch/);
    await both(pair, async (table) => (await table.branches()).delete('child'));
    await both(pair, async (table) => (await table.branches()).delete('team/trial'));
    assert.deepEqual(await both(pair, listBranches), []);
  });

  test('have tags that lead back to them', async () => {
    const pair = await makePair();
    await both(pair, async (table) => {
      const branch = await (await table.branches()).create('side', undefined, 1);
      await branch.update({ valuesSql: { price: '7' } });
      await (await branch.tags()).create('on-side', 2);
      return (await table.tags()).getVersion('on-side');
    });
    await both(pair, async (table) => {
      await table.checkout('on-side');
      return [await table.version(), await table.stats()];
    });
  });

  test('can be restored on their own', async () => {
    const pair = await makePair();
    await both(pair, async (table) => {
      const branches = await table.branches();
      await (await branches.create('side', undefined, 1)).update({ valuesSql: { price: '7' } });
      const early = await branches.checkout('side', 1);
      await early.restore();
      return [await (await branches.checkout('side')).version(), await table.version()];
    });
  });

  test('are refused when they exist, are not there, or have no usable name', async () => {
    const pair = await makePair();
    const make = (name: string, from?: string, at?: number): Work<unknown> => {
      return async (table) => (await table.branches()).create(name, from, at);
    };
    await both(pair, async (table) => {
      await (await table.branches()).create('once');
    });
    await bothRefuse(pair, make('once'), /already exists/);
    await bothRefuse(pair, make('new', 'nowhere'), /nowhere/);
    await bothRefuse(pair, make('new', undefined, 99), /99|not found/);
    await bothRefuse(pair, make('../x'), /not a valid branch name/);
    await bothRefuse(pair, async (table) => (await table.branches()).checkout('nowhere'), /nowhere/);
    await bothRefuse(pair, async (table) => (await table.branches()).delete('nowhere'), /nowhere/);
  });
});

suite('what is told of a table as a whole', () => {
  test('its statistics are the same numbers', async () => {
    const pair = await makePair();
    await both(pair, rowsAndBytes);
  });

  test('its schema and the metadata of its fields are the same', async () => {
    const pair = await makePair();
    const updates = [{ path: 'price', metadata: { unit: 'EUR' } }];
    await both(pair, async (table) => (await table.updateFieldMetadata(updates)).version);
    await both(pair, async (table) =>
      (await table.schema()).fields.map((field) => [
        field.name,
        String(field.type),
        Object.fromEntries(field.metadata),
      ]),
    );
  });

  test('what the service does not offer is refused with the reason', async () => {
    const { tables } = await makePair();
    await assert.rejects(tables[0].unsetLsmWriteSpec(), /LSM/);
    await assert.rejects(tables[0].setLsmWriteSpec({ specType: 'unsharded' }), /LSM/);
  });
});
