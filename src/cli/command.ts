import { readFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';

/** What a command may use of its surroundings. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** As `out`, with back-pressure. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** Width; present when the output goes to a terminal. */
  readonly columns?: number | undefined;
  /** Redraws one line of the error output; present when that is a terminal. An empty line clears it. */
  readonly status?: ((line: string) => void) | undefined;
  /** Asks the person at the terminal; present when there is one. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Calls `act` at the first signal to end; a second signal ends the process. Returns how to stop listening. */
  readonly onInterrupt?: ((act: () => void) => () => void) | undefined;
}

export interface Command {
  /** The words that choose it, such as `key create`. */
  readonly words: readonly string[];
  readonly usage: string;
  readonly summary: string;
  readonly help: string;
  /** Where they are declared one by one; else `usage` names them. */
  readonly options?: readonly { readonly name: string; readonly value?: string; readonly help: string }[];
  readonly run: (argv: readonly string[], terminal: Terminal) => Promise<number>;
}

/** Exit codes; `docs/guides/command-line.md` lists them. */
export const EXIT = {
  done: 0,
  /** The server or the system refused, or something failed. */
  failed: 1,
  /** Wrong words or settings: the caller must change the command first. */
  usage: 2,
  /** No server answered, or it cannot serve now: the same command may succeed later. */
  unavailable: 3,
  /** No key was given, or it is not valid or not sufficient. */
  forbidden: 4,
  /** What the command names does not exist. */
  missing: 5,
  /** Stopped by Ctrl-C, after cleaning up; what shells expect for that signal. */
  interrupted: 130,
} as const;

/** The command cannot run as it was given. Each message is a sentence. */
export class UsageError extends Error {
  readonly messages: readonly string[];

  constructor(...messages: readonly string[]) {
    super(messages.join(' '));
    this.name = 'UsageError';
    this.messages = messages;
  }
}

export function readConfig(argv: readonly string[], { env }: Terminal): ReturnType<typeof loadConfig> {
  return loadConfig({ argv, env, readFile: (path) => readFileSync(path, 'utf8') });
}

export function requireConfig(argv: readonly string[], terminal: Terminal): Config {
  const loaded = readConfig(argv, terminal);
  if ('faults' in loaded) throw new UsageError(...loaded.faults);
  return loaded.config;
}

/** JSON has no number for a `bigint`. */
export function toJsonText(value: unknown): string {
  return `${JSON.stringify(value, (_name, each: unknown) => (typeof each === 'bigint' ? String(each) : each), 2)}\n`;
}
