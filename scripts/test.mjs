// Compiles everything and runs the tests: all of them, or the files whose path contains one of the arguments.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const run = (command, args) => {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};

run(process.execPath, ['node_modules/typescript/bin/tsc']);
run(process.execPath, ['scripts/bundle.mjs']);
run(process.execPath, ['scripts/console.mjs']);
const wanted = process.argv.slice(2);
const files = readdirSync('test', { recursive: true })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `build/test/${file.replace(/\.ts$/, '.js')}`)
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .toSorted();
if (files.some((file) => file.includes('/browser/'))) run(process.execPath, ['scripts/install-browser.mjs']);
const concurrency = Math.max(2, availableParallelism());
run(process.execPath, [
  '--enable-source-maps',
  '--test',
  '--test-timeout=600000',
  `--test-concurrency=${concurrency}`,
  ...files,
]);
