import type { ApiClient } from '../../../../../src/client/api-client.ts';
import { tableAddress } from '../../../../../src/client/calls.ts';
import { ClientError } from '../../../../../src/client/client-error.ts';
import { cellOf, insertRows, queryRows, upsertRows } from '../../../../../src/client/rows.ts';
import type { JsonRow } from '../../../../../src/client/rows.ts';
import { describeTable } from '../../../../../src/client/tables.ts';
import type { TablePath } from '../../../../../src/model/identifier.ts';
import { newKey } from '../../../api.ts';
import type { FieldShape } from '../../../parts/grid/field-type.ts';
import type { ArrowRows } from './arrow-rows.ts';
import { EditConflict, EditFault } from './edit-faults.ts';
import type { ConflictingRow } from './edit-faults.ts';
import { isSame } from './pending-edits.ts';
import type { PendingEdits, StoredRow } from './pending-edits.ts';
import { describeKey, findKey, keyId, keyOf, keysOf, pathsOf, valueText, whereKey, whereRowId } from './row-filter.ts';
import type { RowKey } from './row-filter.ts';

/** The target of edits: the latest version of a branch. */
export interface EditTarget {
  readonly client: ApiClient;
  readonly path: TablePath;
  readonly on: { readonly branch?: string };
  readonly fields: readonly FieldShape[];
  /** Columns that callers write: all except computed ones. */
  readonly writable: readonly string[];
}

/** What an undo needs. */
export interface AppliedEdits {
  readonly from: number;
  readonly version: number;
  /** Present if the rows can be found again by their key. */
  readonly reverse: ReverseEdits | undefined;
}

export interface ReverseEdits {
  readonly key: RowKey;
  readonly edits: PendingEdits;
  /** The original rows that were changed or deleted. */
  readonly before: ArrowRows;
}

const ATTEMPTS_MAX = 4;

/** Runs again on the newest version if another writer committed in between. */
export async function withNewestVersion<Result>(
  { client, path, on }: EditTarget,
  work: (version: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const { version = 0 } = await describeTable(client, path, on);
    try {
      return await work(version);
    } catch (error) {
      const isLate = error instanceof ClientError && error.status === 412;
      if (!isLate) throw error;
      if (attempt === ATTEMPTS_MAX) {
        throw new EditFault(
          'Other writers committed first each time. Nothing was changed.',
          'Apply again in a moment.',
        );
      }
    }
  }
}

/** All of the edits or none: refused if a row differs from what was read. */
export async function applyEdits(target: EditTarget, edits: PendingEdits): Promise<AppliedEdits> {
  return withNewestVersion(target, async (newest) => {
    const plan = UNANSWERED.get(edits) ?? (await planEdits(target, edits, newest));
    const { version, key, before } = plan;
    const written = await send(target, edits, plan);
    const reverse = key === undefined ? undefined : { key, edits, before };
    return { from: version, version: written, reverse };
  });
}

/** Edits that may have been written, partly or completely: repeating the same requests does not write them twice. */
const UNANSWERED = new WeakMap<PendingEdits, SendPlan>();

/** Other edits would be new requests, and write the same rows again. */
export function requireAnswered(edits: PendingEdits): void {
  if (!UNANSWERED.has(edits)) return;
  throw new EditFault(
    'These edits were sent, and may be written. Apply them again before you edit more.',
    'The server recognizes what it has already written.',
  );
}

/** The schema may have changed since the edits were made. */
export function findMisfit({ writable }: EditTarget, { changed, added }: PendingEdits): EditFault | undefined {
  const names = [...changed.values(), ...added].flatMap(({ values }) => Object.keys(values));
  const gone = names.find((name) => !writable.includes(name));
  return gone === undefined
    ? undefined
    : new EditFault(
        `The table no longer has a column ${gone} that can be edited.`,
        'Discard the edits, or restore the column.',
      );
}

async function planEdits(target: EditTarget, edits: PendingEdits, version: number): Promise<SendPlan> {
  const misfit = findMisfit(target, edits);
  if (misfit !== undefined) throw misfit;
  const key = await findUsableKey(target, edits, version);
  const where = key === undefined ? whereRowId(rowIdsOf(edits)) : whereKey(key, keysOf(valuesOf(edits), key) ?? []);
  const current = edits.changed.size + edits.deleted.size === 0 ? [] : await readRows(target, where, version);
  const located = locate(edits, current, key);
  const { readArrowRows, toArrowRow, toArrowStream, withValues } = await import('./arrow-rows.ts');
  const query = { ...target.on, version, ...(current.length === 0 ? { k: 1 } : { filter: where }) };
  const before = await readArrowRows(target.client, target.path, target.writable, query);
  const rows = [
    ...[...edits.changed].map(([rowId, { values }]) => {
      return withValues(before, before.rows.get(located.get(rowId) ?? '') ?? [], values);
    }),
    ...edits.added.map(({ values }) => toArrowRow(before, values)),
  ];
  const stream = rows.length === 0 ? undefined : toArrowStream(before.schema, rows);
  const goneIds = [...edits.deleted.keys()].map((rowId) => located.get(rowId) ?? '');
  const oldIds = [...edits.changed.keys()].map((id) => located.get(id) ?? '');
  return { stream, version, key, before, goneIds, oldIds, requestKey: newKey(), removalKey: newKey() };
}

function storedRows({ changed, deleted }: PendingEdits): readonly StoredRow[] {
  return [...[...changed.values()].map(({ row }) => row), ...deleted.values()];
}

function valuesOf(edits: PendingEdits): readonly JsonRow[] {
  return storedRows(edits).map(({ values }) => values);
}

function rowIdsOf(edits: PendingEdits): readonly string[] {
  return storedRows(edits).map(({ rowId }) => rowId);
}

async function readRows(
  { client, path, on }: EditTarget,
  filter: string,
  version: number,
): Promise<readonly JsonRow[]> {
  return queryRows(client, path, { ...on, version, filter, with_row_id: true });
}

/** The key, if it identifies the edited rows, no edit changes it, and no added row has an existing key. */
async function findUsableKey(target: EditTarget, edits: PendingEdits, version: number): Promise<RowKey | undefined> {
  const key = findKey(target.fields);
  if (key === undefined) return undefined;
  const stored = keysOf(valuesOf(edits), key);
  const added = keysOf(
    edits.added.map(({ values }) => values),
    key,
  );
  const changesKey = [...edits.changed.values()].some(({ values }) =>
    key.names.some((name) => cellOf(values, name) !== undefined),
  );
  if (stored === undefined || added === undefined || changesKey) return undefined;
  const found = await readRows(target, whereKey(key, [...stored, ...added]), version);
  const wanted = new Set(added.map(keyId));
  const taken = found.map((row) => keyOf(row, key)).find((values) => wanted.has(keyId(values)));
  if (taken !== undefined && key.isDeclared) {
    throw new EditFault(
      `There is already a row with ${describeKey(key, taken)}. Nothing was changed.`,
      `${key.names.join(', ')} is the key of the table: give the added row another value.`,
    );
  }
  return taken !== undefined || found.length > stored.length ? undefined : key;
}

/** The row ids of the edited rows in the version to change. */
function locate(
  edits: PendingEdits,
  current: readonly JsonRow[],
  key: RowKey | undefined,
): ReadonlyMap<string, string> {
  const nameOf = (row: JsonRow): string => (key === undefined ? valueText(row['_rowid']) : keyId(keyOf(row, key)));
  const found = new Map(current.map((row) => [nameOf(row), row]));
  const located = new Map<string, string>();
  const conflicts: ConflictingRow[] = [];
  for (const { rowId, values } of storedRows(edits)) {
    const now = found.get(key === undefined ? rowId : nameOf(values));
    // Columns that were added since keep their values.
    const column = now && Object.keys(values).find((name) => !isSame(cellOf(values, name), cellOf(now, name)));
    if (now === undefined || column !== undefined) conflicts.push({ rowId, key, values, now, column });
    else located.set(rowId, valueText(now['_rowid']));
  }
  if (conflicts.length > 0) throw new EditConflict(conflicts);
  return located;
}

interface SendPlan {
  /** The changed and the added rows. */
  readonly stream: Uint8Array | undefined;
  readonly version: number;
  readonly key: RowKey | undefined;
  /** The current rows that are changed or deleted. */
  readonly before: ArrowRows;
  readonly goneIds: readonly string[];
  readonly oldIds: readonly string[];
  /** The Idempotency-Key of the request that writes the rows. */
  readonly requestKey: string;
  /** The key of the request that deletes the old rows. */
  readonly removalKey: string;
  /** The version with the new rows, while the old ones still have to be deleted. */
  readonly inserted?: number;
}

/** Longer conditions do not fit into the address of a merge. */
export const CONDITION_CHARACTERS_MAX = 4000;

/** Keeps the plan until the server confirms that everything is written, or refuses it. */
async function send(target: EditTarget, edits: PendingEdits, plan: SendPlan): Promise<number> {
  UNANSWERED.set(edits, plan);
  try {
    const written = await write(target, edits, plan);
    UNANSWERED.delete(edits);
    return written;
  } catch (error) {
    if (isRefusal(error)) UNANSWERED.delete(edits);
    throw error;
  }
}

function isRefusal(error: unknown): error is ClientError {
  return error instanceof ClientError && error.status < 500;
}

/** One commit, or two for rows without a key. */
async function write(target: EditTarget, edits: PendingEdits, plan: SendPlan): Promise<number> {
  const { client, path, on } = target;
  const { stream, version, key, goneIds, oldIds, requestKey } = plan;
  const headers = { 'if-match': `"${version}"`, 'idempotency-key': requestKey };
  if (stream === undefined) return deleteWhere(target, whereRowId(goneIds), version, requestKey);
  const gone =
    key === undefined
      ? undefined
      : keysOf(
          [...edits.deleted.values()].map(({ values }) => values),
          key,
        );
  const condition = key === undefined || gone === undefined || gone.length === 0 ? undefined : whereKey(key, gone);
  const hasOld = goneIds.length + oldIds.length > 0;
  if (hasOld && key !== undefined && (condition?.length ?? 0) <= CONDITION_CHARACTERS_MAX) {
    const options = { on: pathsOf(key), branch: on.branch, headers, deleteWhere: condition };
    return (await upsertRows(client, path, stream, options)).version;
  }
  const insert = async (): Promise<number> => {
    const reply = await insertRows(client, path, stream, { query: on, headers });
    return reply.version ?? version + 1;
  };
  const inserted = plan.inserted ?? (await insert());
  if (!hasOld) return inserted;
  UNANSWERED.set(edits, { ...plan, inserted });
  return removeOld(target, plan, inserted);
}

/** After the new rows were inserted: deletes the old ones, or removes the new ones again. */
async function removeOld(target: EditTarget, plan: SendPlan, inserted: number): Promise<number> {
  const { version: from, goneIds, oldIds, removalKey } = plan;
  try {
    return await deleteWhere(target, whereRowId([...goneIds, ...oldIds]), inserted, removalKey);
  } catch (error) {
    if (!isRefusal(error)) {
      throw new EditFault(
        `The new rows were added, but it is not known whether the old ones were deleted. ${messageOf(error)}`,
        'Apply again: that finishes the change.',
      );
    }
    if (error.status === 412) {
      throw new EditFault(
        'The new rows were added, but the old ones could not be deleted, because another writer committed in between.',
        `Restore version ${from} in the versions tab to remove the new rows, along with everything written since. Then discard the edits.`,
      );
    }
    await restoreVersion(target, from, inserted).catch(() => {
      throw new EditFault(
        `The new rows were added, but the old ones could not be deleted. ${error.message}`,
        'Apply again: that finishes the change.',
      );
    });
    throw error;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** With a key, repeating the deletion does not delete twice. */
export async function deleteWhere(
  { client, path, on }: EditTarget,
  predicate: string,
  version: number,
  requestKey?: string,
): Promise<number> {
  const key = requestKey === undefined ? {} : { 'idempotency-key': requestKey };
  const call = { json: { ...on, predicate }, headers: { 'if-match': `"${version}"`, ...key } };
  const reply = await client.json<{ readonly version: number }>(tableAddress(path, 'delete'), call);
  return reply.version;
}

/** Only while `latest` is the table's latest version. */
export async function restoreVersion({ client, path, on }: EditTarget, version: number, latest: number) {
  const call = { json: { ...on, version }, headers: { 'if-match': `"${latest}"` } };
  const reply = await client.json<{ readonly version: number }>(tableAddress(path, 'restore'), call);
  return reply.version;
}
