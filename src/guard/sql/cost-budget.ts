import type { SqlLimits } from '../../model/limits.ts';
import type { SqlFrame } from './scope.ts';
import { refuseAt } from './refusal.ts';

const NAMES_PER_OPERATOR = 4;
/** So many that operators and calls without any doubling fit. */
const PLANNED_PER_OPERATOR = 2;
const PLANNED_PER_CHARACTER = 2;

const DOUBLING = 'coalesce, CAST, BETWEEN and functions like them';
const MOVE_OUT = `Move long lists and deep nests out of ${DOUBLING}.`;

/** Counts what a text asks of the engine and refuses at the first token that is too much. */
export class SqlBudget {
  readonly #limits: SqlLimits;
  #operators = 0;
  #calls = 0;
  #names = 0;
  #listItems = 0;

  constructor(limits: SqlLimits) {
    this.#limits = limits;
  }

  spendOperators(count: number, offset: number): void {
    this.#operators += count;
    const most = this.#limits.operatorsMax;
    if (this.#operators > most) {
      throw refuseAt(offset, `there are more than ${most} operators`, 'Use an IN list in place of a chain of ORs.');
    }
  }

  spendCall(offset: number): void {
    this.#calls += 1;
    const most = this.#limits.operatorsMax;
    if (this.#calls > most) {
      throw refuseAt(offset, `there are more than ${most} function calls and indexes`, 'Ask in several requests.');
    }
  }

  spendName(offset: number): void {
    this.#names += 1;
    const most = this.#limits.operatorsMax * NAMES_PER_OPERATOR;
    if (this.#names > most) {
      throw refuseAt(offset, `there are more than ${most} names`, 'Ask in several requests.');
    }
  }

  /** What was read as a field turned out to be the name of a function or of a literal's type. */
  returnName(): void {
    this.#names -= 1;
  }

  spendItem(frame: SqlFrame, offset: number): void {
    this.#listItems += 1;
    const most = this.#limits.listItemsMax;
    if (this.#listItems >= most) {
      throw refuseAt(offset, `there are more than ${most} list items`, 'Ask in several requests.');
    }
    const argumentsMost = this.#limits.operatorsMax;
    if (frame.rule !== undefined && frame.rule.isList !== true && frame.itemsDone >= argumentsMost) {
      throw refuseAt(
        offset,
        `a function has more than ${argumentsMost} arguments`,
        'Give many values with make_array.',
      );
    }
  }

  checkDepth(frame: SqlFrame, offset: number): void {
    const most = this.#limits.depthMax;
    if (frame.depthNow > most) {
      throw refuseAt(offset, `the nesting is more than ${most} deep`, 'Write the expression flatter.');
    }
  }

  /** The engine cannot be stopped while it plans, so the work is estimated beforehand, copies of doubled parts included. */
  checkPlanning(frame: SqlFrame, offset: number): void {
    const { doublings, characters, parts } = frame.planningCost();
    const { coalesceDepthMax, charactersMax, operatorsMax } = this.#limits;
    if (doublings > coalesceDepthMax) {
      throw refuseAt(
        offset,
        `more than ${coalesceDepthMax} levels that each double the engine's planning are nested`,
        `Nest fewer of ${DOUBLING} in each other.`,
      );
    }
    if (parts > operatorsMax * PLANNED_PER_OPERATOR || characters > charactersMax * PLANNED_PER_CHARACTER) {
      throw refuseAt(offset, "too much stands inside levels that each double the engine's planning", MOVE_OUT);
    }
  }
}
