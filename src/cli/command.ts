import { readFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';

/** What a command may touch of the world around it. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Writes at the reader's pace; without it, `out` takes what comes. */
  readonly write?: ((bytes: Uint8Array) => Promise<void>) | undefined;
  /** How wide it is; present when a person reads the output at a terminal. */
  readonly columns?: number | undefined;
  /** Draws over the same line of the error output; present when that is a terminal. An empty line takes it away. */
  readonly status?: ((line: string) => void) | undefined;
  /** Asks the person at the terminal; present when there is one. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Calls once when the person or the system wants the command to end; a second time ends it as usual. Gives the way to stop listening. */
  readonly onInterrupt?: ((act: () => void) => () => void) | undefined;
}

export interface Command {
  /** The words that choose it, such as `key create`. */
  readonly words: readonly string[];
  readonly usage: string;
  readonly summary: string;
  readonly help: string;
  /** Where they are known one by one; else they are those that `usage` shows. */
  readonly options?: readonly { readonly name: string; readonly value?: string; readonly help: string }[];
  readonly run: (argv: readonly string[], terminal: Terminal) => Promise<number>;
}

/** The command cannot run as it was given; each fault is a sentence. */
export class CommandFault extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join(' '));
    this.name = 'CommandFault';
    this.faults = faults;
  }
}

export function requireConfig(argv: readonly string[], terminal: Terminal): Config {
  const loaded = loadConfig({ argv, env: terminal.env, readFile: (path) => readFileSync(path, 'utf8') });
  if ('faults' in loaded) throw new CommandFault(loaded.faults);
  return loaded.config;
}

export interface SplitArguments {
  readonly names: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  /** Options without a value that were given. */
  readonly switches: ReadonlySet<string>;
  /** Flags that are settings, such as `--data`. */
  readonly settings: readonly string[];
}

/** Tells a command's own names and options from the settings' flags, which all commands take. */
export function splitArguments(
  argv: readonly string[],
  own: readonly string[],
  ownSwitches: readonly string[] = [],
): SplitArguments {
  const names: string[] = [];
  const options: Record<string, string> = {};
  const switches = new Set<string>();
  const settings: string[] = [];
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [flag = '', attached] = word.split(/=(.*)/s, 2);
    if (!word.startsWith('--')) names.push(word);
    else if (ownSwitches.includes(word.slice(2))) switches.add(word.slice(2));
    else if (own.includes(flag.slice(2))) options[flag.slice(2)] = attached ?? requireValue(flag, rest);
    else settings.push(word, ...(attached === undefined && isValue(rest[0]) ? [rest.shift() ?? ''] : []));
  }
  return { names, options, switches, settings };
}

function requireValue(flag: string, rest: string[]): string {
  const value = rest.shift();
  if (value === undefined || value.startsWith('--')) throw new CommandFault([`${flag} needs a value.`]);
  return value;
}

function isValue(word: string | undefined): boolean {
  return word !== undefined && !word.startsWith('--');
}

/** What the exit code of a command tells; `docs/guides/command-line.md` lists them. */
export const EXIT = {
  done: 0,
  /** The server or the system refused, or something failed. */
  failed: 1,
  /** Wrong words or settings: the caller must change the command first. */
  usage: 2,
  /** No server answered, or it cannot serve now: the same command may succeed later. */
  unavailable: 3,
  /** No key was given, or it is not valid or not enough for this. */
  forbidden: 4,
  /** What the command names is not there. */
  missing: 5,
  /** Stopped by Ctrl-C, after it put away what it had made; what shells expect for that signal. */
  interrupted: 130,
} as const;
