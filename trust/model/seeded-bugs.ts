import type { Action, Answer } from './row-history.ts';

/** Changes a recorded history into what a server with that bug would have shown. */
export type Bug = (history: readonly Action[]) => readonly Action[];

const NEW = 900_001;
const NEWER = 900_002;

const DONE: Answer = { kind: 'done' };
const rows = (...values: readonly number[]): Answer => ({ kind: 'rows', rows: values });

/** The checker must find each of these. They are appended to the recorded actions, starting from an emptied key. */
export const SEEDED_BUGS: Readonly<Record<string, Bug>> = {
  'a lost update': after(['insert', 0, DONE], ['add', 1, DONE], ['add', 1, DONE], ['read', 0, rows(1)]),
  'a lost insert': after(['insert', NEW, DONE], ['read', 0, rows()]),
  'a stale read': after(['insert', NEW, DONE], ['set', NEWER, DONE], ['read', 0, rows(NEW)]),
  'a doubled insert': after(['insert', NEW, DONE], ['read', 0, rows(NEW, NEW)]),
  'a doubled upsert': after(['insert', NEW, DONE], ['upsert', NEWER, DONE], ['read', 0, rows(NEWER, NEWER)]),
  'a resurrected delete': after(['insert', NEW, DONE], ['delete', 0, DONE], ['read', 0, rows(NEW)]),
  'a wrong count of rows': after(['insert', NEW, DONE], ['set', NEWER, { kind: 'count', count: 0 }]),
  'a refused write that is seen': after(['insert', NEW, { kind: 'refused' }], ['read', 0, rows(NEW)]),
  'a value that was never written': changeRead((answer) => rows(...answer.slice(1), 424_242)),
  'a torn write': changeRead((answer) => rows(...answer.slice(1), Number.NaN)),
  'a read before its write': (history) => {
    const [end, ...rest] = emptied(history);
    const at = end.endedAt;
    return [
      ...rest,
      end,
      { kind: 'read', value: 0, startedAt: at + 1, endedAt: at + 2, answer: rows(NEW) },
      { kind: 'insert', value: NEW, startedAt: at + 3, endedAt: at + 4, answer: DONE },
    ];
  },
  'two reads that go back in time': (history) => {
    const [end, ...rest] = emptied(history);
    const at = end.endedAt;
    return [
      ...rest,
      end,
      { kind: 'insert', value: NEW, startedAt: at + 1, endedAt: at + 10, answer: DONE },
      { kind: 'read', value: 0, startedAt: at + 2, endedAt: at + 3, answer: rows(NEW) },
      { kind: 'read', value: 0, startedAt: at + 4, endedAt: at + 5, answer: rows() },
    ];
  },
};

type Step = readonly [kind: Action['kind'], value: number, answer: Answer];

/** Sequential, after all recorded actions have ended. */
function after(...steps: readonly Step[]): Bug {
  return (history) => {
    const [end, ...rest] = emptied(history);
    const added = steps.map(([kind, value, answer], index): Action => {
      const startedAt = end.endedAt + 1 + 2 * index;
      return { kind, value, startedAt, endedAt: startedAt + 1, answer };
    });
    return [...rest, end, ...added];
  };
}

/**
 * Appends a delete to the history and puts it first in the list; actions that never ended are assumed to have ended
 * before it.
 */
function emptied(history: readonly Action[]): readonly [Action, ...Action[]] {
  const at = Math.max(0, ...history.map(({ startedAt, endedAt }) => (endedAt === Infinity ? startedAt : endedAt))) + 1;
  const settled = history.filter(({ answer }) => answer.kind !== 'unknown' && answer.kind !== 'refused');
  return [{ kind: 'delete', value: 0, startedAt: at, endedAt: at + 1, answer: DONE }, ...settled];
}

function changeRead(change: (rows: readonly number[]) => Answer): Bug {
  return (history) => {
    const at = history.findLastIndex(({ answer }) => answer.kind === 'rows');
    return history.map((action, index) => {
      if (index !== at || action.answer.kind !== 'rows') return action;
      return { ...action, answer: change(action.answer.rows) };
    });
  };
}
