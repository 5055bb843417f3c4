import type { GuardedSql } from '../../model/query.ts';
import type { AssignmentTree, Assignment } from './assignments.ts';
import { toAssignmentTree, toColumnUpdates } from './assignments.ts';
import type { CommitGroup, CommitPlan, Committed, PreparedCommit } from '../commits/commit-plan.ts';
import { refuseCrossReferences } from '../workarounds/cross-references.ts';
import { engineCall } from '../native/engine-errors.ts';
import { countKeys, countWrittenKeys } from './key-counts.ts';
import type { KeyCounts } from './key-counts.ts';
import { touchNullStructs } from '../workarounds/null-structs.ts';
import type { OpenTable, WriteTarget } from '../tables/table-handle.ts';
import type { OpenTables } from '../tables/open-tables.ts';
import type { EngineParts } from '../parts.ts';
import { toPointUpdate } from './point-update.ts';
import type { UpdatePlan } from './point-update.ts';
import { UpdateGroup } from './update-group.ts';
import type { GroupedUpdate } from './update-group.ts';

export interface UpdateRequest {
  readonly assignments: readonly Assignment[];
  /** Without one every row is updated. */
  readonly predicate: GuardedSql | undefined;
}

export interface UpdatedRows {
  readonly rowsUpdated: number;
}

type UpdateParts = Pick<EngineParts, 'tables' | 'limits'>;

/**
 * Sets columns by expressions. The engine makes a version even when no row matches. Waiting updates of different rows may
 * share the commit.
 */
export class UpdateCommit implements CommitPlan<UpdatedRows> {
  readonly kinds = ['update'] as const;
  readonly plan: UpdatePlan;
  readonly #parts: UpdateParts;
  readonly #target: WriteTarget;

  constructor(parts: UpdateParts, target: WriteTarget, { assignments, predicate }: UpdateRequest) {
    this.#parts = parts;
    this.#target = target;
    this.plan = { tree: toAssignmentTree(assignments), predicate };
  }

  async prepare(table: OpenTable): Promise<PreparedCommit<UpdatedRows>> {
    const update = await prepareUpdate(table, this.plan);
    return { commit: update };
  }

  async startGroup(table: OpenTable): Promise<CommitGroup<UpdatedRows> | undefined> {
    if (toPointUpdate(this.plan) === undefined) return undefined;
    const group = UpdateGroup.start(this.plan, await table.schema());
    return group === undefined ? undefined : new UpdateCommitGroup(this.#parts, this.#target, group);
  }
}

interface AppliedUpdate {
  readonly tree: AssignmentTree;
  readonly predicate: string | undefined;
}

async function prepareUpdate(
  table: OpenTable,
  { tree, predicate }: AppliedUpdate,
): Promise<() => Promise<Committed<UpdatedRows>>> {
  const schema = await table.schema();
  refuseCrossReferences(tree, schema);
  const columns = toColumnUpdates(tree, schema);
  const guarded = predicate === undefined ? null : touchNullStructs(predicate, schema);
  return async () => {
    const { rowsUpdated, version } = await engineCall(async () => table.native.update(guarded, columns));
    table.moved(version);
    return { version, outcome: { rowsUpdated } };
  };
}

/** An update of more rows than this costs so much that a commit of its own does not matter. */
const ROWS_MAX = 1000;

/** Several updates as one update of the engine. What each would have counted is counted by key. */
class UpdateCommitGroup implements CommitGroup<UpdatedRows> {
  readonly membersMax: number;
  readonly #tables: OpenTables;
  readonly #target: WriteTarget;
  readonly #group: UpdateGroup;

  constructor({ tables, limits }: UpdateParts, target: WriteTarget, group: UpdateGroup) {
    this.membersMax = limits.updateGroupMax;
    this.#tables = tables;
    this.#target = target;
    this.#group = group;
  }

  add(plan: CommitPlan<unknown>): boolean {
    return plan instanceof UpdateCommit && this.#group.add(plan.plan);
  }

  async prepare(table: OpenTable): Promise<PreparedCommit<readonly UpdatedRows[]> | undefined> {
    const update = this.#group.toUpdate();
    const apply = await prepareUpdate(table, update);
    const base = await table.version();
    const counts = await countKeys(table.native, update, ROWS_MAX);
    if (counts === undefined) return undefined;
    return {
      addedRows: sum(counts),
      expected: toOutcomes(update, counts),
      commit: async () => {
        const { version, outcome } = await apply();
        // A commit in between is another process's; the engine may have updated the rows as they were before or after it.
        const isExact = version === base + 1 && sum(counts) === outcome.rowsUpdated;
        const exact = isExact ? counts : await this.#countAgain(update, { version, outcome }, counts);
        return { version, outcome: toOutcomes(update, exact) };
      },
    };
  }

  async #countAgain(
    update: GroupedUpdate,
    { version, outcome }: Committed<UpdatedRows>,
    countsBefore: KeyCounts,
  ): Promise<KeyCounts> {
    const state = { ...this.#target, version };
    try {
      return await this.#tables.use(state, async ({ native }) => countWrittenKeys(native, update, outcome.rowsUpdated));
    } catch {
      // The update is committed, so this must not become a failure; it was right a moment ago.
      return countsBefore;
    }
  }
}

function toOutcomes({ keys }: GroupedUpdate, counts: KeyCounts): readonly UpdatedRows[] {
  return keys.map((key) => ({ rowsUpdated: counts.get(key) ?? 0 }));
}

function sum(counts: KeyCounts): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}
