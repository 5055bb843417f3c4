import type { FunctionRule } from './functions.ts';
import type { SqlToken } from './tokenizer.ts';

export type ScopeKind = 'text' | 'group' | 'call' | 'in-list' | 'array' | 'index' | 'type' | 'cast-type';

/** The cost of planning a scope: the doublings of its deepest part, and its size including all copies. */
interface PlanningCost {
  doublings: number;
  characters: number;
  /** Operators and calls. */
  parts: number;
}

/**
 * One open pair of brackets. A comma, an AND or an OR ends a clause, and with it a BETWEEN, whose left side is planned
 * twice.
 */
export class SqlScope {
  readonly kind: ScopeKind;
  readonly start: number;
  /** Includes prefix operators before the scope. */
  readonly depth: number;
  readonly name: string;
  readonly rule: FunctionRule | undefined;
  /** Signs before a value that has not come yet. */
  signs = 0;
  /** NOTs of the clause: each applies up to the next AND or OR. */
  negations = 0;
  /** BETWEENs whose AND has not come yet. */
  openBetweens = 0;
  itemsDone = 0;
  #itemTokens = 0;
  #lastToken: SqlToken | undefined;
  #clauseBetweens = 0;
  #clause: PlanningCost = { doublings: 0, characters: 0, parts: 0 };
  readonly #total: PlanningCost = { doublings: 0, characters: 0, parts: 0 };

  constructor(kind: ScopeKind, start: number, depth: number, call?: { name: string; rule: FunctionRule }) {
    this.kind = kind;
    this.start = start;
    this.depth = depth;
    this.name = call?.name ?? '';
    this.rule = call?.rule;
  }

  get depthNow(): number {
    return this.depth + this.signs + this.negations;
  }

  get isEmpty(): boolean {
    return this.itemsDone === 0 && this.#itemTokens === 0;
  }

  /** At the start of an item of a list that may be long. */
  get isAtItem(): boolean {
    const isList = this.kind === 'in-list' || this.kind === 'array' || this.rule?.isList === true;
    return isList && this.#itemTokens === 0 && this.signs === 0 && this.negations === 0;
  }

  /** The token of the current item, if there is only one. */
  get onlyToken(): SqlToken | undefined {
    return this.#itemTokens === 1 ? this.#lastToken : undefined;
  }

  addToken(token: SqlToken): void {
    this.#itemTokens += 1;
    this.#lastToken = token;
    this.#clause.characters += token.end - token.start;
  }

  addItems({ text, count = 0 }: SqlToken): void {
    this.#total.characters += text.length;
    this.itemsDone += count;
  }

  addParts(count: number): void {
    this.#clause.parts += count;
  }

  addBetween(): void {
    this.openBetweens += 1;
    this.#clauseBetweens += 1;
  }

  addChild(child: SqlScope): void {
    addCost(this.#clause, child.planningCost());
  }

  endClause(): void {
    addCost(this.#total, doubled(this.#clause, this.#clauseBetweens));
    this.#clause = { doublings: 0, characters: 0, parts: 0 };
    this.#clauseBetweens = 0;
    this.negations = 0;
  }

  endItem(): void {
    this.endClause();
    this.itemsDone += 1;
    this.#itemTokens = 0;
    this.#lastToken = undefined;
  }

  planningCost(): PlanningCost {
    const ownParts = this.kind === 'call' || this.kind === 'index' ? 1 : 0;
    return doubled({ ...this.#total, parts: this.#total.parts + ownParts }, this.rule?.doublings ?? 0);
  }
}

function addCost(sum: PlanningCost, cost: PlanningCost): void {
  sum.doublings = Math.max(sum.doublings, cost.doublings);
  sum.characters += cost.characters;
  sum.parts += cost.parts;
}

function doubled({ doublings, characters, parts }: PlanningCost, times: number): PlanningCost {
  return { doublings: doublings + times, characters: characters * 2 ** times, parts: parts * 2 ** times };
}
