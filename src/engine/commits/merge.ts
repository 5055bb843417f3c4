import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { quotePath, requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import { childFields, isJson } from '../../model/schema.ts';
import type { Field, Schema } from '../../model/schema.ts';
import { addComputed } from '../computed/compute-columns.ts';
import { findComputed, refuseGiven } from '../computed/definitions.ts';
import type { ComputedColumn } from '../computed/definitions.ts';
import { engineCall, storeRows } from '../native/engine-errors.ts';
import type { NativeMerge } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { refuseAmbiguousNames } from '../workarounds/exact-names.ts';
import { canUseIndex } from '../workarounds/merge-index.ts';
import type { MergeSource } from '../workarounds/merge-index.ts';
import type { CommitPlan, Committed } from './commit-plan.ts';
import { isEncodedOtherwise, requireFit, requireKnown } from './schema-fit.ts';

/** What to do with matching rows, new rows, and rows of the table that the source lacks. */
export interface MergeRequest {
  readonly on: readonly FieldPath[];
  readonly updateMatched: boolean;
  /** With the prefixes `target.` and `source.`. */
  readonly updateFilter: GuardedSql | undefined;
  readonly insertNew: boolean;
  readonly deleteOthers: boolean;
  /** Applies to rows of the table only. */
  readonly deleteFilter: GuardedSql | undefined;
  readonly useIndex: boolean;
  /** On the clock of `performance.now()`: nothing starts after it. */
  readonly deadline: number | undefined;
}

export interface MergeCounts {
  readonly rowsInserted: number;
  readonly rowsUpdated: number;
  readonly rowsDeleted: number;
  readonly rowsWritten: number;
  readonly attempts: number;
}

/**
 * Must run in the table's write queue: concurrent merges can insert the same new key twice. The source is one chunk,
 * because the engine needs it as a whole.
 */
export function planMerge(parts: EngineParts, given: MergeSource, request: MergeRequest): CommitPlan<MergeCounts> {
  return {
    kinds: ['update', 'append', 'delete'],
    async prepare(table) {
      const schema = await table.schema();
      refuseAmbiguousNames(schema, [request.updateFilter, request.deleteFilter]);
      const keys = requireKeys(request.on, schema, given.schema);
      if (request.insertNew) requireFit(given.schema, schema);
      else requireKnown(given.schema.fields, schema.fields);
      const computed = findMerged(findComputed(schema, parts.sqlLimits), { given: given.schema, keys, request });
      const isAsStored = computed.length === 0 && !isEncodedOtherwise(given.schema, schema);
      const source = isAsStored ? given : await toStored(parts, table, given, computed);
      // Each call returns a new builder; only the timeout is set in place.
      let merge = table.native.mergeInsert(keys.map(({ name }) => name));
      if (request.updateMatched) merge = merge.whenMatchedUpdateAll(request.updateFilter);
      if (request.insertNew) merge = merge.whenNotMatchedInsertAll();
      if (request.deleteOthers) merge = merge.whenNotMatchedBySourceDelete(request.deleteFilter);
      merge = merge.useIndex(request.useIndex && canUseIndex(keys, source, schema));
      if (request.deadline !== undefined) merge.setTimeout(remaining(request.deadline));
      return { commit: async () => execute(merge, table, source.chunk.file) };
    },
  };
}

interface MergedRows {
  readonly given: Schema;
  readonly keys: readonly Field[];
  readonly request: MergeRequest;
}

/** The computed columns that the merge writes. Matching rows keep the others, whose inputs do not change. */
function findMerged(computed: readonly ComputedColumn[], { given, keys, request }: MergedRows) {
  refuseGiven(given, computed);
  const names = new Set(given.fields.map(({ name }) => name));
  const keyNames = new Set(keys.map(({ name }) => name));
  return computed.filter(({ field, inputs }) => {
    // New rows are null in missing columns.
    if (!request.updateMatched) return request.insertNew;
    const isChanged = [...inputs].some((name) => names.has(name) && !keyNames.has(name));
    if (!isChanged && !request.insertNew) return false;
    const missing = [...inputs].find((name) => !names.has(name));
    if (missing === undefined) return true;
    throw new ServiceError(
      'TableSchemaValidationError',
      `The rows have no column ${quotePath([missing])}, from which ${quotePath([field.name])} is computed.`,
      { hint: 'Send all columns that it is computed from, or update the rows with SQL.' },
    );
  });
}

async function toStored(
  parts: EngineParts,
  table: OpenTable,
  { schema, chunk }: MergeSource,
  computed: readonly ComputedColumn[],
): Promise<MergeSource> {
  if (chunk.rows === 0) return { schema, chunk };
  const whole = await addComputed(parts, table, { schema, file: chunk.file }, computed);
  return { schema: whole.schema, chunk: { ...chunk, file: whole.file } };
}

/** The engine matches only on top-level columns, which must have the same name in the source. */
export function requireKeys(on: readonly FieldPath[], table: Schema, source: Schema): readonly Field[] {
  return on.map((path) => {
    const field = requireField(table, path);
    const name = quotePath(path);
    if (path.length > 1) {
      throw invalidInput(`Rows cannot be matched on the nested field ${name}.`, 'Match on top-level columns.');
    }
    if (field.name.includes('"')) {
      throw invalidInput(`Rows cannot be matched on the column ${name}, which has a quote in its name.`);
    }
    // The engine would compare the table's binary form with text, so no row would match.
    if (holdsJson(field)) {
      throw invalidInput(
        `Rows cannot be matched on the column ${name}, which contains JSON.`,
        'Match on columns of other types.',
      );
    }
    if (!source.fields.some((candidate) => candidate.name === field.name)) {
      throw new ServiceError(
        'TableSchemaValidationError',
        `The rows have no column ${name}, on which they are matched.`,
      );
    }
    return field;
  });
}

function holdsJson(field: Field): boolean {
  return isJson(field) || childFields(field.type).some(holdsJson);
}

function remaining(deadline: number): number {
  const milliseconds = Math.floor(deadline - performance.now());
  if (milliseconds > 0) return milliseconds;
  throw new ServiceError('RequestTimeout', 'The merge did not start within its timeout.');
}

async function execute(merge: NativeMerge, table: OpenTable, file: Buffer): Promise<Committed<MergeCounts>> {
  const result = await storeRows(async () => engineCall(async () => merge.execute(file)));
  table.moved(result.version);
  return {
    version: result.version,
    outcome: {
      rowsInserted: result.numInsertedRows,
      rowsUpdated: result.numUpdatedRows,
      rowsDeleted: result.numDeletedRows,
      rowsWritten: result.numRows,
      attempts: result.numAttempts,
    },
  };
}
