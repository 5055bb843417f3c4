import type { UpdatePlan } from './point-update.ts';
import type { WriteTarget } from './table-writes.ts';
import type { Rider } from './write-lanes.ts';

export interface UpdateOutcome {
  readonly rowsUpdated: number;
  readonly version: number;
}

/** An update in the lane of its table: it is answered by whoever runs it, alone or along with others. */
export class UpdateTurn implements Rider<UpdateOutcome> {
  readonly target: WriteTarget;
  readonly plan: UpdatePlan;
  readonly outcome: Promise<UpdateOutcome>;
  #resolve: ((outcome: UpdateOutcome) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  constructor(target: WriteTarget, plan: UpdatePlan) {
    this.target = target;
    this.plan = plan;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever runs a group asks for its own outcome last, when it may have failed long before.
    this.outcome.catch(() => {});
  }

  succeed(outcome: UpdateOutcome): void {
    this.#resolve?.(outcome);
  }

  fail(error: unknown): void {
    this.#reject?.(error);
  }
}
