import { isVisible } from '../../model/access.ts';
import { DatabaseBody, DatabaseReply, ListDatabasesReply, PageBody } from '../../wire/access.ts';
import { defineServerOperation, json } from '../operation.ts';
import { readPageSize, readPageToken, toPageToken } from '../shared/pages.ts';
import { requireServerAdministrator } from './read-grant.ts';

/** Where its tables live is never the caller's choice: a folder of its own below the storage root. */
export const createDatabase = defineServerOperation({
  id: 'create_database',
  path: '/v1/database/create',
  summary: 'Create a database: a tenant with tables of its own',
  permission: 'administer',
  body: { kind: 'json', shape: DatabaseBody },
  replies: [json(DatabaseReply, 'The database.')],
  statuses: [409],
  async run({ body, caller }, services) {
    requireServerAdministrator(caller);
    const { name, root } = await services.catalog.databases.create({ name: body.name });
    try {
      await services.engine.lifecycle.ensureRoot(root);
    } catch (error) {
      await services.catalog.databases.drop(name);
      throw error;
    }
    return { kind: 'object', body: { name } };
  },
});

export const dropDatabase = defineServerOperation({
  id: 'drop_database',
  path: '/v1/database/drop',
  summary: 'Drop an empty database and all grants on it',
  permission: 'administer',
  body: { kind: 'json', shape: DatabaseBody },
  replies: [json(DatabaseReply, 'The database that is no more.')],
  statuses: [409],
  async run({ body, caller }, services) {
    requireServerAdministrator(caller);
    await services.catalog.databases.drop(body.name);
    return { kind: 'object', body: { name: body.name } };
  },
});

export const listDatabases = defineServerOperation({
  id: 'list_databases',
  path: '/v1/database/list',
  summary: 'List the databases that the caller may see',
  permission: 'see',
  body: { kind: 'json', shape: PageBody },
  replies: [json(ListDatabasesReply, 'By name.')],
  async run({ body, caller }, services) {
    const limit = readPageSize(body.limit, services.limits.http.pageSizeMax);
    const [after] = body.page_token === undefined ? [] : readPageToken(body.page_token, 1);
    const all = await services.catalog.databases.list();
    const visible = all.map(({ name }) => name).filter((name) => isVisible(caller, name, []));
    const start = after === undefined ? 0 : visible.filter((name) => compareNames(name, after) <= 0).length;
    const page = visible.slice(start, start + limit);
    const last = page.at(-1);
    const hasMore = start + limit < visible.length && last !== undefined;
    return {
      kind: 'object',
      body: { databases: page.map((name) => ({ name })), ...(hasMore ? { page_token: toPageToken([last]) } : {}) },
    };
  },
});

/** In the order of the catalog: byte by byte. */
function compareNames(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
