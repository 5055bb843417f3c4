import type { Catalog } from '../catalog/catalog.ts';
import type { TablePath } from '../model/identifier.ts';
import type { TableRecord } from '../model/table.ts';

const PAGE_TABLES = 100;

/** All tables of all databases, a page at a time; whoever pulls decides how fast. */
export async function* walkTables(catalog: Pick<Catalog, 'databases' | 'tables'>): AsyncGenerator<TableRecord> {
  for (const { id: databaseId } of await catalog.databases.list()) {
    let after: TablePath | undefined;
    for (let isLast = false; !isLast;) {
      const page = await catalog.tables.list({
        databaseId,
        limit: PAGE_TABLES,
        ...(after === undefined ? {} : { after }),
      });
      yield* page;
      after = page.at(-1)?.path;
      isLast = page.length < PAGE_TABLES;
    }
  }
}
