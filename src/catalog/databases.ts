import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { DEFAULT_DELIMITER, checkName, quoteForMessage } from '../model/identifier.ts';
import { databaseNotFound } from '../model/refusals.ts';
import { DEFAULT_DATABASE } from '../model/table.ts';
import type { Database } from '../model/table.ts';
import { readQuota } from './access/quotas.ts';
import type { CatalogContext } from './context.ts';
import { createId } from './ids.ts';
import { toStorageDirectory } from './storage-roots.ts';
import type { Sql } from './store.ts';

export function createDatabaseStore({ read, write, append, caches, roots, now }: CatalogContext) {
  const cache = caches.create<Database>();
  const toDatabase = (row: Database): Database => ({ ...row, root: roots.fromStored(row.root) });
  return {
    /** Includes its quota. As of `since`, when a request arrived; by default, as of now. */
    async find(name: string, since?: number): Promise<Database | undefined> {
      const load = async (sql: Sql): Promise<Database | undefined> => {
        const row = await selectDatabases(sql).where('name', '=', name).executeTakeFirst();
        if (row === undefined) return undefined;
        const quota = await readQuota(sql, `database:${row.id}`);
        return toDatabase(quota === undefined ? row : { ...row, quota });
      };
      return cache.find(name, async () => read(load), since);
    },

    async list(): Promise<readonly Database[]> {
      const rows = await read(async (sql) => selectDatabases(sql).orderBy('name').execute());
      return rows.map(toDatabase);
    },

    /** By default, the root is a new folder below the storage root. */
    async create({ name, root }: { readonly name: string; readonly root?: string | undefined }): Promise<Database> {
      checkName(name, DEFAULT_DELIMITER);
      if (name.trim() !== name) {
        const hint = 'The header that chooses a database would lose the space.';
        throw invalidInput(`The name ${quoteForMessage(name)} begins or ends with a space.`, hint);
      }
      const id = createId(now());
      const stored = root === undefined ? `./databases/${toStorageDirectory(name, id)}` : roots.toStored(root);
      const result = await append(async (sql) =>
        sql
          .insertInto('databases')
          .values({ id, name, root: stored, createdAt: now() })
          .onConflict((conflict) => conflict.column('name').doNothing())
          .executeTakeFirst(),
      );
      if (result.numInsertedOrUpdatedRows === 1n) return toDatabase({ id, name, root: stored });
      throw new ServiceError('DatabaseAlreadyExists', `The database ${quoteForMessage(name)} already exists.`);
    },

    /**
     * Also drops its quota and all grants on it, which a later database of this name must not inherit. Refused unless
     * empty.
     */
    async drop(name: string): Promise<void> {
      if (name === DEFAULT_DATABASE) throw invalidInput('The default database cannot be dropped.');
      await write(async (sql) => dropDatabase(sql, name));
    },
  };
}

function selectDatabases(sql: Sql) {
  return sql.selectFrom('databases').select(['id', 'name', 'root']);
}

async function dropDatabase(sql: Sql, name: string): Promise<void> {
  const database = await selectDatabases(sql).where('name', '=', name).executeTakeFirst();
  if (database === undefined) throw databaseNotFound(name);
  for (const content of ['tables', 'namespaces'] as const) {
    const row = await sql.selectFrom(content).select('id').where('databaseId', '=', database.id).executeTakeFirst();
    if (row === undefined) continue;
    throw new ServiceError('DatabaseNotEmpty', `The database ${quoteForMessage(name)} is not empty.`, {
      hint: `Drop its ${content} first.`,
    });
  }
  for (const trace of ['transactions', 'releases', 'renames', 'webhooks'] as const) {
    await sql.deleteFrom(trace).where('databaseId', '=', database.id).execute();
  }
  await sql.deleteFrom('grants').where('databaseName', '=', name).execute();
  await sql.deleteFrom('quotas').where('subject', '=', `database:${database.id}`).execute();
  await sql.deleteFrom('databases').where('id', '=', database.id).execute();
}
