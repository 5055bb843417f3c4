import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const BENCH_KEY = 'bench-administrator-key-of-enough-length';

export interface ServerProcess {
  readonly port: number;
  /** The process id of the supervisor; the worker is its child. */
  readonly pid: number;
  close(): Promise<void>;
}

/** The server as users start it, in a separate process, on a free port. */
export async function startServerProcess(folder: string, flags: readonly string[] = []): Promise<ServerProcess> {
  const main = fileURLToPath(new URL('../bundle/main.js', import.meta.url));
  const child = spawn(process.execPath, [main, 'serve', folder, '--port=0', '--log-level=warn', ...flags], {
    env: { ...process.env, TILTYARD_ADMIN_KEY: BENCH_KEY },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await readPort(child);
  return {
    port,
    pid: child.pid ?? 0,
    async close() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The flags, with `own` replacing those for the same settings: the server refuses a setting that is given twice. */
export function withFlags(flags: readonly string[], own: readonly string[]): readonly string[] {
  const names = new Set(own.map(nameOfFlag));
  return [...flags.filter((flag) => !names.has(nameOfFlag(flag))), ...own];
}

function nameOfFlag(flag: string): string {
  return flag.split('=', 1)[0] ?? flag;
}

export async function readPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (piece: Buffer) => {
      text += piece.toString();
      const match = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
      if (match !== null) resolve(Number(match[1]));
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
}
