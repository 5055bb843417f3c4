import { isVisible } from '../../model/access.ts';
import { comparePaths } from '../../model/identifier.ts';
import { DEFAULT_DATABASE } from '../../model/table.ts';
import { DatabaseBody, DatabaseReply, ListDatabasesReply, PageBody } from '../../wire/access.ts';
import { defineServerOperation, json, objectReply } from '../operation.ts';
import { cutPage, readPageSize, readPageToken, toPageToken } from '../shared/pages.ts';
import { reportChange, requireServerAdministrator } from './access-rules.ts';

/** The caller never chooses where a database stores its tables: the folder is below the storage root. */
export const createDatabase = defineServerOperation({
  id: 'create_database',
  path: '/v1/database/create',
  summary: 'Create a database',
  permission: 'administer',
  body: { kind: 'json', shape: DatabaseBody },
  replies: [json(DatabaseReply, 'The database.')],
  statuses: [409],
  async run(request, services) {
    requireServerAdministrator(request.caller);
    const { databases } = services.catalog;
    const { name, root } = await databases.create({ name: request.body.name });
    try {
      const first = await databases.find(DEFAULT_DATABASE);
      await services.engine.lifecycle.ensureRoot(root, first?.root ?? root);
    } catch (error) {
      await databases.drop(name);
      throw error;
    }
    reportChange(request, `database:${name}`, services);
    return objectReply<typeof DatabaseReply>({ name });
  },
});

export const dropDatabase = defineServerOperation({
  id: 'drop_database',
  path: '/v1/database/drop',
  summary: 'Drop an empty database and the grants on it',
  permission: 'administer',
  body: { kind: 'json', shape: DatabaseBody },
  replies: [json(DatabaseReply, 'The dropped database.')],
  statuses: [409],
  async run(request, services) {
    requireServerAdministrator(request.caller);
    const { name } = request.body;
    await services.catalog.databases.drop(name);
    reportChange(request, `database:${name}`, services);
    return objectReply<typeof DatabaseReply>({ name });
  },
});

export const listDatabases = defineServerOperation({
  id: 'list_databases',
  path: '/v1/database/list',
  summary: 'List databases',
  permission: 'see',
  body: { kind: 'json', shape: PageBody },
  replies: [json(ListDatabasesReply, 'Databases, ordered by name.')],
  async run({ body, caller }, services) {
    const limit = readPageSize(body.limit, services);
    const [after] = readPageToken(body.page_token, 1) ?? [];
    const all = await services.catalog.databases.list();
    const rest = all
      .map(({ name }) => name)
      .filter((name) => isVisible(caller, name, []) && (after === undefined || comparePaths([name], [after]) > 0));
    const { entries, page_token } = cutPage(rest, limit, (last) => toPageToken([last]));
    return objectReply<typeof ListDatabasesReply>({ databases: entries.map((name) => ({ name })), page_token });
  },
});
