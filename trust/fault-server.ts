import { readFileSync } from 'node:fs';
import { loadConfig } from '../src/config/load-config.ts';
import { runSupervisor } from '../src/process/supervisor.ts';
import { createTelemetry } from '../src/telemetry/telemetry.ts';

/** `serve` with the worker of `fault-worker.ts`. The arguments are those of the command. */
const [, , , ...argv] = process.argv;
const loaded = loadConfig({ argv, env: process.env, readFile: (path) => readFileSync(path, 'utf8') });
if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));

process.exitCode = await runSupervisor({
  config: loaded.config,
  workerFile: new URL('fault-worker.js', import.meta.url),
  telemetry: createTelemetry({ ...loaded.config.log, stream: process.stderr, clock: Date.now }),
  onListening: () => {},
});
