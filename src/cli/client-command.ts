import { ClientError, ConnectionError } from '../client/client-error.ts';
import { ERROR_KINDS } from '../errors/service-error.ts';
import { UsageError, toJsonText } from './command.ts';
import type { Command, Terminal } from './command.ts';
import { SERVER_OPTIONS, findServer } from './find-server.ts';
import type { FoundServer } from './find-server.ts';
import { readArguments } from './options.ts';
import type { Given, Option } from './options.ts';
import { printResult, requireTable } from './session.ts';
import type { Result, Session, TableSession } from './session.ts';
import { paintFor } from './show/text.ts';
import { exitCodeOf, refusalToJson, showRefusal } from './show/show-refusal.ts';

interface ClientCommand extends Pick<Command, 'words' | 'summary'> {
  /** Names that it takes, such as `TABLE [NAMESPACE]`; empty for none. */
  readonly names: string;
  /** What help says in place of the summary. */
  readonly about?: string;
  readonly options?: readonly Option[];
  readonly examples: readonly string[];
  /** What to do, in the words of this command, where the server's hint has those of its API. */
  readonly advice?: (error: ClientError) => string | undefined;
  readonly run: (session: Session) => Promise<Result | number>;
}

const JSON_OPTION: Option = { name: 'json', help: 'print JSON, for programs' };

export function defineClientCommand(definition: ClientCommand): Command {
  const { words, names, summary } = definition;
  const options = [...(definition.options ?? []), JSON_OPTION];
  return {
    words,
    usage: [...slotsOf(names), ...options.map((option) => `[${flagOf(option)}]`)].join(' '),
    summary,
    help: helpOf(definition, options),
    options: [...options, ...SERVER_OPTIONS],
    async run(argv, terminal) {
      const given = readArguments(argv, [...options, ...SERVER_OPTIONS]);
      requireNames(given, definition);
      const found = findServer(given, terminal);
      const canvas = { paint: paintFor(terminal), width: widthFor(terminal) };
      const isJson = given.has('json');
      const session = { client: found.client, given, terminal, canvas, isJson, sqlTexts: new Map<string, string>() };
      try {
        const result = await definition.run(session);
        return typeof result === 'number' ? result : printResult(session, result);
      } catch (error) {
        return report(error, session, (refusal) => definition.advice?.(refusal) ?? adviceOn(refusal, found));
      }
    },
  };
}

export interface TableCommand extends Omit<ClientCommand, 'names' | 'run'> {
  /** Names behind that of the table, such as `TAG [VERSION]`. */
  readonly names?: string;
  /** `names` are the arguments behind the table. */
  readonly run: (session: TableSession, ...names: readonly string[]) => Promise<Result | number>;
}

export function defineTableCommand({ names = '', run, ...definition }: TableCommand): Command {
  return defineClientCommand({
    ...definition,
    names: `TABLE ${names}`.trimEnd(),
    run: async (session) => run({ ...session, table: requireTable(session.given) }, ...session.given.names.slice(1)),
  });
}

/** A pipe is not cut, unless COLUMNS says how wide it is. */
function widthFor({ columns, env }: Terminal): number {
  const { COLUMNS = '' } = env;
  return columns ?? (/^[1-9]\d{1,3}$/.test(COLUMNS) ? Number(COLUMNS) : Number.POSITIVE_INFINITY);
}

function report(error: unknown, session: Session, advise: (error: ClientError) => string | undefined): number {
  const { terminal, isJson } = session;
  terminal.status?.('');
  if (!(error instanceof ClientError) && !(error instanceof ConnectionError)) throw error;
  const advice = error instanceof ConnectionError ? START_ADVICE : advise(error);
  terminal.err(isJson ? toJsonText(refusalToJson(error)) : showRefusal(error, session, advice));
  return exitCodeOf(error);
}

export const START_ADVICE = 'Start it with "tiltyard serve", or name another with --server URL.';

function adviceOn({ code, status, hint }: ClientError, { credential }: FoundServer): string | undefined {
  if (code === ERROR_KINDS.TableNotFound.code && hint === undefined)
    return '"tiltyard tables" lists those that are there.';
  if (status !== 401) return undefined;
  return credential === undefined
    ? 'Give a key with --key, --key @FILE or TILTYARD_KEY.'
    : `The credential came from ${credential}.`;
}

function requireNames({ names }: Given, { words, names: wanted }: ClientCommand): void {
  const slots = slotsOf(wanted);
  const least = slots.filter((slot) => !slot.startsWith('[')).length;
  const most = slots.some((slot) => slot.endsWith('...')) ? Number.POSITIVE_INFINITY : slots.length;
  if (names.length >= least && names.length <= most) return;
  const problem =
    names.length < least ? `${slots[names.length] ?? ''} is missing` : `"${names[slots.length]}" is one name too many`;
  const call = [...words, ...slots].join(' ');
  throw new UsageError(`${problem}: tiltyard ${call}. See "tiltyard help ${words.join(' ')}".`);
}

function slotsOf(names: string): readonly string[] {
  return names === '' ? [] : names.split(' ');
}

function helpOf({ about, summary, examples }: ClientCommand, options: readonly Option[]): string {
  return [
    about ?? `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    '',
    'Options:',
    ...optionLines(options),
    '',
    'Of every command that asks a server:',
    ...optionLines(SERVER_OPTIONS),
    '',
    examples.length === 1 ? 'Example:' : 'Examples:',
    ...examples.map((example) => `  tiltyard ${example}`),
  ].join('\n');
}

function optionLines(options: readonly Option[]): readonly string[] {
  const flags = options.map((option) => (option.short === undefined ? '' : `-${option.short}, `) + flagOf(option));
  const width = Math.max(...flags.map((flag) => flag.length));
  return options.map(({ help }, index) => `  ${(flags[index] ?? '').padEnd(width)}  ${help}`);
}

function flagOf({ name, value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}
