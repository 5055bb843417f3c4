import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readPort } from '../server-process.ts';
import type { Bench } from './scenario.ts';

/** Serves tables of the engine's own folder. */
export async function startBareServer({ folder }: Pick<Bench, 'folder'>, ...tables: readonly string[]) {
  const bare = fileURLToPath(new URL('../bare-server.js', import.meta.url));
  const server = spawn(process.execPath, [bare, join(folder, 'engine'), ...tables], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { port: await readPort(server), close: () => void server.kill() };
}
