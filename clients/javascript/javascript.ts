import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProgram } from '../client.ts';
import type { ClientSuite, Prepared, Skipped } from '../client.ts';
import { runTool } from '../commands.ts';

const PACKAGE = '@lancedb/lancedb';
const PROGRAM = fileURLToPath(new URL('program.js', import.meta.url));
/** Large packages for embeddings, which no method here needs. */
const OVERRIDES = {
  '@huggingface/transformers': 'npm:empty-npm-package@1.0.0',
  openai: 'npm:empty-npm-package@1.0.0',
};

/** LanceDB's own client for JavaScript. The newest release is also the engine of the server. */
export const JAVASCRIPT: ClientSuite = {
  name: 'javascript',
  language: 'JavaScript',
  packageName: PACKAGE,
  releases: ['0.39.0', '0.38.0', '0.37.1', '0.33.0', '0.31.0', '0.27.2', '0.22.3'],
  prepare: install,
  run: ({ folder }, service) => startProgram({ file: process.execPath, args: [PROGRAM, folder] }, service),
};

async function install(release: string, folder: string): Promise<Prepared | Skipped> {
  if (existsSync(join(folder, 'node_modules', '.package-lock.json'))) return { release, folder };
  const dependencies = { [PACKAGE]: release, 'apache-arrow': '18.1.0' };
  const manifest = { private: true, dependencies, overrides: OVERRIDES };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, undefined, 2));
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--include=optional'];
  const installed = await runTool('npm', ['install', ...options], { cwd: folder });
  return 'failed' in installed ? { skipped: installed.failed } : { release, folder };
}
