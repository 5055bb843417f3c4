import { execFile } from 'node:child_process';
import { chmod, cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ADMIN_KEY, startServer } from '../support/server.ts';
import type { CodeBlock } from './code-blocks.ts';

const run = promisify(execFile);
const DOCUMENTED_ADDRESS = 'http://127.0.0.1:2333';
const BLOCK_TIMEOUT_MS = 60_000;

export interface PageRunner {
  /** The folder of the reader, and that of the server's data. */
  readonly folder: string;
  readonly data: string;
  /** What the block printed; what a block exports, the next ones see. Throws when it fails. */
  run(block: CodeBlock): Promise<string>;
  /** Ends the server; the folders stay until `close`. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** What a page starts with: files of the reader, and the data of a server. */
export interface Prepared {
  readonly files: string;
  readonly data: string;
}

/** Runs a block once, for all pages that start with what it leaves: copying that is cheaper than running it again. */
export async function preparePage(python: string, block: CodeBlock, { files, data }: Prepared): Promise<void> {
  const page = await startPage(python);
  const own = new Set(['node_modules', 'data', 'bin', 'environment'].map((name) => join(page.folder, name)));
  try {
    await page.run(block);
    await page.stop();
    await cp(page.folder, files, { recursive: true, filter: (path) => !own.has(path) });
    await cp(page.data, data, { recursive: true });
  } finally {
    await page.close();
  }
}

/** A server, and the folder of a reader: empty but for the data of the server and the packages that pages say to install. */
export async function startPage(python: string, prepared?: Prepared): Promise<PageRunner> {
  const data = await mkdtemp(join(tmpdir(), 'tiltyard-test-'));
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-page-'));
  if (prepared !== undefined) {
    await cp(prepared.files, folder, { recursive: true });
    await cp(prepared.data, data, { recursive: true });
  }
  const server = await startServer({ folder: data });
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await symlink(server.folder, join(folder, 'data'));
  await writeFile(join(server.folder, 'admin.key'), `${ADMIN_KEY}\n`);
  await writeFile(join(folder, 'environment'), '');
  await writeCommands(folder, python);
  const env = {
    ...process.env,
    PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
    TILTYARD_URL: server.url,
    TILTYARD_KEY: ADMIN_KEY,
  };
  let count = 0;
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => (stopped ??= server.close());
  return {
    folder,
    data,
    stop,
    async run(block) {
      count += 1;
      const code = block.code.replaceAll(DOCUMENTED_ADDRESS, server.url);
      const shows = `export SHOWS_REFUSAL=${block.refused ?? ''}`;
      const command = await commandFor({ folder, name: `block-${count}`, language: block.language, code, shows });
      const { stdout } = await run('bash', ['--norc', '-c', command], {
        cwd: folder,
        env,
        timeout: BLOCK_TIMEOUT_MS,
        maxBuffer: 16 * 1024 * 1024,
      });
      return stdout;
    },
    async close() {
      await stop();
      await rm(folder, { recursive: true, force: true });
      await rm(data, { recursive: true, force: true });
    },
  };
}

interface Script {
  readonly folder: string;
  readonly name: string;
  readonly language: string;
  readonly code: string;
  readonly shows: string;
}

async function commandFor({ folder, name, language, code, shows }: Script): Promise<string> {
  const enter = `set -euo pipefail; source ./environment; ${shows}`;
  // `set -e` lets a list such as `a && b` fail; so the status of the last command is looked at, too.
  const leave = 'status=$?; export -p > ./environment; exit $status';
  if (language === 'sh') return `${enter}\n${code}\n${leave}`;
  const file = language === 'python' ? `${name}.py` : `${name}.mjs`;
  await writeFile(join(folder, file), code);
  return `${enter}\n${language === 'python' ? 'python3' : 'node'} ${file}`;
}

/** The commands of the pages: `tiltyard` of this build, and a `curl` that fails when the server refuses. */
async function writeCommands(folder: string, python: string): Promise<void> {
  const bin = join(folder, 'bin');
  const { stdout } = await run('bash', ['-c', 'command -v curl']);
  const commands = {
    tiltyard: `exec ${process.execPath} ${resolve('build/bundle/main.js')} "$@"`,
    curl: `if [ -n "\${SHOWS_REFUSAL:-}" ]; then exec ${stdout.trim()} "$@"; fi\nexec ${stdout.trim()} --fail-with-body "$@"`,
    python3: `exec ${python} "$@"`,
    node: `exec ${process.execPath} "$@"`,
    // The packages of the folder are those of the checkout: an example must never install into them.
    npm: 'echo "examples do not run npm" >&2; exit 1',
    npx: 'echo "examples do not run npx" >&2; exit 1',
  };
  await run('mkdir', [bin]);
  for (const [name, line] of Object.entries(commands)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${line}\n`);
    await chmod(join(bin, name), 0o755);
  }
}
