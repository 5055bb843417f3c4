import { ServiceError } from '../../errors/service-error.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import { AppendPlan, LongAppend } from './append.ts';
import type { AppendData, AppendedRows, LongAppendData } from './append.ts';
import type { ColumnAlteration, NewColumn } from './columns.ts';
import { planAddColumns, planAlterColumns, planDropColumns } from './columns.ts';
import type { CommitPlan, MultiCommitPlan } from './commit-plan.ts';
import { restoreVersion, retryConflicts } from './commit-target.ts';
import type { WriteTarget } from './commit-target.ts';
import { engineCall } from '../native/engine-errors.ts';
import { planFieldMetadata, planSchemaMetadata } from './metadata.ts';
import type { FieldMetadataEntry, FieldMetadataOutcome, SchemaMetadataOutcome } from './metadata.ts';
import { indexNotFound } from '../native/table-error-rules.ts';
import { planMerge } from './merge.ts';
import type { MergeCounts, MergeRequest, MergeSource } from './merge.ts';
import { planLongOverwrite, planOverwrite } from './overwrite.ts';
import type { OverwriteData } from './overwrite.ts';
import type { EngineParts } from '../parts.ts';
import { UpdateCommit } from '../updates/update.ts';
import type { UpdatedRows, UpdateRequest } from '../updates/update.ts';

export interface DeletedRows {
  readonly rowsDeleted: number;
}

/** What can be committed to a table. A plan does nothing before the table's write queue comes to it. */
export interface CommitsEngine {
  append(data: AppendData): CommitPlan<AppendedRows>;
  update(target: WriteTarget, request: UpdateRequest): CommitPlan<UpdatedRows>;
  delete(predicate: GuardedSql): CommitPlan<DeletedRows>;
  merge(source: MergeSource, request: MergeRequest): CommitPlan<MergeCounts>;
  overwrite(data: OverwriteData): CommitPlan<AppendedRows>;
  addColumns(columns: readonly NewColumn[], columnsMax: number): CommitPlan<object>;
  alterColumns(alterations: readonly ColumnAlteration[]): CommitPlan<object>;
  dropColumns(paths: readonly FieldPath[]): CommitPlan<object>;
  fieldMetadata(entries: readonly FieldMetadataEntry[]): CommitPlan<FieldMetadataOutcome>;
  schemaMetadata(metadata: Readonly<Record<string, string>>): CommitPlan<SchemaMetadataOutcome>;
  /** Makes the contents of an earlier version the latest. */
  restore(target: WriteTarget, version: number): CommitPlan<object>;
  dropIndex(name: string): CommitPlan<object>;
  longAppend(target: WriteTarget, data: LongAppendData): MultiCommitPlan<AppendedRows>;
  longOverwrite(data: OverwriteData): MultiCommitPlan<AppendedRows>;
}

export function createCommitsEngine(parts: EngineParts): CommitsEngine {
  return {
    append: (data) => new AppendPlan(parts.limits, data),
    update: (target, request) => new UpdateCommit(parts, target, request),
    delete: planDelete,
    merge: planMerge,
    overwrite: (data) => planOverwrite(parts, data),
    addColumns: planAddColumns,
    alterColumns: planAlterColumns,
    dropColumns: planDropColumns,
    fieldMetadata: planFieldMetadata,
    schemaMetadata: planSchemaMetadata,
    restore: (target, version) => planRestore(parts, target, version),
    dropIndex: planDropIndex,
    longAppend: (target, data) => new LongAppend(parts, target, data),
    longOverwrite: (data) => planLongOverwrite(parts, data),
  };
}

/** The engine makes a version even when no row matches. */
function planDelete(predicate: GuardedSql): CommitPlan<DeletedRows> {
  return {
    kinds: ['delete'],
    prepare: async (table) => ({
      async commit() {
        const { numDeletedRows, version } = await engineCall(async () => table.native.delete(predicate));
        table.moved(version);
        return { version, outcome: { rowsDeleted: numDeletedRows } };
      },
    }),
  };
}

function planRestore({ tables, limits }: EngineParts, target: WriteTarget, version: number): CommitPlan<object> {
  return {
    kinds: ['restore'],
    prepare: async (table) => ({
      expected: {},
      async commit() {
        const restored = await retryConflicts(limits.writeAttemptsMax, async () =>
          restoreVersion(tables, target, version),
        );
        table.forget();
        return { version: restored, outcome: {} };
      },
    }),
  };
}

function planDropIndex(name: string): CommitPlan<object> {
  return {
    kinds: ['drop-index'],
    async prepare(table) {
      const { native } = table;
      const indexes = await engineCall(async () => native.listIndices());
      if (!indexes.some((index) => index.name === name)) {
        throw new ServiceError('TableIndexNotFound', indexNotFound(name));
      }
      return {
        expected: {},
        async commit() {
          await engineCall(async () => native.dropIndex(name));
          table.forget();
          return { version: await engineCall(async () => native.version()), outcome: {} };
        },
      };
    },
  };
}
