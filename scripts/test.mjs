// Compiles everything and runs the tests: all of them, or the files whose path contains one of the arguments.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec, tap } from 'node:test/reporters';
import { inspect } from 'node:util';

/** Twice what the longest file takes on a slow machine. */
const FILE_SECONDS_MAX = 400;
const FAILURE_LINES_MAX = 30;

function start(...args) {
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

function findFiles(wanted) {
  return readdirSync('test', { recursive: true })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `build/test/${file.replace(/\.ts$/, '.js')}`)
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
    .map((file) => resolve(file))
    .toSorted();
}

/** The failed tests, each in a few lines, and the files that did not end. */
async function runFiles(files) {
  const concurrency = Math.max(2, availableParallelism());
  const events = run({ files, concurrency, timeout: FILE_SECONDS_MAX * 1000 });
  const outcome = { failures: [], unended: [] };
  events.on('test:fail', ({ name, file, details, todo }) => {
    const { failureType, cause } = details.error;
    if (failureType === 'testTimeoutFailure' && files.includes(name)) outcome.unended.push(name);
    else if (todo === undefined && failureType !== 'subtestsFailed')
      outcome.failures.push(describeFailure(name, file, cause));
  });
  const report = process.stdout.isTTY ? new spec() : tap;
  for await (const text of events.compose(report)) process.stdout.write(text);
  // Repeated below the counts, where a reader looks first.
  for (const failure of outcome.failures) console.log(failure);
  return outcome;
}

function describeFailure(name, file, cause) {
  const lines = inspect(cause).split('\n').slice(0, FAILURE_LINES_MAX);
  return [`# failed: ${file ? relative('.', file) : ''} ${name}`, ...lines.map((line) => `#   ${line}`)].join('\n');
}

start('node_modules/typescript/bin/tsc');
start('scripts/bundle.mjs');
start('scripts/console.mjs');
const files = findFiles(process.argv.slice(2));
if (files.some((file) => file.includes('/browser/'))) start('scripts/install-browser.mjs');
process.env.NODE_OPTIONS = '--enable-source-maps';
let { failures, unended } = await runFiles(files);
if (unended.length > 0 && failures.length === 0) {
  // Seen once, cause unknown: a file that only calls the engine did not end. That is no answer to what it asks.
  console.log(`# did not end, run again: ${unended.join(' ')}`);
  ({ failures, unended } = await runFiles(unended));
}
process.exitCode = failures.length + unended.length > 0 ? 1 : 0;
