import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, nameOf, quoteForMessage } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation, TableRecord, TableSummary } from '../../model/table.ts';
import { locationUri } from '../../model/table.ts';
import type { IndexTuning } from '../../model/tuning/search-tuning.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import type { LocationRow, TableRow } from '../schema/rows.ts';
import { toStorageDirectory } from '../storage-roots.ts';
import type { StorageRoots } from '../storage-roots.ts';
import type { Sql } from '../store.ts';

export function toTableRecord(row: TableRow, roots: StorageRoots): TableRecord {
  return {
    ...toTableSummary(row, roots),
    properties: toProperties(row.properties),
    createdBy: row.createdBy,
    ...(row.tunings === null ? {} : { tunings: toTunings(row.tunings) }),
  };
}

/**
 * SQLite reads a row's whole properties to reach the columns after them. Of these columns, only the held version and
 * branch come after, and they are null in nearly all rows.
 */
export const SUMMARY_COLUMNS = [
  'id',
  'databaseId',
  'path',
  'state',
  'placeKind',
  'placeRoot',
  'placeDirectory',
  'enginePath',
  'heldVersion',
  'heldBranch',
] as const;

export function toTableSummary(
  row: Pick<TableRow, (typeof SUMMARY_COLUMNS)[number]>,
  roots: StorageRoots,
): TableSummary {
  return {
    id: row.id,
    databaseId: row.databaseId,
    path: toTablePath(row.path),
    location: toLocation(row, roots),
    heldVersion: row.heldVersion ?? undefined,
    ...(row.heldBranch === null ? {} : { heldBranch: row.heldBranch }),
    ...(row.state === 'declared' ? { isDeclared: true } : {}),
  };
}

export function toLocation(row: Omit<LocationRow, 'location'>, roots: StorageRoots): TableLocation {
  const { placeKind: kind, placeDirectory: directory } = row;
  const root = roots.fromStored(row.placeRoot);
  if (kind === 'listed') return { kind, root, directory };
  // Written by `toLocationColumns`, from a list of texts.
  const enginePath: readonly string[] = JSON.parse(row.enginePath ?? '[]');
  return { kind, root, enginePath, directory };
}

function toLocationColumns(location: TableLocation, roots: StorageRoots): LocationRow {
  const root = roots.toStored(location.root);
  return {
    placeKind: location.kind,
    placeRoot: root,
    placeDirectory: location.directory,
    enginePath: location.kind === 'namespaced' ? JSON.stringify(location.enginePath) : null,
    location: locationUri({ ...location, root }),
  };
}

/** A new directory for a table. */
export function chooseLocation(root: string, path: TablePath, tableId: string): TableLocation {
  return { kind: 'listed', root, directory: toStorageDirectory(nameOf(path), tableId) };
}

export function toProperties(text: string): Readonly<Record<string, string>> {
  // Only ever written from a record of texts.
  const properties: Readonly<Record<string, string>> = JSON.parse(text);
  return properties;
}

function toTunings(text: string): readonly IndexTuning[] {
  // Only `saveTuning` writes it.
  const tunings: readonly IndexTuning[] = JSON.parse(text);
  return tunings;
}

/** Replaces the tunings of these indexes by `tuning`; `undefined` removes them. */
export async function saveTuning(
  sql: Sql,
  tableId: string,
  isReplaced: (tuning: IndexTuning) => boolean,
  tuning: IndexTuning | undefined,
): Promise<void> {
  const row = await visibleTables(sql).where('id', '=', tableId).executeTakeFirst();
  if (row === undefined) return;
  const others = toTunings(row.tunings ?? '[]').filter((each) => !isReplaced(each));
  const all = tuning === undefined ? others : [...others, tuning];
  const tunings = all.length === 0 ? null : JSON.stringify(all);
  await sql.updateTable('tables').set({ tunings }).where('id', '=', tableId).execute();
}

/** Published and declared tables. */
export function visibleTables(sql: Sql) {
  return sql.selectFrom('tables').selectAll().where('state', '!=', 'reserved');
}

export async function findVisible(sql: Sql, databaseId: string, path: TablePath): Promise<TableRow | undefined> {
  const tables = visibleTables(sql).where('databaseId', '=', databaseId);
  return tables.where('path', '=', toPathText(path)).executeTakeFirst();
}

type OtherColumns = Omit<
  TableRow,
  keyof LocationRow | 'properties' | 'heldVersion' | 'heldBranch' | 'nodeId' | 'storedRows' | 'storedBytes' | 'tunings'
>;

export interface NewTableRow extends OtherColumns {
  readonly location: TableLocation;
  readonly properties?: Readonly<Record<string, string>>;
  readonly nodeId?: string | null;
}

export function toTableRow(table: NewTableRow, roots: StorageRoots): TableRow {
  const { location, properties = {}, nodeId = null, ...columns } = table;
  const unset = { heldVersion: null, heldBranch: null, storedRows: null, storedBytes: null, tunings: null };
  return {
    ...columns,
    nodeId,
    ...toLocationColumns(location, roots),
    properties: JSON.stringify(properties),
    ...unset,
  };
}

/** Refuses a path that is taken. From now on, the path no longer leads to a table that was renamed away from it. */
export async function insertTable(sql: Sql, path: TablePath, row: TableRow): Promise<void> {
  const result = await sql
    .insertInto('tables')
    .values(row)
    .onConflict((conflict) => conflict.columns(['databaseId', 'path']).doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows !== 1n) throw tableExists(path);
  await deleteRename(sql, row.databaseId, row.path);
}

export async function deleteRename(sql: Sql, databaseId: string, pathText: string): Promise<void> {
  await sql.deleteFrom('renames').where('databaseId', '=', databaseId).where('path', '=', pathText).execute();
}

export function tableExists(path: TablePath): ServiceError {
  return new ServiceError('TableAlreadyExists', `The table ${quoteForMessage(formatPath(path))} already exists.`);
}

/** `branch` is absent for the main branch. */
interface HeldState {
  readonly version: number;
  readonly branch: string | undefined;
}

/** Pins readers of the branch to this version. Refused while another version is held. */
export async function holdVersion(sql: Sql, tableId: string, held: HeldState): Promise<void> {
  const { version: heldVersion, branch: heldBranch = null } = held;
  const row = await visibleTables(sql).where('id', '=', tableId).executeTakeFirst();
  if (row === undefined) throw new ServiceError('TableNotFound', 'The table no longer exists.');
  const isSame = row.heldVersion === heldVersion && row.heldBranch === heldBranch;
  if (row.heldVersion !== null && !isSame) {
    throw new ServiceError('ConcurrentModification', 'Another request is writing a lot of data to the table.');
  }
  await sql.updateTable('tables').set({ heldVersion, heldBranch }).where('id', '=', tableId).execute();
}

export async function releaseVersion(sql: Sql, tableId: string): Promise<void> {
  const released = { heldVersion: null, heldBranch: null };
  await sql.updateTable('tables').set(released).where('id', '=', tableId).execute();
}
