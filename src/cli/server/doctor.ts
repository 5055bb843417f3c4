import { localUrlOf } from '../../config/config.ts';
import type { Config } from '../../config/config.ts';
import { EXIT, readConfig, toJsonText } from '../command.ts';
import type { Command, Terminal } from '../command.ts';
import { SERVER_OPTIONS, findServer } from '../find-server.ts';
import type { FoundServer } from '../find-server.ts';
import { splitArguments } from '../options.ts';
import type { Given, SplitArguments } from '../options.ts';
import { paintFor, visibleText } from '../show/text.ts';
import type { Paint } from '../show/text.ts';
import type { Check } from './checks.ts';

export const doctorCommand: Command = {
  words: ['doctor'],
  usage: '[DATA] [--offline] [--json] [--server URL] [--key KEY] [--token TOKEN] [flags]',
  summary: 'check settings, data folder, catalog, storage and server',
  help: `Checks the settings, the data folder and its catalog, without changing them, and the running server, unless --offline is
given. Each problem comes with advice. The exit code is 1 if something is wrong.

Options:
  --offline  do not ask the server
  --json     print JSON

Examples:
  tiltyard doctor
  tiltyard doctor /srv/tables --offline
  tiltyard doctor --server https://tables.example.com --key @key.txt`,
  async run(argv, terminal) {
    const given = splitArguments(argv, [...SERVER_OPTIONS, { name: 'json' }, { name: 'offline' }]);
    const checks = await runChecks(given, terminal);
    const ok = checks.every(({ state }) => state !== 'bad');
    terminal.out(given.has('json') ? toJsonText({ ok, checks }) : draw(checks, paintFor(terminal)));
    return ok ? EXIT.done : EXIT.failed;
  },
};

async function runChecks(given: SplitArguments, terminal: Terminal): Promise<readonly Check[]> {
  const { bad, checkMachine, checkServer, good } = await import('./checks.ts');
  const loaded = readConfig([...given.names, ...given.settings], terminal);
  const config = 'config' in loaded ? loaded.config : undefined;
  const settings =
    'faults' in loaded
      ? loaded.faults.map((fault) => bad('settings', fault, 'Run "tiltyard config" to list the settings.'))
      : [good('settings', 'valid')];
  return [
    ...settings,
    ...(config === undefined ? [] : await checkMachine(config)),
    ...(given.has('offline') ? [] : await checkServer(locateServer(given, terminal, config))),
  ];
}

/** Unless another server is named, the one that these settings start, with the key in its data folder. */
function locateServer(given: Given, terminal: Terminal, config: Config | undefined): FoundServer {
  if (config === undefined) return findServer(given, terminal);
  const env = { TILTYARD_DATA: config.data, ...terminal.env };
  return findServer(given, { env }, { defaultUrl: localUrlOf(config, config) });
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
