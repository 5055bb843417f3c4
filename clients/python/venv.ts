import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Prepared, Skipped } from '../client.ts';
import { runTool } from '../commands.ts';

export interface PythonPackages {
  readonly release: string;
  readonly folder: string;
  /** As pip takes them. */
  readonly packages: readonly string[];
}

/** A virtual environment with these packages; one that was made before is used again. */
export async function preparePython({ release, folder, packages }: PythonPackages): Promise<Prepared | Skipped> {
  const complete = join(folder, 'packages.txt');
  const list = `${packages.join('\n')}\n`;
  if (existsSync(complete) && (await readFile(complete, 'utf8')) === list) return { release, folder };
  const made = await runTool(process.env['PYTHON'] ?? 'python3', ['-m', 'venv', join(folder, 'venv')]);
  if ('failed' in made) return { skipped: made.failed };
  const installed = await runTool(pythonOf(folder), ['-m', 'pip', 'install', '--quiet', ...packages]);
  if ('failed' in installed) return { skipped: installed.failed };
  await writeFile(complete, list);
  return { release, folder };
}

export function pythonOf(folder: string): string {
  return join(folder, 'venv', 'bin', 'python');
}
