import { sqlFieldReference } from '../../model/field-path.ts';
import type { Schema } from '../../model/schema.ts';
import type { MultiCommitPlan } from '../commits/commit-plan.ts';
import { CommitSequence } from '../commits/commit-sequence.ts';
import { planRecomputation } from '../computed/recompute.ts';
import { firstAddressOf, toColumnValues } from '../computed/recomputing-update.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { readSchema } from '../tables/table-handle.ts';
import type { WriteTarget } from '../tables/table-handle.ts';
import { useExactNames } from '../workarounds/exact-names.ts';
import { findCrossedColumns, mapExpressions, mayCross, readCopies } from '../workarounds/cross-references.ts';
import { keepNullStructs } from '../workarounds/filtered-scans.ts';
import { toAssignmentTree, toColumnUpdates } from './assignments.ts';
import type { UpdateRequest, UpdatedRows } from './update.ts';

/**
 * An update whose expressions read columns that it sets, such as a swap. The engine would read some of them after they
 * were set. So the columns that others read are copied first, the expressions read the copies, and the copies are
 * dropped: three commits, which the pipeline makes visible together. `undefined` if one commit is enough.
 */
export function planCrossedUpdate(
  parts: EngineParts,
  target: WriteTarget,
  { assignments, predicate }: UpdateRequest,
): MultiCommitPlan<UpdatedRows> | undefined {
  if (!mayCross(assignments)) return undefined;
  const { release, sqlLimits } = parts;
  let commits: CommitSequence | undefined;
  const recompute = (schema: Schema) => {
    const assigned = mapExpressions(toAssignmentTree(assignments), (expression) => useExactNames(schema, expression));
    return planRecomputation(assigned, schema, sqlLimits);
  };
  return {
    async prepare() {
      commits = await CommitSequence.open(parts, target);
      const { native } = commits;
      const schema = await readSchema(native);
      const { tree } = recompute(schema);
      // The engine refuses a query that reads no column.
      const read = schema.fields.slice(0, 1).map(({ name }): [string, string] => [READ, sqlFieldReference([name])]);
      await tryExpressions(native, [...toColumnUpdates(tree, schema), ...read], useExactNames(schema, predicate));
      return commits;
    },
    async write() {
      if (commits === undefined) throw new Error('The update was not prepared.');
      const { native } = commits;
      const before = await readSchema(native);
      const { tree, after } = recompute(before);
      const copies = nameCopies(findCrossedColumns(tree, before), before);
      const copied = [...copies].map(([column, name]) => ({ name, valueSql: sqlFieldReference([column]) }));
      if (copied.length > 0) await commits.commit(async () => native.addColumns(copied));
      const schema = await readSchema(native);
      const updates = toColumnUpdates(readCopies(tree, copies, schema), schema);
      const guarded =
        predicate === undefined ? null : keepNullStructs(useExactNames(before, predicate), schema, release);
      const updated = await commits.commit(async () => native.update(guarded, updates));
      const outcome = { rowsUpdated: updated.rowsUpdated };
      let { version } = updated;
      if (after.length > 0 && outcome.rowsUpdated > 0) {
        const written = `(_rowaddr >= ${await firstAddressOf(parts, target, version)})`;
        const computed = toColumnValues(after);
        ({ version } = await commits.commit(async () => native.update(written, computed)));
      }
      if (copied.length > 0) ({ version } = await commits.commit(async () => native.dropColumns([...copies.values()])));
      return { version, outcome };
    },
    close: () => commits?.native.close(),
  };
}

/** Evaluates the expressions on all rows, to refuse errors before anything is written. */
async function tryExpressions(native: NativeTable, expressions: [string, string][], predicate: string | undefined) {
  const query = native.query();
  query.select(expressions);
  if (predicate !== undefined) query.onlyIf(predicate);
  query.limit(1);
  await engineCall(async () => (await query.execute(1, NO_TIMEOUT)).next());
}

const NO_TIMEOUT = -1;

/** Unused names for copies of the columns. */
export function nameCopies(columns: readonly string[], schema: Schema): ReadonlyMap<string, string> {
  const taken = new Set(schema.fields.map(({ name }) => name.toLowerCase()));
  let number = 0;
  const nextName = (): string => {
    number += 1;
    return taken.has(`${COPY_PREFIX}${number}`) ? nextName() : `${COPY_PREFIX}${number}`;
  };
  return new Map(columns.map((column) => [column, nextName()]));
}

const COPY_PREFIX = '__tiltyard_copy_';
const READ = `${COPY_PREFIX}0`;
