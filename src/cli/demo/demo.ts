import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient } from '../../client/api-client.ts';
import { localUrlOf } from '../../config/config.ts';
import type { Config } from '../../config/config.ts';
import { requireConfig } from '../command.ts';
import type { Command, Terminal } from '../command.ts';
import { DEMO_DATA } from '../find-server.ts';
import { runServer } from '../server/serve.ts';
import { showPath } from '../session.ts';

export const demoCommand: Command = {
  words: ['demo'],
  usage: '[DATA] [--no-open] [--port PORT]',
  summary: 'start a server with a sample table of images and open the console',
  help: `Starts a server on the folder DATA (default ./${DEMO_DATA}), creates the table demo/gallery in it and opens the
console in your browser. The table has 320 images with titles, descriptions and vectors, a full-text index,
and a few versions to compare. Press Ctrl-C to stop. The next start continues with the same data; delete the folder to
start again.

Options:
  --no-open  do not open a browser

It takes every option of "tiltyard serve".

Examples:
  tiltyard demo
  tiltyard demo ./somewhere --port 8080 --no-open`,
  options: [{ name: 'no-open', help: 'do not open a browser' }],
  async run(argv, terminal) {
    const isOpened = !argv.includes('--no-open') && terminal.columns !== undefined;
    const rest = argv.filter((word) => word !== '--no-open');
    // As variables, which everything else overrides. A log line per request would hide the address to open.
    const defaults = { TILTYARD_DATA: DEMO_DATA, TILTYARD_LOG_LEVEL: 'warn' };
    const config = requireConfig(rest, { ...terminal, env: { ...defaults, ...terminal.env } });
    return runServer(config, terminal, (address, ready) => {
      const url = localUrlOf(config, address);
      const key = ready.adminKey ?? readKey(config);
      void showDemo({ url, key, isOpened, terminal });
    });
  },
};

/** The key of an earlier start. */
function readKey({ data, adminKey }: Config): string | undefined {
  if (adminKey !== undefined) return adminKey;
  try {
    return readFileSync(join(data, 'admin.key'), 'utf8').trim();
  } catch {
    return undefined;
  }
}

interface Demo {
  readonly url: string;
  readonly key: string | undefined;
  readonly isOpened: boolean;
  readonly terminal: Terminal;
}

async function showDemo({ url, key, isOpened, terminal }: Demo): Promise<void> {
  const { GALLERY, loadDemo } = await import('./gallery.ts');
  const page = `${url}/ui/#/table/${showPath(GALLERY)}`;
  try {
    terminal.status?.('Drawing 320 images …');
    const isNew = await loadDemo(new ApiClient({ url, ...(key === undefined ? {} : { key }) }));
    terminal.status?.('');
    terminal.out(
      [
        '',
        isNew ? 'Created demo/gallery with 320 images.' : 'Using demo/gallery from the last start.',
        `Open ${page}`,
        ...(key === undefined ? [] : [`and sign in with the key ${key}`]),
        '',
        'Or use the command line, in another terminal:',
        `  export TILTYARD_URL=${url}${key === undefined ? '' : ` TILTYARD_KEY=${key}`}`,
        `  ${programOf(terminal)} query ${showPath(GALLERY)} --text "violet spiral" --select title,description -k 3`,
        '',
        'Press Ctrl-C to stop.',
        '',
      ].join('\n'),
    );
    if (isOpened) openPage(page);
  } catch (error) {
    terminal.status?.('');
    terminal.err(`tiltyard: The sample table was not created: ${error instanceof Error ? error.message : 'unknown'}\n`);
  }
}

/** The command as the reader has to type it: npx sets this variable. */
function programOf({ env }: Terminal): string {
  return env['npm_command'] === 'exec' ? 'npx tiltyard' : 'tiltyard';
}

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** On a machine without a browser, the address is still printed. */
function openPage(page: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  spawn(command, [...args, page], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}
