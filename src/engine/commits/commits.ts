import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { GuardedSql } from '../../model/query.ts';
import { engineCall, retryConflicts } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import { readVersion } from '../tables/table-handle.ts';
import type { WriteTarget } from '../tables/table-handle.ts';
import { UpdatePlan } from '../updates/update.ts';
import type { UpdatedRows, UpdateRequest } from '../updates/update.ts';
import { AppendPlan, LongAppendPlan } from './append.ts';
import type { AppendData, AppendedRows, LongAppendData } from './append.ts';
import { planAddColumns, planAlterColumns, planDropColumns } from './columns.ts';
import type { CommitPlan, MultiCommitPlan } from './commit-plan.ts';
import { planMerge } from './merge.ts';
import { planFieldMetadata, planSchemaMetadata } from './metadata.ts';
import { planLongOverwrite, planOverwrite } from './overwrite.ts';
import type { OverwriteData } from './overwrite.ts';

export interface DeletedRows {
  readonly rowsDeleted: number;
}

export type CommitsEngine = ReturnType<typeof createCommitsEngine>;

/** The kinds of commits. A plan does nothing before the table's write queue comes to it. */
export function createCommitsEngine(parts: EngineParts) {
  return {
    append: (data: AppendData): CommitPlan<AppendedRows> => new AppendPlan(parts.limits, data),
    longAppend: (target: WriteTarget, data: LongAppendData): MultiCommitPlan<AppendedRows> =>
      new LongAppendPlan(parts, target, data),
    update: (target: WriteTarget, request: UpdateRequest): CommitPlan<UpdatedRows> =>
      new UpdatePlan(parts, target, request),
    delete: planDelete,
    merge: planMerge,
    overwrite: (data: OverwriteData) => planOverwrite(parts, data),
    longOverwrite: (data: OverwriteData) => planLongOverwrite(parts, data),
    addColumns: planAddColumns,
    alterColumns: planAlterColumns,
    dropColumns: planDropColumns,
    fieldMetadata: planFieldMetadata,
    schemaMetadata: planSchemaMetadata,
    /** Commits the contents of an earlier version again. */
    restore: (target: WriteTarget, version: number) => planRestore(parts, target, version),
    dropIndex: planDropIndex,
  };
}

/** The engine commits a version even when no row matches. */
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
          tables.restoreVersion(target, version),
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
        throw new ServiceError('TableIndexNotFound', `The table has no index ${quoteForMessage(name)}.`);
      }
      return {
        expected: {},
        async commit() {
          await engineCall(async () => native.dropIndex(name));
          table.forget();
          return { version: await readVersion(native), outcome: {} };
        },
      };
    },
  };
}
