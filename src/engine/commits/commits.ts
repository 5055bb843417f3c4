import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Schema } from '../../model/schema.ts';
import { isObjectRoot } from '../../model/table.ts';
import type { Submission } from '../../storage/storage.ts';
import { engineCall, retryConflicts } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable, WriteTarget } from '../tables/table-handle.ts';
import type { MergeSource } from '../workarounds/merge-index.ts';
import { useExactNames } from '../workarounds/exact-names.ts';
import { findIndexes } from '../workarounds/branch-indexes.ts';
import { planCrossedUpdate } from '../updates/crossed-update.ts';
import { UpdatePlan } from '../updates/update.ts';
import type { UpdateRequest } from '../updates/update.ts';
import { planFill } from '../computed/fill.ts';
import type { FillRequest } from '../computed/fill.ts';
import { NeedsTwoCommits } from '../computed/recompute.ts';
import { planRecomputingUpdate } from '../computed/recomputing-update.ts';
import { requireKept } from '../versions/removals.ts';
import { AppendPlan, planLongAppend } from './append.ts';
import type { AppendData, LongAppendData } from './append.ts';
import { planAddColumns, planAddComputedColumns, planAlterColumns, planDropColumns } from './columns.ts';
import type { NewComputedColumn } from './columns.ts';
import { planChange } from './commit-plan.ts';
import type { CommitPlan } from './commit-plan.ts';
import { planMerge, requireKeys } from './merge.ts';
import type { MergeRequest } from './merge.ts';
import { planFieldMetadata, planSchemaMetadata } from './metadata.ts';
import { planLongOverwrite, planOverwrite } from './overwrite.ts';
import type { LongOverwriteData, OverwriteData } from './overwrite.ts';
import { SubmittedPlan } from './submitted.ts';
import { holdsLists, planVectorsFromLists } from './vectors-from-lists.ts';
import type { VectorConversion } from './vectors-from-lists.ts';

/** One plan for each kind of commit. A plan does nothing before its turn in the table's write queue. */
export function createCommitsEngine(parts: EngineParts) {
  return {
    append: (data: AppendData) => new AppendPlan(parts, data),
    longAppend: (target: WriteTarget, data: LongAppendData) => planLongAppend(parts, target, data),
    update: (target: WriteTarget, request: UpdateRequest) => new UpdatePlan(parts, target, request),
    /** Whether an update was refused because computed columns depend on what it changes. */
    needsTwoCommits: (error: ServiceError) => error instanceof NeedsTwoCommits,
    recomputingUpdate: (target: WriteTarget, request: UpdateRequest) => planRecomputingUpdate(parts, target, request),
    fillComputed: (request: FillRequest) => planFill(parts, request),
    /** For an update whose expressions read columns that it sets; `undefined` for others. */
    crossedUpdate: (target: WriteTarget, request: UpdateRequest) => planCrossedUpdate(parts, target, request),
    delete: planDelete,
    merge: (source: MergeSource, request: MergeRequest) => planMerge(parts, source, request),
    /** For rows that create a table. */
    checkMergeKeys: (on: MergeRequest['on'], schema: Schema): void => void requireKeys(on, schema, schema),
    overwrite: (data: OverwriteData) => planOverwrite(parts, data),
    longOverwrite: (data: LongOverwriteData) => planLongOverwrite(parts, data),
    addColumns: planAddColumns,
    addComputedColumns: (columns: readonly NewComputedColumn[], columnsMax: number) =>
      planAddComputedColumns(parts, columns, columnsMax),
    alterColumns: planAlterColumns,
    /** Whether a column contains lists; converting them to vectors takes several commits. */
    holdsLists: async (target: WriteTarget, column: string) => holdsLists(parts, target, column),
    vectorsFromLists: (target: WriteTarget, conversion: VectorConversion) =>
      planVectorsFromLists(parts, target, conversion),
    dropColumns: planDropColumns,
    fieldMetadata: planFieldMetadata,
    schemaMetadata: (target: WriteTarget, metadata: Readonly<Record<string, string>>) =>
      planSchemaMetadata(parts, target, metadata),
    /** Commits the contents of an earlier version again. */
    restore: (target: WriteTarget, version: number) => planRestore(parts, target, version),
    dropIndex: planDropIndex,
    /** Commits the manifest of an external writer. */
    submitted: (target: WriteTarget, submission: Omit<Submission, 'branch' | 'bytesMax'>) =>
      new SubmittedPlan(parts, target, submission),
  };
}

/** The engine commits a version even if no row matches. */
function planDelete(predicate: GuardedSql): CommitPlan<{ readonly rowsDeleted: number }> {
  return {
    kinds: ['delete'],
    async prepare(table) {
      const exact = useExactNames(await table.schema(), predicate);
      return {
        async commit() {
          const { numDeletedRows, version } = await engineCall(async () => table.native.delete(exact));
          table.moved(version);
          return { version, outcome: { rowsDeleted: numDeletedRows } };
        },
      };
    },
  };
}

/** What the latest version has and the restored one lacks. */
interface RestoreLosses {
  readonly columns: readonly string[];
  /** `undefined` if some indexes could not be read. */
  readonly indexes: readonly string[] | undefined;
}

function planRestore({ tables, limits }: EngineParts, target: WriteTarget, version: number): CommitPlan<RestoreLosses> {
  const isExact = isObjectRoot(target.location.root);
  return {
    kinds: ['restore'],
    async prepare(table) {
      await requireKept(tables, target, version);
      const base = isExact ? await table.version() : undefined;
      const losses = await tables.usePrivate({ ...target, version }, async (restored) => findLosses(table, restored));
      const restore = async () => tables.restoreVersion(target, version, base);
      return {
        expected: losses,
        async commit() {
          // An exact restore retries a conflict from the newest version, if this process still owns the table.
          const restored = await engineCall(async () => retryConflicts(isExact ? 1 : limits.writeAttemptsMax, restore));
          table.forget();
          return { version: restored, outcome: losses };
        },
      };
    },
  };
}

async function findLosses(latest: OpenTable, restored: OpenTable): Promise<RestoreLosses> {
  const columns = namesWithout((await latest.schema()).fields, (await restored.schema()).fields);
  const [indexes, kept] = await Promise.all(
    [latest, restored].map(async ({ native }) => native.listIndices().catch(() => undefined)),
  );
  return { columns, indexes: indexes && kept && namesWithout(indexes, kept) };
}

type Named = readonly { readonly name: string }[];

function namesWithout(all: Named, kept: Named): readonly string[] {
  const names = new Set(kept.map(({ name }) => name));
  return all.map(({ name }) => name).filter((name) => !names.has(name));
}

function planDropIndex(name: string): CommitPlan<object> {
  return planChange(['drop-index'], async ({ native }) => {
    const indexes = await findIndexes(native);
    if (indexes !== undefined && !indexes.some((index) => index.name === name)) {
      throw new ServiceError('TableIndexNotFound', `The table has no index ${quoteForMessage(name)}.`);
    }
    return async () => {
      await native.dropIndex(name);
      return { version: await native.version() };
    };
  });
}
