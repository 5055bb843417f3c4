import type { SqlLimits } from '../../model/limits.ts';
import { formatCount } from '../../model/value-text.ts';
import { refuseAt } from './refusal.ts';
import type { SqlRefusal } from './refusal.ts';
import type { SqlScope } from './scope.ts';
import type { SqlToken } from './tokenizer.ts';

const NAMES_PER_OPERATOR = 4;
/**
 * How many operators and calls may be planned, including copies, relative to the number that a text may have. Text
 * without doubled planning always fits. CASE is rewritten with several calls, and plans faster than most: 2,000
 * branches took 0.1 s, and 1 s in the fallback engine.
 */
const PLANNED_PER_OPERATOR = { usual: 2, rewritten: 8 } as const;
export type TextOrigin = keyof typeof PLANNED_PER_OPERATOR;
const PLANNED_PER_CHARACTER = 2;

const DOUBLING = 'CASE, coalesce, CAST, BETWEEN and similar functions';

/** Counts the cost of a text for the engine, and refuses the first token that exceeds a limit. */
export class CostBudget {
  readonly #limits: SqlLimits;
  readonly #plannedPerOperator: number;
  #operators = 0;
  #calls = 0;
  #names = 0;
  #listItems = 0;

  constructor(limits: SqlLimits, origin: TextOrigin) {
    this.#limits = limits;
    this.#plannedPerOperator = PLANNED_PER_OPERATOR[origin];
  }

  spendOperators(count: number, offset: number): void {
    const most = this.#limits.operatorsMax;
    this.#operators += count;
    if (this.#operators <= most) return;
    throw refuseAt(
      offset,
      `there are more than ${formatCount(most)} operators`,
      'Use an IN list instead of a chain of ORs.',
    );
  }

  spendCall(offset: number): void {
    const most = this.#limits.operatorsMax;
    this.#calls += 1;
    if (this.#calls > most) throw tooMany(offset, `${formatCount(most)} function calls and indexes`);
  }

  spendName(offset: number): void {
    const most = this.#limits.operatorsMax * NAMES_PER_OPERATOR;
    this.#names += 1;
    if (this.#names > most) throw tooMany(offset, `${formatCount(most)} names`);
  }

  /** For a word that was counted as a field, but is the name of a function or of a literal's type. */
  refundName(): void {
    this.#names -= 1;
  }

  spendItem(scope: SqlScope, offset: number): void {
    const { listItemsMax, operatorsMax } = this.#limits;
    this.#listItems += 1;
    if (this.#listItems >= listItemsMax) throw tooMany(offset, `${formatCount(listItemsMax)} list items`);
    if (scope.rule === undefined || scope.rule.isList === true || scope.itemsDone < operatorsMax) return;
    throw refuseAt(
      offset,
      `a function has more than ${formatCount(operatorsMax)} arguments`,
      'Use make_array for many values.',
    );
  }

  spendItems(scope: SqlScope, { count = 0, start }: SqlToken): void {
    this.#listItems += count - 1;
    this.spendItem(scope, start);
  }

  checkDepth(scope: SqlScope, offset: number): void {
    const most = this.#limits.depthMax;
    if (scope.depthNow <= most) return;
    throw refuseAt(offset, `the expression is nested more than ${most} levels deep`, 'Use fewer levels.');
  }

  /** The engine cannot be stopped while it plans, so its work is estimated first, including copies of doubled parts. */
  checkPlanning(scope: SqlScope, offset: number): void {
    const { doublings, characters, parts } = scope.planningCost();
    const { coalesceDepthMax, charactersMax, operatorsMax } = this.#limits;
    if (doublings > coalesceDepthMax) {
      const reason = `more than ${coalesceDepthMax} levels that each double the planning time are nested`;
      throw refuseAt(offset, reason, `Nest fewer of these: ${DOUBLING}.`);
    }
    if (parts > operatorsMax * this.#plannedPerOperator || characters > charactersMax * PLANNED_PER_CHARACTER) {
      const reason = 'too much is nested in levels that each double the planning time';
      throw refuseAt(offset, reason, `Move long lists and deep expressions out of ${DOUBLING}.`);
    }
  }
}

function tooMany(offset: number, bound: string): SqlRefusal {
  return refuseAt(offset, `there are more than ${bound}`, 'Use several requests.');
}
