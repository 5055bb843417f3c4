import { readFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';

/** What a command may use of its environment. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Like `out`, with back-pressure. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** The width; present if the output is a terminal. */
  readonly columns?: number | undefined;
  /** Redraws one line of the error output; present if that is a terminal. An empty line clears it. */
  readonly status?: ((line: string) => void) | undefined;
  /** Asks the person at the terminal; present if there is one. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /**
   * Calls `act` at the first interrupt signal; a second one ends the process. Returns a function that stops listening.
   */
  readonly onInterrupt?: ((act: () => void) => () => void) | undefined;
}

export interface Command {
  /** The words that select it, such as `key create`. */
  readonly words: readonly string[];
  readonly usage: string;
  readonly summary: string;
  readonly help: string;
  /** Present if they are declared one by one; otherwise `usage` names them. */
  readonly options?: readonly { readonly name: string; readonly value?: string; readonly help: string }[];
  readonly run: (argv: readonly string[], terminal: Terminal) => Promise<number>;
}

/** Exit codes; `docs/guides/command-line.md` lists them. */
export const EXIT = {
  done: 0,
  /** The server or the system refused, or something failed. */
  failed: 1,
  /** Wrong arguments or settings: the command must be changed first. */
  usage: 2,
  /** No server responded, or it cannot serve now: the same command may succeed later. */
  unavailable: 3,
  /** The key is missing, invalid or lacks permission. */
  forbidden: 4,
  /** An object that the command names does not exist. */
  missing: 5,
  /** Stopped by Ctrl-C, after cleaning up; the code that shells expect for that signal. */
  interrupted: 130,
} as const;

/** The command cannot run as given. Each message is a sentence. */
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

/** JSON cannot represent a `bigint` as a number. */
export function toJsonText(value: unknown): string {
  return `${JSON.stringify(value, (_name, each: unknown) => (typeof each === 'bigint' ? String(each) : each), 2)}\n`;
}
