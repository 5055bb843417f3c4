import type { Catalog } from '../../catalog/catalog.ts';
import { PERMISSIONS, administersEverything, authorize } from '../../model/access.ts';
import type { Caller, Grant, Target } from '../../model/access.ts';
import { formatPath } from '../../model/identifier.ts';
import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import { WhoamiQuery, WhoamiReply } from '../../wire/access.ts';
import type { Sent } from '../../wire/shapes.ts';
import { defineDatabaseOperation, json, objectReply } from '../operation.ts';
import type { DatabaseRequest } from '../operation.ts';

export const whoami = defineDatabaseOperation({
  id: 'whoami',
  methods: ['GET'],
  path: '/v1/whoami',
  summary: 'Show the caller, its roles, and its permissions on the database, a namespace or a table',
  permission: 'see',
  reportsAccess: true,
  ignoresData: true,
  query: WhoamiQuery,
  replies: [json(WhoamiReply, 'The caller.')],
  async run(request, { catalog }) {
    const { caller, database, delimiter } = request;
    const target = toTarget(request);
    const tables = await findTables(caller.grants, catalog);
    return objectReply<typeof WhoamiReply>({
      ...(await identify(caller, catalog)),
      id: caller.id,
      is_admin: administersEverything(caller),
      database: database.name,
      roles: caller.grants.map((grant) => toRole(grant, delimiter, tables)),
      permissions: PERMISSIONS.filter((permission) => authorize(caller, permission, target) === 'permitted'),
    });
  },
});

function toTarget({ database: { name }, table, namespace }: DatabaseRequest): Target {
  if (table !== undefined) return { kind: 'table', database: name, path: table.path };
  return { kind: namespace === undefined ? 'database' : 'namespace', database: name, path: namespace ?? [] };
}

/** The id of a caller begins with its kind: `key:<id>`, `client:<id>`, `token:<issuer>#<subject>`, `anonymous`. */
async function identify({ id }: Caller, { keys, clients }: Catalog): Promise<Pick<WhoamiReply, 'kind' | 'name'>> {
  const [kind = '', rest = ''] = id.split(/:(.*)/s, 2);
  if (kind === 'key' || kind === 'client') {
    const record = await (kind === 'key' ? keys : clients).find(rest);
    return { kind, name: record?.name ?? rest };
  }
  return { kind, name: kind === 'token' ? rest.slice(rest.indexOf('#') + 1) : id };
}

type Role = Sent<WhoamiReply['roles'][number]>;

function toRole({ role, database, path }: Grant, delimiter: string, tables: ReadonlySet<string>): Role {
  if (database === undefined) return { role, on: { kind: 'database', name: '*', all_databases: true } };
  if (path.length === 0) return { role, on: { kind: 'database', name: database } };
  const kind = tables.has(keyOf(database, path)) ? 'table' : 'namespace';
  return { role, on: { kind, name: formatPath(path, delimiter), database } };
}

/** Finds the tables at the paths of grants, with one query per database. */
async function findTables(grants: readonly Grant[], { databases, tables }: Catalog): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const name of new Set(grants.map(({ database }) => database))) {
    const database = name === undefined ? undefined : await databases.find(name);
    if (database === undefined) continue;
    const paths = grants.filter((grant) => grant.database === database.name).flatMap(({ path }) => toTablePaths(path));
    const records = await tables.list({ databaseId: database.id, paths, limit: paths.length });
    for (const { path } of records) found.add(keyOf(database.name, path));
  }
  return found;
}

function toTablePaths([first, ...rest]: NamespacePath): readonly TablePath[] {
  return first === undefined ? [] : [[first, ...rest]];
}

function keyOf(database: string, path: NamespacePath): string {
  return JSON.stringify([database, ...path]);
}
