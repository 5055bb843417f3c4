import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import type { ArrowChunk } from '../../arrow/stream/checked-stream.ts';
import { quotePath, requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Field, Schema } from '../../model/schema.ts';
import type { CommitPlan, Committed } from './commit-plan.ts';
import { engineCall, storeRows } from '../native/engine-errors.ts';
import type { NativeMerge, NativeTable } from '../native/native.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { requireFit, requireKnown } from './schema-fit.ts';

/** What to do with matching rows, with new rows, and with rows of the table that the source lacks. */
export interface MergeRequest {
  readonly on: readonly FieldPath[];
  readonly updateMatched: boolean;
  /** With the prefixes `target.` and `source.`. */
  readonly updateFilter: GuardedSql | undefined;
  readonly insertNew: boolean;
  readonly deleteOthers: boolean;
  /** On rows of the table only. */
  readonly deleteFilter: GuardedSql | undefined;
  readonly useIndex: boolean;
  /** On the clock of `performance.now()`: nothing is started after it. */
  readonly deadline: number | undefined;
}

/** One chunk: the engine takes the whole source at once. */
export interface MergeSource {
  readonly schema: Schema;
  readonly chunk: ArrowChunk;
}

export interface MergeCounts {
  readonly rowsInserted: number;
  readonly rowsUpdated: number;
  readonly rowsDeleted: number;
  readonly rowsWritten: number;
  readonly attempts: number;
}

/** Must run in the table's write queue: concurrent merges can insert one new key twice. */
export function planMerge(source: MergeSource, request: MergeRequest): CommitPlan<MergeCounts> {
  return {
    kinds: ['update', 'append', 'delete'],
    async prepare(table) {
      const schema = await table.schema();
      const keys = requireKeys(request.on, schema, source.schema);
      if (request.insertNew) requireFit(source.schema, schema);
      else requireKnown(source.schema.fields, schema.fields);
      const merge = toMerge(table.native, keys, { source, request, schema });
      return { commit: async () => execute(merge, table, source.chunk.file) };
    },
  };
}

/** The engine matches on top-level columns only, and on columns of the same name in the source. */
function requireKeys(on: readonly FieldPath[], table: Schema, source: Schema): readonly Field[] {
  return on.map((path) => {
    const field = requireField(table, path);
    const name = quotePath(path);
    if (path.length > 1) {
      throw invalidInput(`Rows cannot be matched on the nested field ${name}.`, 'Match on top-level columns.');
    }
    if (field.name.includes('"')) {
      throw invalidInput(`Rows cannot be matched on the column ${name}, which has a quote in its name.`);
    }
    if (!source.fields.some((candidate) => candidate.name === field.name)) {
      throw new ServiceError(
        'TableSchemaValidationError',
        `The rows lack the column ${name} that they are matched on.`,
      );
    }
    return field;
  });
}

interface Merging {
  readonly source: MergeSource;
  readonly request: MergeRequest;
  readonly schema: Schema;
}

function toMerge(native: NativeTable, keys: readonly Field[], merging: Merging): NativeMerge {
  const { request } = merging;
  // Each call returns a new builder; only the timeout is set in place.
  let merge = native.mergeInsert(keys.map(({ name }) => name));
  if (request.updateMatched) merge = merge.whenMatchedUpdateAll(request.updateFilter ?? null);
  if (request.insertNew) merge = merge.whenNotMatchedInsertAll();
  if (request.deleteOthers) merge = merge.whenNotMatchedBySourceDelete(request.deleteFilter ?? null);
  merge = merge.useIndex(request.useIndex && isFitForIndex(keys, merging));
  if (request.deadline !== undefined) merge.setTimeout(remaining(request.deadline));
  return merge;
}

/**
 * With an index on the key the engine loses new rows whose key is null, counts wrong when the columns come in another
 * order, and panics over a filter when some are left out. Without, it does all of that right, only slower.
 */
function isFitForIndex(keys: readonly Field[], { source, schema }: Merging): boolean {
  const { fields } = source.schema;
  const isWhole = fields.length === schema.fields.length;
  const isInOrder = fields.every(({ name }, index) => name === schema.fields[index]?.name);
  const hasPlainKeys = keys.every(
    ({ name, type }) => type.kind !== 'dictionary' && !source.chunk.nullColumns.has(name),
  );
  return isWhole && isInOrder && hasPlainKeys;
}

function remaining(deadline: number): number {
  const milliseconds = Math.floor(deadline - performance.now());
  if (milliseconds > 0) return milliseconds;
  throw new ServiceError('RequestTimeout', 'The merge did not get its turn within the time that it was given.');
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
