import { join } from 'node:path';
import type { AppReady } from '../../app.ts';
import { findOwnIssuer, formatConfig, isEveryAddress, localUrlOf } from '../../config/config.ts';
import type { Config } from '../../config/config.ts';
import type { runSupervisor as supervise } from '../../process/supervisor.ts';
import { WORKER_FILE } from '../../release.ts';
import { EXIT, requireConfig } from '../command.ts';
import type { Command, Terminal } from '../command.ts';

export const serveCommand: Command = {
  words: ['serve'],
  usage: '[DATA] [--host HOST] [--port PORT] [--base-path PATH] [--tls-cert FILE --tls-key FILE] [--config FILE]',
  summary: 'start the server',
  help: `Serves the tables in the folder DATA (default ./data). The folder is created if it does not exist; Lance tables in it are
found and served. Settings come from flags, TILTYARD_* variables and the --config file; "tiltyard config" lists them.

Examples:
  tiltyard serve
  tiltyard serve ./my-lancedb --port 8080
  TILTYARD_ADMIN_KEY=... tiltyard serve /srv/tables --host 0.0.0.0`,
  run: async (argv, terminal) => runServer(requireConfig(argv, terminal), terminal),
};

type OnListening = Parameters<typeof supervise>[0]['onListening'];

/** Serves until a signal ends it; `onListening` is called after the banner. */
export async function runServer(config: Config, terminal: Terminal, onListening?: OnListening): Promise<number> {
  const [{ runSupervisor }, { openLogOutput }, { createTelemetry }] = await Promise.all([
    import('../../process/supervisor.ts'),
    import('../../telemetry/log/log-output.ts'),
    import('../../telemetry/telemetry.ts'),
  ]);
  const telemetry = createTelemetry({ ...config.log, stream: openLogOutput(process.stderr), clock: Date.now });
  // Failing to write the banner must not end the server.
  process.stdout.on('error', () => {});
  return runSupervisor({
    config,
    workerFile: WORKER_FILE,
    telemetry,
    onListening: (address, ready) => {
      terminal.out(bannerText(config, address, ready));
      onListening?.(address, ready);
    },
  });
}

export const configCommand: Command = {
  words: ['config'],
  usage: '[DATA] [flags]',
  summary: 'list every setting, its value and where it comes from',
  help: 'Reads the settings as "tiltyard serve" would and prints them, without secrets. If settings are invalid, it lists all\nproblems and exits with code 2.',
  async run(argv, terminal) {
    terminal.out(formatConfig(requireConfig(argv, terminal)));
    return EXIT.done;
  },
};

type Address = Pick<Config, 'host' | 'port'>;

function bannerText(config: Config, address: Address, ready: AppReady): string {
  const base = localUrlOf(config, address);
  const lines = [`Tiltyard listens on ${base}`];
  if (isEveryAddress(address.host)) lines.push(`  hosts  all addresses of this machine (${address.host})`);
  lines.push(`  data   ${config.data}`);
  if (config.storage.root !== config.data) lines.push(`  tables ${config.storage.root}`);
  if (ready.engine.isFallback) {
    lines.push(`  engine ${ready.engine.version} (fallback: no tables in object stores)`);
  }
  if (ready.adopted > 0) lines.push(`  found  ${ready.adopted} existing tables`);
  if (ready.swept > 0) lines.push(`  swept  ${ready.swept} unfinished writes of an earlier run`);
  lines.push(`  ui     ${base}/ui/`, `  docs   ${base}/docs`);
  const issuer = findOwnIssuer({ ...config, port: address.port });
  if (issuer !== undefined) lines.push(`  tokens ${issuer}`);
  if (ready.adminKey !== undefined) {
    lines.push('', `  administrator key: ${ready.adminKey}`, `  saved in ${join(config.data, 'admin.key')}`);
  }
  return `${lines.join('\n')}\n`;
}
