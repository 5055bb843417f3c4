import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Downloading and compiling. */
const PREPARE_MILLISECONDS_MAX = 15 * 60_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const LINES_MAX = 5;

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Longest time; long enough for most downloads when absent. */
  readonly milliseconds?: number;
}

/** What a tool printed; `failed` has its last lines when it is missing or failed. */
export async function runTool(
  file: string,
  args: readonly string[],
  { cwd, env, milliseconds = PREPARE_MILLISECONDS_MAX }: CommandOptions = {},
): Promise<{ readonly stdout: string } | { readonly failed: string }> {
  try {
    const { stdout } = await run(file, [...args], {
      ...(cwd !== undefined && { cwd }),
      env: { ...process.env, ...env },
      timeout: milliseconds,
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    return { stdout };
  } catch (error) {
    const { stderr = '', stdout = '', message } = error as Error & { stderr?: string; stdout?: string };
    const said = stderr.trim() || stdout.trim() || message;
    return { failed: `${file} ${args[0] ?? ''}: ${lastLines(said)}` };
  }
}

export function lastLines(text: string, count = LINES_MAX): string {
  return text.trim().split('\n').slice(-count).join('\n');
}
