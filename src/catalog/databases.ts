import { ServiceError } from '../errors/service-error.ts';
import { DEFAULT_DELIMITER, checkName, quoteForMessage } from '../model/identifier.ts';
import type { Database } from '../model/table.ts';
import type { CatalogContext } from './context.ts';
import { createId } from './ids.ts';
import { toStorageDirectory } from './storage-directory.ts';

export interface DatabaseStore {
  find(name: string): Promise<Database | undefined>;
  /** By name. */
  list(): Promise<readonly Database[]>;
  create(database: NewDatabase): Promise<Database>;
}

export interface NewDatabase {
  readonly name: string;
  /** Without one the tables live in a folder of their own below the storage root. */
  readonly root?: string | undefined;
}

export function createDatabaseStore({ read, append, caches, roots, now }: CatalogContext): DatabaseStore {
  const found = caches.create<Database>();
  return {
    async find(name) {
      return found.find(name, async () => {
        const row = await read(async (sql) =>
          sql.selectFrom('databases').select(['id', 'name', 'root']).where('name', '=', name).executeTakeFirst(),
        );
        return row === undefined ? undefined : { ...row, root: roots.fromStored(row.root) };
      });
    },

    async list() {
      const rows = await read(async (sql) =>
        sql.selectFrom('databases').select(['id', 'name', 'root']).orderBy('name').execute(),
      );
      return rows.map((row) => ({ ...row, root: roots.fromStored(row.root) }));
    },

    async create({ name, root }) {
      checkName(name, DEFAULT_DELIMITER);
      const id = createId(now());
      const stored = root === undefined ? `./databases/${toStorageDirectory(name, id)}` : roots.toStored(root);
      const result = await append(async (sql) =>
        sql
          .insertInto('databases')
          .values({ id, name, root: stored, created_at: now() })
          .onConflict((conflict) => conflict.column('name').doNothing())
          .executeTakeFirst(),
      );
      if (result.numInsertedOrUpdatedRows === 1n) return { id, name, root: roots.fromStored(stored) };
      throw new ServiceError('InvalidInput', `There is a database ${quoteForMessage(name)} already.`);
    },
  };
}
