import type { AppReady } from '../../app.ts';
import { findOwnIssuer, formatConfig } from '../../config/config.ts';
import type { Config } from '../../config/config.ts';
import { runSupervisor } from '../../process/supervisor.ts';
import { WORKER_FILE } from '../../release.ts';
import { openLogOutput } from '../../telemetry/log/log-output.ts';
import { createTelemetry } from '../../telemetry/telemetry.ts';
import { EXIT, requireConfig } from '../command.ts';
import type { Command } from '../command.ts';

export const serveCommand: Command = {
  words: ['serve'],
  usage: '[DATA] [--host HOST] [--port PORT] [--base-path PATH] [--tls-cert FILE --tls-key FILE] [--config FILE]',
  summary: 'serve the tables in DATA (default ./data)',
  help: `DATA is a folder; it is made when it is missing, and Lance tables that it already holds are served at once.

Examples:
  tiltyard serve
  tiltyard serve ./my-lancedb --port 8080
  TILTYARD_ADMIN_KEY=... tiltyard serve /srv/tables --host 0.0.0.0`,
  async run(argv, terminal) {
    const config = requireConfig(argv, terminal);
    const telemetry = createTelemetry({ ...config.log, stream: openLogOutput(process.stderr), clock: Date.now });
    // A banner that cannot be written must not end the server.
    process.stdout.on('error', () => {});
    return runSupervisor({
      config,
      workerFile: WORKER_FILE,
      telemetry,
      onListening: (address, ready) => terminal.out(bannerText(config, address, ready)),
    });
  },
};

export const configCommand: Command = {
  words: ['config'],
  usage: '[DATA] [flags]',
  summary: 'show every setting, its value and where it came from',
  help: 'Reads the settings as "tiltyard serve" would and prints them, without secrets. Wrong settings: all faults, exit code 2.',
  async run(argv, terminal) {
    terminal.out(formatConfig(requireConfig(argv, terminal)));
    return EXIT.done;
  },
};

export function urlOf({ tls, basePath }: Config, { host, port }: Pick<Config, 'host' | 'port'>): string {
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}${basePath}`;
}

function bannerText(config: Config, address: Pick<Config, 'host' | 'port'>, ready: AppReady): string {
  const base = urlOf(config, address);
  const lines = [`Tiltyard listens on ${base}`, `  data   ${config.data}`];
  if (config.storage.root !== config.data) lines.push(`  tables ${config.storage.root}`);
  if (ready.engine.isFallback) {
    lines.push(`  engine ${ready.engine.version}, the fallback: tables in object stores are refused`);
  }
  if (ready.adopted > 0) lines.push(`  found  ${ready.adopted} tables that were there before`);
  if (ready.swept > 0) lines.push(`  swept  ${ready.swept} unfinished writes of an earlier run`);
  lines.push(`  ui     ${base}/ui/`, `  docs   ${base}/docs`);
  const issuer = findOwnIssuer({ ...config, port: address.port });
  if (issuer !== undefined) lines.push(`  tokens ${issuer}`);
  if (ready.adminKey !== undefined) {
    lines.push(
      '',
      `  administrator key: ${ready.adminKey}`,
      '  It is shown only now, and kept in admin.key in the data folder.',
    );
  }
  return `${lines.join('\n')}\n`;
}
