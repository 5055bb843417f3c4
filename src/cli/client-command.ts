import type { ApiClient } from '../client/api-client.ts';
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
import { loadTextWidth, paintFor, wrapText } from './show/text.ts';
import { exitCodeOf, refusalToJson, showRefusal } from './show/show-refusal.ts';

interface ClientCommand<Client = ApiClient> extends Pick<Command, 'words' | 'summary'> {
  /** The names that it takes, such as `TABLE [NAMESPACE]`; empty for none. */
  readonly names: string;
  /** Replaces the summary in the help. */
  readonly about?: string;
  readonly options?: readonly Option[];
  readonly examples: readonly string[];
  /** Advice in terms of this command, which replaces the server's hint in terms of its API. */
  readonly advice?: (error: ClientError) => string | undefined;
  /** What to do if no server responds. */
  readonly startAdvice?: string;
  readonly run: (session: Session<Client>) => Promise<Result | number>;
}

/** The server or data folder that a command uses. */
interface Connection<Client> extends Omit<FoundServer, 'client'> {
  readonly client: Client;
  readonly close?: () => Promise<void>;
}

type Connect<Client> = (given: Given, terminal: Terminal) => Promise<Connection<Client>>;

/** Stands for the options in the usage line; the help lists them. */
export const OPTIONS_SLOT = '[options]';

const JSON_OPTION: Option = { name: 'json', help: 'print JSON' };

export function defineClientCommand(definition: ClientCommand): Command {
  return defineConnectedCommand(definition, async (given, terminal) => findServer(given, terminal));
}

export function defineConnectedCommand<Client>(definition: ClientCommand<Client>, connect: Connect<Client>): Command {
  const { words, names, summary } = definition;
  const options = [...(definition.options ?? []), JSON_OPTION];
  const allOptions = [...options, ...connectionOptions(options)];
  return {
    words,
    usage: [...slotsOf(names), OPTIONS_SLOT].join(' '),
    summary,
    get help() {
      return helpOf(definition, options);
    },
    options: allOptions,
    async run(argv, terminal) {
      const given = readArguments(argv, allOptions);
      requireNames(given, definition);
      await loadTextWidth();
      const found = await connect(given, terminal);
      const canvas = { paint: paintFor(terminal), width: widthFor(terminal) };
      const isJson = given.has('json');
      const session = { client: found.client, given, terminal, canvas, isJson, sqlTexts: new Map<string, string>() };
      try {
        const result = await definition.run(session);
        return typeof result === 'number' ? result : printResult(session, result);
      } catch (error) {
        const { startAdvice, advice } = definition;
        return report(error, session, (failure) =>
          failure instanceof ConnectionError
            ? adviseOnConnection(failure, found, startAdvice)
            : (advice?.(failure) ?? adviceOn(failure, found, given)),
        );
      } finally {
        await found.close?.();
      }
    },
  };
}

export interface TableCommand extends Omit<ClientCommand, 'names' | 'run'> {
  /** Names after that of the table, such as `TAG [VERSION]`. */
  readonly names?: string;
  /** `names` are the arguments after the table. */
  readonly run: (session: TableSession, ...names: readonly string[]) => Promise<Result | number>;
}

export function defineTableCommand({ names = '', run, ...definition }: TableCommand): Command {
  return defineClientCommand({
    ...definition,
    names: `TABLE ${names}`.trimEnd(),
    run: async (session) => run({ ...session, table: requireTable(session.given) }, ...session.given.names.slice(1)),
  });
}

/** Output to a pipe is not cut, unless COLUMNS sets a width. */
function widthFor({ columns, env }: Terminal): number {
  const { COLUMNS = '' } = env;
  return columns ?? (/^[1-9]\d{1,3}$/.test(COLUMNS) ? Number(COLUMNS) : Number.POSITIVE_INFINITY);
}

type Advise = (error: ClientError | ConnectionError) => string | undefined;

function report(error: unknown, session: Session<unknown>, advise: Advise): number {
  const { terminal, isJson } = session;
  terminal.status?.('');
  if (!(error instanceof ClientError) && !(error instanceof ConnectionError)) throw error;
  terminal.err(isJson ? toJsonText(refusalToJson(error)) : showRefusal(error, session, advise(error)));
  return exitCodeOf(error);
}

export const START_ADVICE = 'Start it with "tiltyard serve", or give the address of another one with --server URL.';

export function adviseOnConnection(
  { hint }: Pick<ConnectionError, 'hint'>,
  { origin }: Pick<FoundServer, 'origin'>,
  startAdvice = START_ADVICE,
): string {
  const advice = hint ?? startAdvice;
  return origin === undefined ? advice : `${origin} ${advice}`;
}

const NAMESPACE_ADVICE =
  'Run "tiltyard namespace list" to list them, or "tiltyard namespace create NAME" to create one.';

const DATABASE_ADVICE = 'Run "tiltyard database list" to list them, or "tiltyard database create NAME" to create one.';

/** The commands that list objects of the kind that was not found. */
const LISTS: ReadonlyMap<number | undefined, string> = new Map([
  [ERROR_KINDS.TableIndexNotFound.code, 'index list'],
  [ERROR_KINDS.TableTagNotFound.code, 'tag list'],
  [ERROR_KINDS.TableBranchNotFound.code, 'branch list'],
  [ERROR_KINDS.TableVersionNotFound.code, 'versions'],
]);

function adviceOn(
  { code, status, hint, message }: ClientError,
  { credential }: Pick<FoundServer, 'credential'>,
  { names: [table = 'TABLE'] }: Given,
): string | undefined {
  const list = hint === undefined ? LISTS.get(code) : undefined;
  if (list !== undefined) return `Run "tiltyard ${list} ${table}" to list them.`;
  if (code === ERROR_KINDS.TableNotFound.code && hint === undefined) return 'Run "tiltyard tables" to list the tables.';
  if (code === ERROR_KINDS.NamespaceNotFound.code && hint === undefined) {
    // Databases have the same code.
    return message.startsWith('The database ') ? DATABASE_ADVICE : NAMESPACE_ADVICE;
  }
  if (status !== 401) return undefined;
  return credential === undefined
    ? 'Give a key with --key, --key @FILE or TILTYARD_KEY.'
    : `The credential is from ${credential}.`;
}

function requireNames({ names }: Given, { words, names: wanted }: Pick<ClientCommand, 'words' | 'names'>): void {
  const slots = slotsOf(wanted);
  const least = slots.filter((slot) => !slot.startsWith('[')).length;
  const most = slots.some((slot) => slot.endsWith('...')) ? Number.POSITIVE_INFINITY : slots.length;
  if (names.length >= least && names.length <= most) return;
  const problem =
    names.length < least
      ? `${slots[names.length] ?? ''} is missing`
      : `"${names[slots.length]}" is one argument too many`;
  const call = [...words, ...slots].join(' ');
  throw new UsageError(`${problem}. Usage: tiltyard ${call}. Run "tiltyard help ${words.join(' ')}" for details.`);
}

function slotsOf(names: string): readonly string[] {
  return names === '' ? [] : names.split(' ');
}

function helpOf({ about, summary, examples }: Omit<ClientCommand, 'run'>, options: readonly Option[]): string {
  return [
    ...wrapLines(about ?? `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`),
    '',
    'Options:',
    ...optionLines(options),
    '',
    'Connection options:',
    ...optionLines(connectionOptions(options)),
    '',
    examples.length === 1 ? 'Example:' : 'Examples:',
    ...examples.map((example) => `  tiltyard ${example}`),
  ].join('\n');
}

/** If `--database` has another meaning for a command, it is one of the command's own options. */
function connectionOptions(own: readonly Option[]): readonly Option[] {
  return SERVER_OPTIONS.filter(({ name }) => own.every((option) => option.name !== name));
}

const HELP_WIDTH = 100;

/** Indented lines are lists, and stay unchanged. */
function wrapLines(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => (line.startsWith(' ') ? [line] : wrapText(line, HELP_WIDTH)));
}

function optionLines(options: readonly Option[]): readonly string[] {
  const flags = options.map((option) => (option.short === undefined ? '' : `-${option.short}, `) + flagOf(option));
  const width = Math.max(...flags.map((flag) => flag.length));
  return options.map(({ help }, index) => `  ${(flags[index] ?? '').padEnd(width)}  ${help}`);
}

function flagOf({ name, value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}
