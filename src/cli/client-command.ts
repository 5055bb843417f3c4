import { ClientError, ConnectionError } from '../client/client-error.ts';
import type { ApiClient } from '../client/api-client.ts';
import { DEFAULT_DELIMITER, formatPath, parseNamespacePath, parseTablePath } from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { ERROR_KINDS, ServiceError } from '../errors/service-error.ts';
import { toJsonText } from './access/grants.ts';
import { CommandFault } from './command.ts';
import type { Command, Terminal } from './command.ts';
import { SERVER_OPTIONS, findServer } from './find-server.ts';
import type { FoundServer } from './find-server.ts';
import { readArguments } from './options.ts';
import type { Given, Option } from './options.ts';
import type { Canvas } from './show/draw-table.ts';
import { paintFor, paintForErrors } from './show/paint.ts';
import { exitCodeOf, refusalToJson, showRefusal } from './show/show-refusal.ts';

/** What a command that is a client works with. */
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

export interface ClientCommand {
  readonly words: readonly string[];
  /** Names that it takes, such as `TABLE [NAMESPACE]`. */
  readonly names: string;
  readonly summary: string;
  readonly about?: string;
  readonly options?: readonly Option[];
  readonly examples: readonly string[];
  /** What would be right, in the words of this command, where the server's hint has those of its API. */
  readonly advice?: (error: ClientError) => string | undefined;
  readonly run: (session: Session) => Promise<number>;
}

const JSON_OPTION: Option = { name: 'json', help: 'print JSON, for programs' };

export function defineClientCommand(definition: ClientCommand): Command {
  const options = [...(definition.options ?? []), JSON_OPTION];
  return {
    words: definition.words,
    usage: usageOf(definition.names, options),
    summary: definition.summary,
    help: helpOf(definition, options),
    options: [...options, ...SERVER_OPTIONS],
    async run(argv, terminal) {
      const given = readArguments(argv, [...options, ...SERVER_OPTIONS]);
      requireNames(given, definition);
      const found = findServer(given, terminal);
      const session = toSession(given, terminal, found);
      try {
        return await definition.run(session);
      } catch (error) {
        return report(error, session, (refusal) => definition.advice?.(refusal) ?? adviceOn(refusal, found));
      }
    },
  };
}

function toSession(given: Given, terminal: Terminal, { client }: FoundServer): Session {
  const canvas = { paint: paintFor(terminal), width: widthFor(terminal) };
  return { client, given, terminal, canvas, isJson: given.has('json'), sqlTexts: new Map() };
}

/** What goes into a pipe is not cut, unless the caller says how wide its paper is. */
function widthFor({ columns, env }: Terminal): number {
  const told = /^[1-9]\d{1,3}$/.test(env['COLUMNS'] ?? '') ? Number(env['COLUMNS']) : Number.POSITIVE_INFINITY;
  return columns ?? told;
}

function report(error: unknown, session: Session, advise: (error: ClientError) => string | undefined): number {
  const { terminal, isJson, sqlTexts } = session;
  terminal.status?.('');
  if (!(error instanceof ClientError) && !(error instanceof ConnectionError)) throw error;
  const advice = error instanceof ConnectionError ? START_IT : advise(error);
  if (isJson) terminal.err(toJsonText(refusalToJson(error)));
  else terminal.err(showRefusal(error, { paint: paintForErrors(terminal), sqlTexts, advice }));
  return exitCodeOf(error);
}

const START_IT = 'Start it with "tiltyard serve", or name another with --server URL.';

function adviceOn({ code, status, hint }: ClientError, { credential }: FoundServer): string | undefined {
  if (code === ERROR_KINDS.TableNotFound.code && hint === undefined)
    return '"tiltyard tables" lists those that are there.';
  if (status !== 401) return undefined;
  return credential === undefined
    ? 'Give a key with --key, --key @FILE or TILTYARD_KEY.'
    : `The credential came from ${credential}.`;
}

/** Says which names are missing or too many. */
function requireNames({ names }: Given, { words, names: wanted }: ClientCommand): void {
  const places = wanted.split(' ').filter((word) => word !== '');
  const least = places.filter((place) => !place.startsWith('[')).length;
  const most = places.some((place) => place.endsWith('...')) ? Number.POSITIVE_INFINITY : places.length;
  if (names.length >= least && names.length <= most) return;
  const call = `tiltyard ${[...words, ...places].join(' ')}`;
  const missing =
    names.length < least
      ? `${places[names.length] ?? ''} is missing`
      : `"${names[places.length]}" is one name too many`;
  throw new CommandFault([`${missing}: ${call}. See "tiltyard help ${words.join(' ')}".`]);
}

function usageOf(names: string, options: readonly Option[]): string {
  return [names, ...options.map(flagOf)].filter((part) => part !== '').join(' ');
}

function flagOf({ name, value }: Option): string {
  return value === undefined ? `[--${name}]` : `[--${name} ${value}]`;
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
  const flags = options.map(({ name, value, short }) => {
    return `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
  });
  const width = Math.max(...flags.map((flag) => flag.length));
  return options.map(({ help }, index) => `  ${(flags[index] ?? '').padEnd(width)}  ${help}`);
}

/** The table that the first name of a command means: `orders`, `eu/orders` or `eu$orders`. */
export function requireTable(given: Given, place = 0): TablePath {
  return asUsage(() => {
    const text = given.names[place] ?? '';
    return parseTablePath(text, delimiterOf(text));
  });
}

/** The same for a namespace; without a name the root. */
export function readNamespace(given: Given, place = 0): NamespacePath {
  const text = given.names[place];
  if (text === undefined || text === '/') return [];
  return asUsage(() => parseNamespacePath(text, delimiterOf(text)));
}

/** No name holds a slash, which needs no quotes in a shell. */
function delimiterOf(text: string): string {
  return text.includes('/') ? '/' : DEFAULT_DELIMITER;
}

export function showPath(path: NamespacePath): string {
  return formatPath(path, '/');
}

function asUsage<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof ServiceError) throw new CommandFault([error.detail]);
    throw error;
  }
}

/** One answer for programs, another for people. */
export function answer({ terminal, isJson }: Session, reply: object, shown: string): number {
  terminal.out(isJson ? toJsonText(withoutContext(reply)) : shown);
  return 0;
}

/** The headers of the reply, repeated in its body, tell nothing more. */
function withoutContext(reply: object): object {
  if (!('context' in reply)) return reply;
  const { context: _context, ...rest } = reply;
  return rest;
}
