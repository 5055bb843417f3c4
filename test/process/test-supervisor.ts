import { readFileSync } from 'node:fs';
import { loadConfig } from '../../src/config/load-config.ts';
import { runSupervisor } from '../../src/process/supervisor.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';

/** A supervisor of its own process, since signals are sent to it. Writes its address to stdout, its log to stderr. */
const loaded = loadConfig({ argv: process.argv.slice(2), env: {}, readFile: (path) => readFileSync(path, 'utf8') });
if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));

process.exitCode = await runSupervisor({
  config: loaded.config,
  workerFile: new URL('test-worker.js', import.meta.url),
  telemetry: createTelemetry({ level: 'info', format: 'json', stream: process.stderr, clock: Date.now }),
  onListening: (address, ready) => process.stdout.write(`${JSON.stringify({ ...address, ready })}\n`),
});
