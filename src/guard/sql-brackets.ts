import type { SqlBudget } from './sql-budget.ts';
import { checkArgument, checkCall, checkOpening } from './sql-calls.ts';
import { SqlFrame } from './sql-frame.ts';
import type { FrameKind } from './sql-frame.ts';
import { functionRule } from './sql-functions.ts';
import { refuseAt } from './sql-refusal.ts';
import type { SqlToken } from './sql-tokens.ts';

/** The brackets that are open at a token, from the whole text inward. */
export class SqlBrackets {
  readonly #budget: SqlBudget;
  readonly #outer: SqlFrame[] = [];
  #inner = new SqlFrame({ kind: 'text', start: 0, depth: 0 });

  constructor(budget: SqlBudget) {
    this.#budget = budget;
  }

  get inner(): SqlFrame {
    return this.#inner;
  }

  open(kind: FrameKind, token: SqlToken): void {
    this.#enter(new SqlFrame({ kind, start: token.start, depth: this.#inner.depthNow + 1 }), token);
  }

  openCall(token: SqlToken, name: SqlToken): void {
    const rule = functionRule(name.text);
    checkOpening(name, rule, [...this.#outer, this.#inner]);
    this.#budget.returnName();
    this.#budget.spendCall(name.start);
    const depth = this.#inner.depthNow + 1;
    this.#enter(new SqlFrame({ kind: 'call', start: token.start, depth, name: name.text, rule }), token);
  }

  checkCloser(token: SqlToken): void {
    const { kind } = this.#inner;
    const closer = kind === 'array' || kind === 'index' ? ']' : ')';
    if (kind === 'text' || closer !== token.text) {
      throw refuseAt(token.start, 'a bracket is closed that is not open', 'Close every bracket in order.');
    }
  }

  /** Gives the frame that was closed. */
  close(token: SqlToken): SqlFrame {
    const closed = this.#inner;
    const outer = this.#outer.pop();
    if (outer === undefined) throw new Error('the frame of the text is never closed');
    if (!closed.isEmpty) this.#endItem(token);
    if (closed.kind === 'call') checkCall(closed, token.end);
    this.#budget.checkPlanning(closed, closed.start);
    outer.addChild(closed.planningCost());
    this.#inner = outer;
    return closed;
  }

  checkComma(token: SqlToken): void {
    const { kind, rule } = this.#inner;
    if (kind === 'text') {
      throw refuseAt(token.start, 'the text goes on after the expression', 'Give one expression and nothing else.');
    }
    if (kind === 'group' || kind === 'index' || rule?.isCast === true) {
      throw refuseAt(token.start, 'a comma stands outside a list', 'A list stands after IN, in [ ] or in a function.');
    }
  }

  takeComma(token: SqlToken): void {
    this.#endItem(token);
    this.#budget.spendItem(this.#inner, token.start);
  }

  finish(): void {
    if (this.#inner.kind !== 'text') {
      throw refuseAt(this.#inner.start, 'a bracket is opened and not closed', 'Close every bracket in order.');
    }
    this.#inner.endSegment();
    this.#budget.checkPlanning(this.#inner, 0);
  }

  #enter(frame: SqlFrame, token: SqlToken): void {
    const outer = this.#inner;
    outer.addToken(token);
    outer.signs = 0;
    this.#outer.push(outer);
    this.#inner = frame;
    this.#budget.checkDepth(frame, token.start);
  }

  #endItem(token: SqlToken): void {
    checkArgument(this.#inner, token.start);
    this.#inner.endItem();
  }
}
