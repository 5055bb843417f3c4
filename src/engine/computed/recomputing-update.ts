import { ServiceError } from '../../errors/service-error.ts';
import type { MultiCommitPlan } from '../commits/commit-plan.ts';
import { engineCall, retryConflicts } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { readSchema, readVersion } from '../tables/table-handle.ts';
import type { WriteTarget } from '../tables/table-handle.ts';
import { toAssignmentTree, toColumnUpdates, toTypedValue, withItemMetadata } from '../updates/assignments.ts';
import type { UpdateRequest, UpdatedRows } from '../updates/update.ts';
import { mapExpressions, refuseCrossReferences } from '../workarounds/cross-references.ts';
import { useExactNames } from '../workarounds/exact-names.ts';
import { keepNullStructs } from '../workarounds/filtered-scans.ts';
import type { ComputedColumn } from './definitions.ts';
import { planRecomputation } from './recompute.ts';

/**
 * An update whose new values depend on old ones, and from whose columns others are computed: the first commit updates,
 * the second computes. The rows that the first one wrote are in new fragments.
 */
export function planRecomputingUpdate(
  parts: EngineParts,
  target: WriteTarget,
  { assignments, predicate }: UpdateRequest,
): MultiCommitPlan<UpdatedRows> {
  const { tables, release, sqlLimits, limits } = parts;
  let opened: NativeTable | undefined;
  return {
    async prepare() {
      opened = await tables.openPrivate(target);
      return { baseVersion: await readVersion(opened) };
    },
    async write() {
      const native = opened;
      if (native === undefined) throw new Error('The update was not prepared.');
      const schema = await readSchema(native);
      const tree = mapExpressions(toAssignmentTree(assignments), (expression) => useExactNames(schema, expression));
      refuseCrossReferences(tree, schema);
      const { tree: whole, after } = planRecomputation(tree, schema, sqlLimits);
      const guarded =
        predicate === undefined ? null : keepNullStructs(useExactNames(schema, predicate), schema, release);
      const update = async (where: string | null, columns: [string, string][]) =>
        retryConflicts(limits.writeAttemptsMax, async () => engineCall(async () => native.update(where, columns)));
      const first = await update(guarded, toColumnUpdates(whole, schema));
      const outcome = { rowsUpdated: first.rowsUpdated };
      if (first.rowsUpdated === 0 || after.length === 0) return { version: first.version, outcome };
      const firstAddress = await firstAddressOf(parts, target, first.version);
      const { version } = await update(`(_rowaddr >= ${firstAddress})`, toColumnValues(after));
      return { version, outcome };
    },
    close: () => opened?.close(),
  };
}

/** Computed columns with their expressions. */
export function toColumnValues(columns: readonly ComputedColumn[]): [column: string, expression: string][] {
  return columns.map(({ field, expression }) => {
    return [field.name, withItemMetadata(toTypedValue(expression, field, [field.name]), field)];
  });
}

/** The lowest possible address of a row that a commit writes. */
export async function firstAddressOf(
  { storages }: EngineParts,
  { location, branch }: WriteTarget,
  version: number,
): Promise<bigint> {
  const last = await storages.of(location.root).readLastFragment(location, branch, version - 1);
  if (last === undefined) throw new ServiceError('Internal', 'The rows of an update could not be found again.');
  return toFirstAddress(last);
}

/** The first address after this fragment. */
export function toFirstAddress(lastFragment: number): bigint {
  return BigInt(lastFragment + 1) << 32n;
}
