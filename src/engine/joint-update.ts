import type { ErrorName } from '../errors/codes.ts';
import { ServiceError } from '../errors/service-error.ts';
import { applyUpdate } from './apply-update.ts';
import { engineCall, isRetryableConflict } from './engine-errors.ts';
import { countKeys, countWrittenKeys } from './key-counts.ts';
import type { KeyCounts } from './key-counts.ts';
import type { OpenTable } from './open-table.ts';
import { toWriteState, writeInTurn } from './table-writes.ts';
import type { WriteContext, WriteTarget } from './table-writes.ts';
import { UpdateGroup } from './update-group.ts';
import type { GroupedUpdate } from './update-group.ts';
import type { UpdateOutcome, UpdateTurn } from './update-turn.ts';

/** An update of more rows than this costs so much that a commit of its own does not matter. */
const ROWS_MAX = 1000;

/** Several updates of one table, run as one update of the engine. */
export class JointUpdate {
  readonly #context: WriteContext;
  readonly #target: WriteTarget;
  readonly #turns: readonly UpdateTurn[];
  /** The latest version before the engine was told to update; none as long as it was not. */
  #versionBefore: number | undefined;

  constructor(context: WriteContext, target: WriteTarget, turns: readonly UpdateTurn[]) {
    this.#context = context;
    this.#target = target;
    this.#turns = turns;
  }

  /** False when nothing is committed and nobody answered, so that all of them may run again. */
  async answer(): Promise<boolean> {
    try {
      const outcomes = await writeInTurn(this.#context, this.#target, async (table) => this.#update(table));
      for (const [index, outcome] of (outcomes ?? []).entries()) this.#turns[index]?.succeed(outcome);
      if (outcomes === undefined) this.#target.intent?.fail();
      return outcomes !== undefined;
    } catch (error) {
      if (await this.#isUncommitted(error)) return false;
      for (const turn of this.#turns) turn.fail(error);
      return true;
    }
  }

  /** The outcome of each, in order; `undefined` when they cannot run as one on the table as it is now. */
  async #update(table: OpenTable): Promise<readonly UpdateOutcome[] | undefined> {
    this.#versionBefore = undefined;
    const plans = this.#turns.map(({ plan }) => plan);
    const update = UpdateGroup.of(plans, await table.schema())?.toUpdate();
    if (update === undefined) return undefined;
    const versionBefore = await readVersion(table);
    const counts = await countKeys(table.native, update, ROWS_MAX);
    if (counts === undefined) return undefined;
    this.#versionBefore = versionBefore;
    const outcome = await applyUpdate(table, update);
    // A commit in between is another process's; the engine may have updated the rows as they were before it or after it.
    const isExact = outcome.version === versionBefore + 1 && sum(counts) === outcome.rowsUpdated;
    const exact = isExact ? counts : await this.#countAgain(update, outcome, counts);
    return update.keys.map((key) => ({ rowsUpdated: exact.get(key) ?? 0, version: outcome.version }));
  }

  async #countAgain(
    update: GroupedUpdate,
    { version, rowsUpdated }: UpdateOutcome,
    countsBefore: KeyCounts,
  ): Promise<KeyCounts> {
    const state = { ...toWriteState(this.#target), version };
    try {
      return await this.#context.tables.use(state, async ({ native }) => countWrittenKeys(native, update, rowsUpdated));
    } catch {
      // The update is committed, so this must not become a failure; it was right a moment ago.
      return countsBefore;
    }
  }

  async #isUncommitted(error: unknown): Promise<boolean> {
    if (this.#versionBefore === undefined || isRefusal(error) || isRetryableConflict(error)) return true;
    try {
      return (await this.#context.tables.use(toWriteState(this.#target), readVersion)) === this.#versionBefore;
    } catch {
      return false;
    }
  }
}

async function readVersion({ native }: OpenTable): Promise<number> {
  return engineCall(async () => native.version());
}

/** What the engine finds at fault with expressions and values, before it commits. */
const REFUSALS: ReadonlySet<ErrorName> = new Set(['InvalidInput', 'TableColumnNotFound', 'TableSchemaValidationError']);

function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && REFUSALS.has(error.kind);
}

function sum(counts: KeyCounts): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}
