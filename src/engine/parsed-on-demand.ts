import type { Analysis, PlanStep } from '../model/plan.ts';
import { parsePlan } from './plan-text.ts';

/** Most callers want the text alone, and the tree takes longer to read than many a query to run. */
export class ParsedOnDemand implements Analysis {
  readonly text: string;
  readonly #parse: (text: string) => PlanStep;
  #root: PlanStep | undefined;

  constructor(text: string, parse: (text: string) => PlanStep = parsePlan) {
    this.text = text;
    this.#parse = parse;
  }

  get root(): PlanStep {
    this.#root ??= this.#parse(this.text);
    return this.#root;
  }
}
