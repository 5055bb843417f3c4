import { readFileSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load-config.ts';
import { toJsonText } from '../access/grants.ts';
import { splitArguments, EXIT } from '../command.ts';
import type { Command, SplitArguments, Terminal } from '../command.ts';
import { bad, good, checkHere, checkServer } from './checks.ts';
import type { Check } from './checks.ts';
import { findServer } from '../find-server.ts';
import type { FoundServer } from '../find-server.ts';
import { paintFor } from '../show/paint.ts';
import type { Paint } from '../show/paint.ts';
import { visibleText } from '../show/text.ts';

export const doctorCommand: Command = {
  words: ['doctor'],
  usage: '[DATA] [--offline] [--json] [--server URL] [--key KEY] [--token TOKEN] [flags]',
  summary: 'check settings, data, catalog, storage and server, and say what to do',
  help: `Reads the settings as "tiltyard serve" would, looks at the data folder and its catalog without changing them, and asks
the server, unless --offline is given. Exit code 0 when nothing is wrong, else 1.

Examples:
  tiltyard doctor
  tiltyard doctor /srv/tables --offline
  tiltyard doctor --server https://tables.example.com --key @key.txt`,
  async run(argv, terminal) {
    const split = splitArguments(argv, ['server', 'key', 'token', 'database'], ['json', 'offline']);
    const checks = await examine(split, terminal);
    const isWell = checks.every(({ state }) => state !== 'bad');
    terminal.out(split.switches.has('json') ? toJsonText({ ok: isWell, checks }) : draw(checks, paintFor(terminal)));
    return isWell ? EXIT.done : EXIT.failed;
  },
};

async function examine(split: SplitArguments, terminal: Terminal): Promise<readonly Check[]> {
  const argv = [...split.names, ...split.settings];
  const loaded = loadConfig({ argv, env: terminal.env, readFile: (path) => readFileSync(path, 'utf8') });
  const settings =
    'faults' in loaded
      ? loaded.faults.map((fault) => bad('settings', fault, 'See "tiltyard config" and docs/settings.md.'))
      : [good('settings', 'valid')];
  const config = 'config' in loaded ? loaded.config : undefined;
  return [
    ...settings,
    ...(config === undefined ? [] : await checkHere(config)),
    ...(split.switches.has('offline') ? [] : await checkServer(locate(split, terminal, config))),
  ];
}

/** Unless another is named, the server that these settings start, with the key in its data folder. */
function locate({ options }: SplitArguments, terminal: Terminal, config: Config | undefined): FoundServer {
  const scheme = config?.tls === undefined ? 'http' : 'https';
  const own =
    config === undefined
      ? {}
      : {
          TILTYARD_URL: `${scheme}://${hostOf(config)}:${config.port}${config.basePath}`,
          TILTYARD_DATA: config.data,
        };
  const given = {
    names: [],
    has: (name: string) => options[name] !== undefined,
    value: (name: string) => options[name],
    values: (name: string) => (options[name] === undefined ? [] : [options[name]]),
  };
  return findServer(given, { ...terminal, env: { ...own, ...terminal.env } });
}

/** A server that listens everywhere also listens here. */
function hostOf({ host }: Config): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function draw(checks: readonly Check[], paint: Paint): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const marks = { good: paint.green('✓'), warning: paint.yellow('!'), bad: paint.red('✗') };
  const lines = checks.flatMap(({ name, state, found, advice }) => [
    `${marks[state]} ${name.padEnd(width)}  ${visibleText(found)}`,
    ...(advice === undefined ? [] : [`  ${' '.repeat(width)}  ${paint.cyan('→')} ${advice}`]),
  ]);
  return `${lines.join('\n')}\n`;
}
