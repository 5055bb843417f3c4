import type { Type } from 'typebox';
import { ServiceError } from '../../errors/service-error.ts';
import { guardTableProperties } from '../../guard/metadata.ts';
import { isManaged, locationUri } from '../../model/table.ts';
import type { TableRecord, TableSummary } from '../../model/table.ts';
import { DeclareTableBody, DeclareTableReply } from '../../wire/tables.ts';
import { defineNewTableOperation, json, objectReply } from '../operation.ts';
import type { NewTableRequest, Operation, Reply, RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';
import { readFlag } from '../shared/parameters.ts';
import { toCommitEntry } from '../shared/record-commit.ts';
import { removeData } from './drop-table.ts';
import { readNewLocation } from './given-location.ts';
import { vendCredentials, wantsCredentials } from './vend-credentials.ts';

export const declareTable = defineDeclare({
  id: 'declare_table',
  path: '/v1/table/:id/declare',
  summary: 'Reserve a name and a location for data that the caller writes',
});

export const createEmptyTable = defineDeclare({
  id: 'create_empty_table',
  path: '/v1/table/:id/create-empty',
  summary: 'Former name of declare_table, for older clients',
});

function defineDeclare(names: Pick<Operation, 'id' | 'path' | 'summary'>): Operation {
  return defineNewTableOperation({
    ...names,
    permission: 'write',
    body: { kind: 'json', shape: DeclareTableBody },
    replies: [json(DeclareTableReply, 'Location to write the data to.')],
    statuses: [409],
    run: declare,
  });
}

type DeclareRequest = NewTableRequest<Type.Static<typeof DeclareTableBody>>;

async function declare(request: DeclareRequest, services: Services): Promise<Reply> {
  const { path, database, body } = request;
  const { properties = {} } = body;
  guardTableProperties(properties, services.limits.metadata);
  const location = body.location === undefined ? undefined : await readNewLocation(request, body.location, services);
  // Checked before the name is taken.
  wantsCredentials(request, services);
  const { table, transactionId } = await services.catalog.tables.declare(
    { databaseId: database.id, path, root: database.root, location, properties },
    toCommitEntry(request),
  );
  return objectReply<typeof DeclareTableReply>({
    location: locationUri(table.location),
    storage_options: await vendOrUndo(request, table, services),
    properties: table.properties,
    managed_versioning: isManaged(table),
    transaction_id: transactionId,
  });
}

/** Without credentials, undoes the declaration: a repeated request would find the name taken. */
async function vendOrUndo(
  request: DeclareRequest,
  table: TableRecord,
  services: Services,
): Promise<Record<string, string>> {
  try {
    return await vendCredentials(request, { table, isEmpty: true }, services);
  } catch (error) {
    await undoDeclaration(request, table, services);
    throw error;
  }
}

async function undoDeclaration(request: RequestFacts, table: TableRecord, services: Services): Promise<void> {
  const entry = { ...toCommitEntry(request), operation: 'drop_table' };
  try {
    const { removal } = await services.catalog.tables.drop(table, entry);
    await removeData(services, [removal]);
  } catch (cause) {
    throw new ServiceError('ServiceUnavailable', 'The table is declared, but no credentials could be issued for it.', {
      hint: 'Get them with describe_table.',
      cause,
      retryAfterSeconds: 5,
    });
  }
}

type DeclaredParts = Pick<Services, 'engine'> & { readonly catalog: Pick<Services['catalog'], 'tables'> };

/** A declared table becomes an ordinary one once its data is found. */
export async function checkDeclared(table: TableRecord, parts: DeclaredParts): Promise<TableRecord> {
  const { isDeclared, ...published } = table;
  return isDeclared === undefined || (await isOnlyDeclared(table, parts)) ? table : published;
}

/**
 * Whether a table is declared and has no data yet. Refuses data that refers to files of other tables: its writer could
 * read them through the server.
 */
export async function isOnlyDeclared(table: TableSummary, { engine, catalog }: DeclaredParts): Promise<boolean> {
  const { id, location, isDeclared, heldVersion } = table;
  if (isDeclared === undefined) return false;
  // Held at version 0: a batch is about to commit its first version.
  if (heldVersion === 0 || !(await engine.lifecycle.hasData(location))) return true;
  const { version } = await engine.describeTable({ location, branch: undefined, version: undefined });
  await engine.lifecycle.refuseForeignFiles(location, version);
  await catalog.tables.promote(id);
  return false;
}

/** Omits tables without data unless the caller wants them; the LanceDB client could not open them. */
export async function filterDeclared(
  request: RequestFacts,
  tables: readonly TableSummary[],
  services: Services,
): Promise<readonly TableSummary[]> {
  const isIncluded = readFlag(request.query, 'include_declared') ?? request.dialect === 'lance';
  if (isIncluded) return tables;
  const shown: TableSummary[] = [];
  for (const table of tables) if (await isReadable(table, services)) shown.push(table);
  return shown;
}

/** One table with refused data must not fail the whole list. */
async function isReadable(table: TableSummary, services: Services): Promise<boolean> {
  try {
    return !(await isOnlyDeclared(table, services));
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'InvalidInput') return false;
    throw error;
  }
}
