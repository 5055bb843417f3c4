/** One operation on the rows of one key, as its sender saw it. All times are from one clock. */
export interface Action {
  readonly kind: 'insert' | 'upsert' | 'insert-absent' | 'set' | 'add' | 'delete' | 'read';
  /** The value that is written or added. */
  readonly value: number;
  readonly startedAt: number;
  /** `Infinity` if there was no reply: it may take effect at any time after its start, or never. */
  readonly endedAt: number;
  readonly answer: Answer;
}

/**
 * `rows`: what a read saw, each row as its value, sorted. `count`: how many rows a write reports as changed. `refused`:
 * certainly had no effect. `unknown`: no reply.
 */
export type Answer =
  | { readonly kind: 'rows'; readonly rows: readonly number[] }
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'done' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unknown' };

/** The values of all rows of the key, sorted. */
type State = readonly number[];

/**
 * Whether there is an order of the actions, none of them before one that had ended when it started, in which every
 * answer is correct (Wing and Gong's search with Lowe's memoization).
 */
export function isLinearizable(history: readonly Action[]): boolean {
  const actions = history
    .filter(({ answer }) => answer.kind !== 'refused')
    .toSorted((one, other) => one.startedAt - other.startedAt);
  return search(actions, 0n, [], new Set());
}

function search(actions: readonly Action[], done: bigint, state: State, tried: Set<string>): boolean {
  // The depth is the number of actions on one key: a few dozen.
  const key = `${done.toString(36)} ${state.join()}`;
  if (tried.has(key)) return false;
  tried.add(key);
  const open = actions.flatMap((action, index) => ((done >> BigInt(index)) & 1n ? [] : [{ action, index }]));
  if (open.every(({ action }) => action.answer.kind === 'unknown')) return true;
  const firstEnd = Math.min(...open.map(({ action }) => action.endedAt));
  return open.some(({ action, index }) => {
    if (action.startedAt > firstEnd) return false;
    const next = apply(state, action);
    return next !== undefined && search(actions, done | (1n << BigInt(index)), next, tried);
  });
}

/** The state after the action; `undefined` if its answer would have been different. */
function apply(state: State, { kind, value, answer }: Action): State | undefined {
  const { next, count } = effect(state, kind, value);
  if (answer.kind === 'rows') return answer.rows.join() === state.join() ? state : undefined;
  if (answer.kind === 'count' && answer.count !== count) return undefined;
  return next;
}

function effect(state: State, kind: Action['kind'], value: number): { readonly next: State; readonly count: number } {
  switch (kind) {
    case 'insert':
      return { next: sorted([...state, value]), count: 1 };
    case 'upsert':
      return { next: state.length === 0 ? [value] : state.map(() => value), count: state.length };
    case 'insert-absent':
      return state.length === 0 ? { next: [value], count: 1 } : { next: state, count: 0 };
    case 'set':
      return { next: state.map(() => value), count: state.length };
    case 'add':
      return { next: sorted(state.map((each) => each + value)), count: state.length };
    case 'delete':
      return { next: [], count: state.length };
    case 'read':
      return { next: state, count: 0 };
  }
}

function sorted(values: readonly number[]): State {
  return values.toSorted((one, other) => one - other);
}
