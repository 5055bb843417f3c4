import { answer } from './client-command.ts';
import type { Session } from './client-command.ts';
import { drawTable } from './show/draw-table.ts';
import type { ColumnHead } from './show/draw-table.ts';

export interface Listed {
  readonly reply: object;
  readonly heads: readonly ColumnHead[];
  readonly rows: readonly (readonly string[])[];
  /** What is said to people when there is nothing to list. */
  readonly none: string;
}

/** A list as JSON for programs, as a table for people; that it is empty is told beside it. */
export function answerList(session: Session, { reply, heads, rows, none }: Listed): number {
  if (rows.length === 0 && !session.isJson) session.terminal.err(`${none}\n`);
  return answer(session, reply, rows.length === 0 ? '' : drawTable(heads, rows, session.canvas));
}
