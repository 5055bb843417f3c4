import { performance } from 'node:perf_hooks';
import { defined } from '../client/api-client.ts';
import type { ApiClient } from '../client/api-client.ts';
import { tagVersion } from '../client/history.ts';
import type { State } from '../client/history.ts';
import { waitForJob } from '../client/calls.ts';
import { ServiceError } from '../errors/service-error.ts';
import { DEFAULT_DELIMITER, formatPath, parseNamespacePath, parseTablePath } from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { MAIN_BRANCH } from '../model/table.ts';
import type { JobReply } from '../wire/jobs.ts';
import { EXIT, UsageError, toJsonText } from './command.ts';
import type { Terminal } from './command.ts';
import type { Given, Option } from './options.ts';
import type { Canvas } from './show/draw-table.ts';
import { paintForErrors, visibleText } from './show/text.ts';

/** One run of a client command. */
export interface Session<Client = ApiClient> {
  readonly client: Client;
  readonly given: Given;
  readonly terminal: Terminal;
  readonly canvas: Canvas;
  /** Whether the output is for a program. */
  readonly isJson: boolean;
  /** The SQL texts sent, by their names in refusals. */
  readonly sqlTexts: Map<string, string>;
}

/** One run of a command whose first name is a table. */
export interface TableSession extends Session {
  readonly table: TablePath;
}

/** The table of a name: `orders`, `eu/orders` or `eu$orders`. */
export function requireTable(given: Given, index = 0): TablePath {
  const text = given.names[index] ?? '';
  return asUsage(() => parseTablePath(text, delimiterOf(text)));
}

/** The namespace of the first name; the root without a name. */
export function readNamespace({ names: [text = '/'] }: Given): NamespacePath {
  return parsePath(text);
}

/** The path of an option's value; `/` is the root. */
export function parsePath(text: string): NamespacePath {
  return text === '/' ? [] : asUsage(() => parseNamespacePath(text, delimiterOf(text)));
}

/** A slash is not allowed in names, and needs no quotes in a shell. */
function delimiterOf(text: string): string {
  return text.includes('/') ? '/' : DEFAULT_DELIMITER;
}

function asUsage<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof ServiceError ? new UsageError(error.detail) : error;
  }
}

export function showPath(path: NamespacePath): string {
  return formatPath(path, '/');
}

export const BRANCH_OPTION = { name: 'branch', value: 'NAME', help: 'branch (default: main)' };

export const STATE_OPTIONS: readonly Option[] = [
  { name: 'at', value: 'VERSION', help: 'read an earlier version, given as a number or a tag' },
  BRANCH_OPTION,
];

/** The main branch has no name in tags and commits. */
export function readBranch(given: Given): Pick<State, 'branch'> {
  const branch = given.value('branch');
  return defined({ branch: branch === MAIN_BRANCH ? undefined : branch });
}

/** The state that --at and --branch select. A tag determines both. */
export async function readState({ client, table, given }: TableSession): Promise<State> {
  const at = given.value('at');
  const branch = readBranch(given);
  if (at === undefined) return branch;
  if (/^\d{1,15}$/.test(at)) return { version: Number(at), ...branch };
  if (given.has('branch')) throw new UsageError('Give --at TAG without --branch: a tag belongs to one branch.');
  const tagged = await tagVersion(client, table, { tag: at });
  return { version: tagged.version, ...defined({ branch: tagged.branch }) };
}

/** The result of a command. */
export interface Result {
  /** Printed as JSON for programs. */
  readonly reply: object;
  readonly text: string;
  /** Printed for people to the error output if the text is empty. */
  readonly none?: string;
  /** Printed for people to the error output, after the text. */
  readonly notice?: string;
  readonly code?: number;
}

/** Returns the exit code. */
export function printResult({ terminal, isJson }: Pick<Session, 'terminal' | 'isJson'>, result: Result): number {
  const { reply, text, none, notice, code = EXIT.done } = result;
  // The context of a reply repeats its headers.
  terminal.out(isJson ? toJsonText(Array.isArray(reply) ? reply : { ...reply, context: undefined }) : text);
  if (isJson) return code;
  if (text === '' && none !== undefined) terminal.err(`${none}\n`);
  if (notice !== undefined) terminal.err(`${notice}\n`);
  return code;
}

export const YES_OPTION: Option = { name: 'yes', short: 'y', help: 'do not ask for confirmation' };

/** Whether the person at the terminal agrees; without a terminal, --yes is required. */
export async function confirm({ given, terminal }: Session, question: string): Promise<boolean> {
  if (given.has('yes')) return true;
  if (terminal.ask === undefined) throw new UsageError(`${question} This is not a terminal: add --yes to confirm.`);
  const reply = await terminal.ask(`${paintForErrors(terminal).yellow(question)} [y/N] `);
  if (/^y(es)?$/i.test(reply.trim())) return true;
  terminal.err('Nothing was changed.\n');
  return false;
}

/** `undefined` if an interrupt signal aborted the work. */
export async function untilInterrupt<Value>(
  { onInterrupt }: Terminal,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value | undefined> {
  const interrupt = new AbortController();
  const unlisten = onInterrupt?.(() => interrupt.abort());
  try {
    return await work(interrupt.signal);
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    return undefined;
  } finally {
    unlisten?.();
  }
}

/** Waits for a job and shows its progress. If it fails, prints the reason and the hint, and returns `undefined`. */
export async function followJob({ client, terminal, isJson }: Session, id: string, name: string, hint?: string) {
  const startedAt = performance.now();
  const onProgress = ({ phase }: JobReply): void => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    terminal.status?.(`${name}: ${visibleText(phase)} … ${seconds} s`);
  };
  const job = await waitForJob(client, id, { onProgress });
  terminal.status?.('');
  if (job.job_state === 'DONE') return job;
  const reason = job.failure?.message ?? `The job ended as ${job.job_state}.`;
  const text = `${paintForErrors(terminal).red('tiltyard:')} ${visibleText(reason)}\n${hint === undefined ? '' : `${hint}\n`}`;
  terminal.err(isJson ? toJsonText({ error: { message: reason, hint } }) : text);
  return undefined;
}
