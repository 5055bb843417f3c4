import type { FunctionRule } from './functions.ts';
import type { SqlToken } from './tokenizer.ts';

export type FrameKind = 'text' | 'group' | 'call' | 'in-list' | 'array' | 'index' | 'type' | 'cast-type';

export interface FrameOptions {
  readonly kind: FrameKind;
  readonly start: number;
  /** How deep the frame stands, prefix operators before it included. */
  readonly depth: number;
  readonly name?: string;
  readonly rule?: FunctionRule;
}

/** What planning a frame costs: how often its deepest part is doubled, and how much comes of it. */
export interface PlanningCost {
  readonly doublings: number;
  readonly characters: number;
  /** Operators and calls. */
  readonly parts: number;
}

/**
 * What is known of one pair of brackets while it is open. A segment is what stands between two commas, ANDs or ORs: as
 * far as a BETWEEN reaches, which makes the planner take its left side twice.
 */
export class SqlFrame {
  readonly kind: FrameKind;
  readonly start: number;
  readonly depth: number;
  readonly name: string;
  readonly rule: FunctionRule | undefined;
  /** Minus signs that wait for their value. */
  signs = 0;
  /** NOTs of the segment: each reaches up to the next AND or OR. */
  negations = 0;
  /** BETWEENs whose AND has not come. */
  openBetweens = 0;
  itemsDone = 0;
  #itemTokens = 0;
  #lastToken: SqlToken | undefined;
  #betweens = 0;
  #segmentDoublings = 0;
  #segmentCharacters = 0;
  #segmentParts = 0;
  #doublings = 0;
  #characters = 0;
  #parts = 0;

  constructor(options: FrameOptions) {
    this.kind = options.kind;
    this.start = options.start;
    this.depth = options.depth;
    this.name = options.name ?? '';
    this.rule = options.rule;
  }

  get depthNow(): number {
    return this.depth + this.signs + this.negations;
  }

  get isEmpty(): boolean {
    return this.itemsDone === 0 && this.#itemTokens === 0;
  }

  /** The one token of the item that is being read, if it has only one. */
  get onlyToken(): SqlToken | undefined {
    return this.#itemTokens === 1 ? this.#lastToken : undefined;
  }

  addToken(token: SqlToken): void {
    this.#itemTokens += 1;
    this.#lastToken = token;
    this.#segmentCharacters += token.end - token.start;
  }

  addParts(count: number): void {
    this.#segmentParts += count;
  }

  addBetween(): void {
    this.openBetweens += 1;
    this.#betweens += 1;
  }

  addChild(cost: PlanningCost): void {
    this.#segmentDoublings = Math.max(this.#segmentDoublings, cost.doublings);
    this.#segmentCharacters += cost.characters;
    this.#segmentParts += cost.parts;
  }

  endSegment(): void {
    this.#doublings = Math.max(this.#doublings, this.#segmentDoublings + this.#betweens);
    this.#characters += this.#segmentCharacters * 2 ** this.#betweens;
    this.#parts += this.#segmentParts * 2 ** this.#betweens;
    this.#segmentDoublings = 0;
    this.#segmentCharacters = 0;
    this.#segmentParts = 0;
    this.#betweens = 0;
    this.negations = 0;
  }

  endItem(): void {
    this.endSegment();
    this.itemsDone += 1;
    this.#itemTokens = 0;
    this.#lastToken = undefined;
  }

  planningCost(): PlanningCost {
    const own = this.rule?.doublings ?? 0;
    const copies = 2 ** own;
    return {
      doublings: this.#doublings + own,
      characters: this.#characters * copies,
      parts: (this.#parts + (this.kind === 'call' || this.kind === 'index' ? 1 : 0)) * copies,
    };
  }
}
