import { Field, Int32, Schema, Utf8 } from 'apache-arrow';
import type { Connection } from '@lancedb/lancedb';
import { sortedRows, toRows } from '../side.ts';
import type { Probes, Side } from '../side.ts';

/** Of a job that was never there. */
const NO_JOB = '00000000-0000-4000-8000-000000000000';

const TABLES: Probes = {
  isOpen: async ({ db }) => db.isOpen(),
  close: async (side) => {
    const other = await side.connect();
    other.close();
    return other.isOpen();
  },
  display: async ({ db }) => db.display().length > 0,
  tableNames: async (side) => {
    await side.table(1);
    await side.table(1);
    return ours(await side.db.tableNames({ limit: 1000 }), side);
  },
  listTables: async (side) => {
    await side.table(1);
    return ours((await side.db.listTables()).tables, side);
  },
  openTable: async (side) => {
    const { name } = await side.table(3);
    return sortedRows(await (await side.connect()).openTable(name));
  },
  cloneTable: async (side) => {
    const source = await side.table(3);
    return sortedRows(await side.db.cloneTable(side.name(), await side.locate(source)));
  },
  createTable: async (side) => {
    const table = await side.table(3);
    const again = await side.db.createTable(table.name, toRows(1, 9), { existOk: true });
    const refused = await side.db.createTable(table.name, toRows(1, 9)).then(
      () => 'created twice',
      (error: unknown) => /already exists/.test(String(error)),
    );
    const rows = [await sortedRows(table), await sortedRows(again)];
    const replaced = await side.db.createTable(table.name, [{ id: 9 }], { mode: 'overwrite' });
    return { rows, refused, replaced: await sortedRows(replaced) };
  },
  createEmptyTable: async (side) => {
    const schema = new Schema([new Field('id', new Int32(), true), new Field('text', new Utf8(), true)]);
    const table = await side.db.createEmptyTable(side.name(), schema);
    return [await table.schema(), await table.countRows()];
  },
  dropTable: async (side) => {
    const { name } = await side.table(1);
    await side.db.dropTable(name);
    return ours(await side.db.tableNames({ limit: 1000 }), side);
  },
  dropTableAsync: async (side) => {
    const { name } = await side.table(1);
    await (await side.db.dropTableAsync(name)).wait();
    return ours(await side.db.tableNames({ limit: 1000 }), side);
  },
  dropAllTables: async ({ db }) => db.dropAllTables(['namespace-of-no-table']),
  renameTable: async (side) => {
    const [{ name }, renamed] = [await side.table(2), side.name()];
    await side.db.renameTable(name, renamed);
    return sortedRows(await (await side.connect()).openTable(renamed));
  },
};

const NAMESPACES: Probes = {
  createNamespace: async (side) => {
    const name = side.name();
    await side.db.createNamespace([name]);
    return (await side.db.listNamespaces([name])).namespaces;
  },
  describeNamespace: async (side) => {
    const name = side.name();
    await side.db.createNamespace([name], { properties: { owner: 'sales' } });
    return (await side.db.describeNamespace([name])).properties;
  },
  listNamespaces: async (side) => {
    await side.db.createNamespace([side.name()]);
    return ours((await side.db.listNamespaces()).namespaces, side);
  },
  dropNamespace: async (side) => {
    const name = side.name();
    await side.db.createNamespace([name]);
    await side.db.dropNamespace([name]);
    return ours((await side.db.listNamespaces()).namespaces, side);
  },
};

/** Of releases 0.37 and 0.38; later ones have `openJob`. */
interface FormerJobs {
  getJob(id: string): Promise<{ id: string | null } | null>;
  job(id: string): { id: string | null };
  jobHistory(): Promise<unknown>;
}

function withFormerJobs(db: Connection): FormerJobs {
  return db as unknown as FormerJobs;
}

const JOBS: Probes = {
  listJobs: async ({ db, items }) => (await db.listJobs()).some(({ table }) => table === items.name),
  openJob: async ({ db }) => {
    const [first] = await db.listJobs();
    return (await db.openJob(first?.jobId ?? '')).id === first?.jobId;
  },
  cancelJob: async ({ db }) => db.cancelJob(NO_JOB),
  getJob: async ({ db }) => {
    const [first] = await db.listJobs();
    return (await withFormerJobs(db).getJob(first?.jobId ?? ''))?.id === first?.jobId;
  },
  job: async ({ db }) => withFormerJobs(db).job(NO_JOB).id,
  jobHistory: async ({ db }) => withFormerJobs(db).jobHistory(),
};

const VIEWS: Probes = {
  createMaterializedView: async (side) => side.db.createMaterializedView(side.name(), side.items.name),
  openMaterializedView: async ({ db }) => db.openMaterializedView('view'),
  listMaterializedViews: async ({ db }) => db.listMaterializedViews(),
};

export const CONNECTION: Probes = { ...TABLES, ...NAMESPACES, ...JOBS, ...VIEWS };

/** Those that this method has made. */
function ours(names: readonly string[], side: Side): readonly string[] {
  return names.filter((name) => side.owns(name));
}
