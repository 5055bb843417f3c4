import { answer } from './client-command.ts';
import type { Session } from './client-command.ts';
import { drawTable } from './show/draw-table.ts';
import type { ColumnHead } from './show/draw-table.ts';
import { CommandFault } from './command.ts';
import type { Option, Given } from './options.ts';
import { paintForErrors } from './show/paint.ts';
import { performance } from 'node:perf_hooks';
import { waitForJob } from '../client/jobs.ts';
import type { JobReply } from '../wire/jobs.ts';
import { visibleText } from './show/text.ts';
import type { ApiClient } from '../client/api-client.ts';
import { tagVersion } from '../client/history.ts';
import type { State } from '../client/history.ts';
import type { TablePath } from '../model/identifier.ts';

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

export const YES_OPTION: Option = { name: 'yes', short: 'y', help: 'do it without being asked' };

/** Whether the person at the terminal agrees; where there is nobody to ask, --yes must be given. */
export async function hasConsent({ given, terminal }: Session, question: string): Promise<boolean> {
  if (given.has('yes')) return true;
  if (terminal.ask === undefined)
    throw new CommandFault([`${question} Nobody is here to be asked: add --yes to do it.`]);
  const reply = await terminal.ask(`${paintForErrors(terminal).yellow(question)} [y/N] `);
  if (/^y(es)?$/i.test(reply.trim())) return true;
  terminal.err('Nothing was changed.\n');
  return false;
}

/** `undefined` when it did not end well; then the reason has been told. */
export async function followJob(session: Session, id: string, name: string): Promise<JobReply | undefined> {
  const { client, terminal } = session;
  const startedAt = performance.now();
  const job = await waitForJob(client, id, {
    onProgress: ({ phase }) => {
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      terminal.status?.(`${name}: ${visibleText(phase)} … ${seconds} s`);
    },
  });
  terminal.status?.('');
  if (job.job_state === 'DONE') return job;
  const paint = paintForErrors(terminal);
  const reason = job.failure?.message ?? `The job ended as ${job.job_state}.`;
  terminal.err(`${paint.red('tiltyard:')} ${visibleText(reason)}\n`);
  return undefined;
}

export const BRANCH_OPTION: Option = {
  name: 'branch',
  value: 'NAME',
  help: 'branch to work on; the main one when absent',
};

export const STATE_OPTIONS: readonly Option[] = [
  { name: 'at', value: 'VERSION', help: 'as of a version, given by its number or by a tag' },
  BRANCH_OPTION,
];

/** The state that --at and --branch mean. A tag stands for both. */
export async function readState(client: ApiClient, table: TablePath, given: Given): Promise<State> {
  const at = given.value('at');
  const branch = given.value('branch');
  const onBranch = branch === undefined ? {} : { branch };
  if (at === undefined) return onBranch;
  if (/^\d{1,15}$/.test(at)) return { version: Number(at), ...onBranch };
  if (branch !== undefined) throw new CommandFault(['A tag names a branch itself: give --at TAG without --branch.']);
  const named = await tagVersion(client, table, { tag: at });
  return { version: named.version, ...(named.branch === undefined ? {} : { branch: named.branch }) };
}

export function readBranch(given: Given): { readonly branch?: string } {
  const branch = given.value('branch');
  return branch === undefined ? {} : { branch };
}
