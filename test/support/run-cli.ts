import assert from 'node:assert/strict';
import { runCommand } from '../../src/cli/commands.ts';
import type { Terminal } from '../../src/cli/command.ts';
import { ADMIN_KEY } from './server.ts';

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process, and keeps what it wrote. */
export async function runCli(argv: readonly string[], terminal: Partial<Terminal> = {}): Promise<Outcome> {
  let out = '';
  let err = '';
  const decoder = new TextDecoder();
  const code = await runCommand(argv, {
    env: {},
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    write: async (bytes) => {
      out += decoder.decode(bytes, { stream: true });
    },
    ...terminal,
  });
  return { code, out, err };
}

/** The same as the administrator of a server. */
export async function runCliOn(
  url: string,
  argv: readonly string[],
  terminal: Partial<Terminal> = {},
): Promise<Outcome> {
  const env = { TILTYARD_URL: url, TILTYARD_KEY: ADMIN_KEY, ...terminal.env };
  return runCli(argv, { ...terminal, env });
}

/** What such a command prints; it must succeed. */
export async function readOn(url: string, argv: readonly string[]): Promise<string> {
  const { code, out, err } = await runCliOn(url, argv);
  assert.equal(code, 0, err);
  return out;
}

/** The same with `--json`. */
export async function readJsonOn(url: string, argv: readonly string[]): Promise<any> {
  return JSON.parse(await readOn(url, [...argv, '--json']));
}

/** Every column of a terminal of this width, without its colours. */
export function withoutColours(text: string): string {
  // oxlint-disable-next-line no-control-regex -- Colours begin with an escape.
  return text.replaceAll(/\u001b\[\d+m/g, '');
}
