import type { SqlLimits } from '../../model/limits.ts';
import { refuseAt } from './refusal.ts';
import type { SqlRefusal } from './refusal.ts';
import type { SqlScope } from './scope.ts';
import type { SqlToken } from './tokenizer.ts';

const NAMES_PER_OPERATOR = 4;
/** Text without doubled planning always fits. */
const PLANNED_PER_OPERATOR = 2;
const PLANNED_PER_CHARACTER = 2;

const DOUBLING = 'coalesce, CAST, BETWEEN and functions like them';

/** Counts what a text costs the engine, and refuses the first token that exceeds a limit. */
export class CostBudget {
  readonly #limits: SqlLimits;
  #operators = 0;
  #calls = 0;
  #names = 0;
  #listItems = 0;

  constructor(limits: SqlLimits) {
    this.#limits = limits;
  }

  spendOperators(count: number, offset: number): void {
    const most = this.#limits.operatorsMax;
    this.#operators += count;
    if (this.#operators <= most) return;
    throw refuseAt(offset, `there are more than ${most} operators`, 'Use an IN list in place of a chain of ORs.');
  }

  spendCall(offset: number): void {
    const most = this.#limits.operatorsMax;
    this.#calls += 1;
    if (this.#calls > most) throw tooMany(offset, `${most} function calls and indexes`);
  }

  spendName(offset: number): void {
    const most = this.#limits.operatorsMax * NAMES_PER_OPERATOR;
    this.#names += 1;
    if (this.#names > most) throw tooMany(offset, `${most} names`);
  }

  /** For a word that was counted as a field and is the name of a function or of a literal's type. */
  refundName(): void {
    this.#names -= 1;
  }

  spendItem(scope: SqlScope, offset: number): void {
    const { listItemsMax, operatorsMax } = this.#limits;
    this.#listItems += 1;
    if (this.#listItems >= listItemsMax) throw tooMany(offset, `${listItemsMax} list items`);
    if (scope.rule === undefined || scope.rule.isList === true || scope.itemsDone < operatorsMax) return;
    throw refuseAt(offset, `a function has more than ${operatorsMax} arguments`, 'Give many values with make_array.');
  }

  spendItems(scope: SqlScope, { count = 0, start }: SqlToken): void {
    this.#listItems += count - 1;
    this.spendItem(scope, start);
  }

  checkDepth(scope: SqlScope, offset: number): void {
    const most = this.#limits.depthMax;
    if (scope.depthNow <= most) return;
    throw refuseAt(offset, `the nesting is more than ${most} deep`, 'Write the expression flatter.');
  }

  /** The engine cannot be stopped while it plans: its work is estimated first, copies of doubled parts included. */
  checkPlanning(scope: SqlScope, offset: number): void {
    const { doublings, characters, parts } = scope.planningCost();
    const { coalesceDepthMax, charactersMax, operatorsMax } = this.#limits;
    if (doublings > coalesceDepthMax) {
      const reason = `more than ${coalesceDepthMax} levels that each double the engine's planning are nested`;
      throw refuseAt(offset, reason, `Nest fewer of ${DOUBLING} in each other.`);
    }
    if (parts > operatorsMax * PLANNED_PER_OPERATOR || characters > charactersMax * PLANNED_PER_CHARACTER) {
      const reason = "too much stands inside levels that each double the engine's planning";
      throw refuseAt(offset, reason, `Move long lists and deep nests out of ${DOUBLING}.`);
    }
  }
}

function tooMany(offset: number, bound: string): SqlRefusal {
  return refuseAt(offset, `there are more than ${bound}`, 'Ask in several requests.');
}
