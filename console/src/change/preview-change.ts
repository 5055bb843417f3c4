import type { ApiClient } from '../../../src/client/api-client.ts';
import { ClientError } from '../../../src/client/client-error.ts';
import type { JsonRow, JsonValue } from '../../../src/client/rows.ts';
import { tableAddress } from '../../../src/client/calls.ts';
import { countRows, queryRows } from '../../../src/client/rows.ts';
import { describeTable } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { findDimension } from '../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';
import type { TableOperation } from '../../../src/snippets/table-request.ts';
import type { UpdateTableReply, DeleteReply } from '../../../src/wire/data.ts';
import type { RestoreTableReply } from '../../../src/wire/history/versions.ts';
import { FormError } from '../lab/form/query-body.ts';
import { afterOf, beforeOf, branchOf } from './change-form.ts';
import type { ChangeForm } from './change-form.ts';

export const ROWS_SHOWN = 20;
/** Unchanged columns that identify a row. */
const OTHERS_SHOWN = 4;

interface ChangedCell {
  readonly path: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

export interface ChangedRow {
  readonly others: JsonRow;
  readonly cells: readonly ChangedCell[];
}

export interface Preview {
  readonly form: ChangeForm;
  readonly version: number;
  readonly count: number;
  readonly rows: readonly ChangedRow[];
}

export async function previewChange(
  client: ApiClient,
  table: TablePath,
  form: ChangeForm,
  columns: readonly ColumnFact[],
): Promise<Preview> {
  const branch = branchOf(form);
  const { version } = await describeTable(client, table, branch);
  if (version === undefined) throw new FormError('The table has no data yet.', 'Load some first.');
  const condition = form.where.trim();
  const count = await countRows(client, table, {
    ...branch,
    version,
    ...(condition === '' ? {} : { predicate: condition }),
  });
  const { others, changed } = toProjection(form, columns);
  const aliases = Object.fromEntries([
    ...others.map((path, index) => [`other_${index}`, beforeOf(path)]),
    ...changed.flatMap(({ path, after }, index) => [
      [`before_${index}`, beforeOf(path)],
      ...(after === undefined ? [] : [[`after_${index}`, after]]),
    ]),
  ]);
  const rows = await queryRows(client, table, {
    ...branch,
    version,
    k: ROWS_SHOWN,
    columns: { column_aliases: aliases },
    ...(condition === '' ? {} : { filter: condition }),
  });
  return { form, version, count, rows: rows.map((row) => toChangedRow(row, others, changed)) };
}

interface Projection {
  readonly others: readonly string[];
  readonly changed: readonly { readonly path: string; readonly after: string | undefined }[];
}

function toProjection(form: ChangeForm, columns: readonly ColumnFact[]): Projection {
  const narrow = columns.filter(({ type }) => findDimension(type) === undefined).map(({ path }) => path);
  if (form.kind === 'delete') return { others: narrow.slice(0, OTHERS_SHOWN * 2), changed: [] };
  const paths = form.assignments.map(({ path }) => path);
  return {
    others: narrow.filter((path) => !paths.includes(path)).slice(0, OTHERS_SHOWN),
    changed: form.assignments.map((each) => ({ path: each.path, after: afterOf(each, columns) })),
  };
}

function toChangedRow(row: JsonRow, others: readonly string[], changed: Projection['changed']): ChangedRow {
  return {
    others: Object.fromEntries(others.map((path, index) => [path, row[`other_${index}`] ?? null])),
    cells: changed.map(({ path }, index) => ({ path, before: row[`before_${index}`], after: row[`after_${index}`] })),
  };
}

export interface Done {
  readonly rows: number;
  readonly version: number;
}

/** Runs the change only on the previewed version, which is compared first and sent as a precondition. */
export async function runChange(client: ApiClient, table: TablePath, { form, version }: Preview): Promise<Done> {
  const now = await describeTable(client, table, branchOf(form));
  if (now.version !== version) throw new StalePreview(version, now.version);
  const { name, body: json } = toOperation(form);
  const address = tableAddress(table, name);
  const headers = { 'if-match': `"${version}"` };
  try {
    if (name === 'delete') {
      const reply = await client.json<DeleteReply>(address, { json, headers });
      return { rows: reply.num_deleted_rows, version: reply.version };
    }
    const reply = await client.json<UpdateTableReply>(address, { json, headers });
    return { rows: reply.updated_rows, version: reply.version };
  } catch (error) {
    if (error instanceof ClientError && error.status === 412) throw new StalePreview(version, undefined);
    throw error;
  }
}

export function toOperation(form: ChangeForm): Extract<TableOperation, { name: 'update' | 'delete' }> {
  const condition = form.where.trim();
  if (form.kind === 'delete') return { name: 'delete', body: { ...branchOf(form), predicate: condition } };
  const updates = form.assignments.map(({ path, expression }): [string, string] => [path, expression]);
  const predicate = condition === '' ? {} : { predicate: condition };
  return { name: 'update', body: { ...branchOf(form), updates, ...predicate } };
}

/** Another writer committed after the preview. */
export class StalePreview extends FormError {
  constructor(seen: number, now: number | undefined) {
    super(
      `The table has changed since the preview: it was at version ${seen}${now === undefined ? '' : `, and is at ${now}`}.`,
      'Nothing was done. Preview again to see what the change would do now.',
    );
  }
}

interface ChangeToUndo {
  readonly branch?: string;
  /** The version before the change. */
  readonly from: number;
  /** The version that the change created. */
  readonly to: number;
}

/** Restores the previous version, unless something else was written meanwhile. */
export async function undoChange(
  client: ApiClient,
  table: TablePath,
  { from, to, ...branch }: ChangeToUndo,
): Promise<number> {
  const call = { json: { ...branch, version: from }, headers: { 'if-match': `"${to}"` } };
  try {
    return (await client.json<RestoreTableReply>(tableAddress(table, 'restore'), call)).version;
  } catch (error) {
    if (!(error instanceof ClientError) || error.status !== 412) throw error;
    throw new FormError(
      `The table was written to after version ${to}, so nothing was undone.`,
      `Restore version ${from} in the versions tab to take back the later writes as well.`,
    );
  }
}
