import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import type { Table } from '@lancedb/lancedb';

/** What a loss of power can leave of files that were not synced. */
const LOSSES: Readonly<Record<string, (path: string) => Promise<void>>> = {
  empty: async (path) => writeFile(path, ''),
  zeros: async (path) => writeFile(path, Buffer.alloc(200)),
  garbage: async (path) => writeFile(path, Buffer.alloc(200, 0xff)),
  missing: async (path) => rm(path),
};

const row = (id: number) => ({ id, value: id });
const rows = (from: number, count: number) => Array.from({ length: count }, (_, index) => row(from + index));

type Work = (table: Table) => Promise<unknown>;

const WORKS: Readonly<Record<string, Work>> = {
  read: async (table) => (await table.query().where('id >= 3').toArray()).length,
  append: async (table) => table.add(rows(500, 3)),
  update: async (table) => table.update({ where: 'id = 5', values: { value: 7 } }),
  delete: async (table) => table.delete('id = 5'),
  upsert: async (table) =>
    table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows(5, 99)),
  overwrite: async (table) => table.add(rows(0, 4), { mode: 'overwrite' }),
  'new column': async (table) => table.addColumns([{ name: 'more', valueSql: 'value + 1' }]),
  'list of versions': async (table) => (await table.listVersions()).length,
  'checkout of each version': async (table) => {
    const counts: number[] = [];
    for (let version = 1; version <= 7; version += 1) {
      await table.checkout(version);
      counts.push(await table.countRows());
    }
    await table.checkoutLatest();
    return counts;
  },
  restore: async (table) => {
    await table.checkout(4);
    await table.restore();
  },
  compaction: async (table) => table.optimize(),
  'clean-up': async (table) => table.optimize({ cleanupOlderThan: new Date(), deleteUnverified: true }),
  'index build': async (table) => table.createIndex('value'),
};

const append: Work = async (table) => table.add(rows(600, 2));

/** Changes a fragment that the works change too. */
const updateAndAppend: Work = async (table) => {
  await table.update({ where: 'id = 20', values: { value: 1000 } });
  await append(table);
};

/** What others commit meanwhile, so that the work can still be rebased. */
const REBASES: Readonly<Record<string, Work>> = {
  append: updateAndAppend,
  update: updateAndAppend,
  delete: updateAndAppend,
  upsert: append,
  overwrite: updateAndAppend,
  restore: updateAndAppend,
  compaction: append,
  'index build': updateAndAppend,
};

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'tiltyard-power-'));
  const database = await connect(root);
  const table = await database.createTable('items', rows(0, 50));
  await table.add(rows(50, 10));
  await table.update({ where: 'id = 1', values: { value: 99 } });
  await table.delete('id = 2');
  await table.createIndex('id');
  await table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows(3, 60));
  await table.add(rows(300, 1));
  database.close();
});
after(async () => rm(root, { recursive: true, force: true }));

for (const [name, lose] of Object.entries(LOSSES)) {
  suite(`with transaction files and the hint of versions ${name}`, () => {
    for (const [title, work] of Object.entries(WORKS)) {
      test(`the engine does as ever: ${title}`, async () => {
        assert.deepEqual(await outcome(work, lose), await outcome(work));
      });
    }

    for (const [title, between] of Object.entries(REBASES)) {
      test(`a writer that had read an earlier version rebases over them: ${title}`, async () => {
        const work = WORKS[title];
        assert.ok(work !== undefined);
        assert.deepEqual(await outcome(work, lose, between), await outcome(work, undefined, between));
      });
    }
  });
}

/** What a piece of work gives and leaves, on a copy of the table that has had a loss. */
async function outcome(work: Work, lose?: (path: string) => Promise<void>, between?: Work): Promise<unknown> {
  const copy = await mkdtemp(join(tmpdir(), 'tiltyard-power-'));
  await cp(root, copy, { recursive: true });
  const stale = between === undefined ? undefined : await openItems(copy);
  if (between !== undefined) await between(await openItems(copy));
  if (lose !== undefined) for (const path of await listExpendable(join(copy, 'items.lance'))) await lose(path);
  const table = stale ?? (await openItems(copy));
  const given = await work(table);
  await table.checkoutLatest();
  const left = { version: await table.version(), sum: await sumOf(table), indexes: (await table.listIndices()).length };
  await rm(copy, { recursive: true, force: true });
  return { given: typeof given === 'object' && !Array.isArray(given) ? undefined : given, ...left };
}

async function openItems(folder: string): Promise<Table> {
  return (await connect(folder)).openTable('items');
}

async function listExpendable(folder: string): Promise<readonly string[]> {
  const transactions = await readdir(join(folder, '_transactions'));
  return [
    join(folder, '_versions', 'latest_version_hint.json'),
    ...transactions.map((name) => join(folder, '_transactions', name)),
  ];
}

async function sumOf(table: Table): Promise<number> {
  const all: { id: number; value: number }[] = await table.query().limit(10_000).toArray();
  return all.reduce((sum, { id, value }) => sum + id * 1000 + value, 0);
}
