import { performance } from 'node:perf_hooks';
import { defined } from '../client/api-client.ts';
import type { ApiClient } from '../client/api-client.ts';
import { tagVersion } from '../client/history.ts';
import type { State } from '../client/history.ts';
import { waitForJob } from '../client/calls.ts';
import { ServiceError } from '../errors/service-error.ts';
import { DEFAULT_DELIMITER, formatPath, parseNamespacePath, parseTablePath } from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import type { JobReply } from '../wire/jobs.ts';
import { EXIT, UsageError, toJsonText } from './command.ts';
import type { Terminal } from './command.ts';
import type { Given, Option } from './options.ts';
import { drawTable } from './show/draw-table.ts';
import type { Canvas, ColumnHead } from './show/draw-table.ts';
import { paintForErrors, visibleText } from './show/text.ts';

/** One run of a command that is a client of a server. */
export interface Session {
  readonly client: ApiClient;
  readonly given: Given;
  readonly terminal: Terminal;
  readonly canvas: Canvas;
  /** Whether the output is for a program. */
  readonly isJson: boolean;
  /** SQL texts that are sent, under the names by which refusals call them. */
  readonly sqlTexts: Map<string, string>;
}

/** The table that a name means: `orders`, `eu/orders` or `eu$orders`. */
export function requireTable(given: Given, index = 0): TablePath {
  const text = given.names[index] ?? '';
  return asUsage(() => parseTablePath(text, delimiterOf(text)));
}

/** The namespace that the first name means; without a name the root. */
export function readNamespace({ names: [text = '/'] }: Given): NamespacePath {
  return text === '/' ? [] : asUsage(() => parseNamespacePath(text, delimiterOf(text)));
}

/** No name contains a slash, and it needs no quotes in a shell. */
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

export const BRANCH_OPTION: Option = {
  name: 'branch',
  value: 'NAME',
  help: 'branch to work on; the main one when absent',
};

export const STATE_OPTIONS: readonly Option[] = [
  { name: 'at', value: 'VERSION', help: 'as of a version, given by its number or by a tag' },
  BRANCH_OPTION,
];

export function readBranch(given: Given): Pick<State, 'branch'> {
  return defined({ branch: given.value('branch') });
}

/** The state that --at and --branch mean. A tag names both. */
export async function readState(client: ApiClient, table: TablePath, given: Given): Promise<State> {
  const at = given.value('at');
  const branch = readBranch(given);
  if (at === undefined) return branch;
  if (/^\d{1,15}$/.test(at)) return { version: Number(at), ...branch };
  if (given.has('branch')) throw new UsageError('A tag names a branch itself: give --at TAG without --branch.');
  const tagged = await tagVersion(client, table, { tag: at });
  return { version: tagged.version, ...defined({ branch: tagged.branch }) };
}

/** Prints a reply as JSON for programs, else the text for people. */
export function printResult({ terminal, isJson }: Session, reply: object, text: string): number {
  terminal.out(isJson ? toJsonText(withoutContext(reply)) : text);
  return EXIT.done;
}

/** The context of a reply repeats its headers. */
function withoutContext(reply: object): object {
  if (!('context' in reply)) return reply;
  const { context: _context, ...rest } = reply;
  return rest;
}

/** Writes bytes to the output as they arrive. */
export async function writeBytes({ terminal }: Session, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  for await (const piece of pieces) {
    if (terminal.write === undefined) terminal.out(decoder.decode(piece, { stream: true }));
    else await terminal.write(piece);
  }
}

interface Listing {
  readonly reply: object;
  readonly heads: readonly ColumnHead[];
  readonly rows: readonly (readonly string[])[];
  /** Written to the error output when there are no rows. */
  readonly none: string;
}

/** Prints a list as JSON for programs, else as a table. */
export function printList(session: Session, { reply, heads, rows, none }: Listing): number {
  if (rows.length === 0 && !session.isJson) session.terminal.err(`${none}\n`);
  return printResult(session, reply, rows.length === 0 ? '' : drawTable(heads, rows, session.canvas));
}

export const YES_OPTION: Option = { name: 'yes', short: 'y', help: 'do it without being asked' };

/** Whether the person at the terminal agrees; without a terminal, --yes is required. */
export async function confirm({ given, terminal }: Session, question: string): Promise<boolean> {
  if (given.has('yes')) return true;
  if (terminal.ask === undefined) throw new UsageError(`${question} There is no terminal to confirm it: add --yes.`);
  const reply = await terminal.ask(`${paintForErrors(terminal).yellow(question)} [y/N] `);
  if (/^y(es)?$/i.test(reply.trim())) return true;
  terminal.err('Nothing was changed.\n');
  return false;
}

/** Waits for a job and shows its progress. When it fails, prints the reason and returns `undefined`. */
export async function followJob(
  { client, terminal }: Session,
  id: string,
  name: string,
): Promise<JobReply | undefined> {
  const startedAt = performance.now();
  const job = await waitForJob(client, id, {
    onProgress: ({ phase }) => {
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      terminal.status?.(`${name}: ${visibleText(phase)} … ${seconds} s`);
    },
  });
  terminal.status?.('');
  if (job.job_state === 'DONE') return job;
  const reason = job.failure?.message ?? `The job ended as ${job.job_state}.`;
  terminal.err(`${paintForErrors(terminal).red('tiltyard:')} ${visibleText(reason)}\n`);
  return undefined;
}
