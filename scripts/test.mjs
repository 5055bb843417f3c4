// Compiles everything and runs the tests: all of them, or the files whose path contains one of the arguments.
// TILTYARD_ENGINE=fallback runs them on the fallback engine.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec, tap } from 'node:test/reporters';
import { inspect } from 'node:util';

/** Several times what the longest process takes on a slow machine. */
const PROCESS_SECONDS_MAX = 600;
/** Files that share a process: starting one and loading the engine takes longer than most files. */
const FILES_PER_PROCESS = 12;
const GROUPS = resolve('build/test-groups');
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

/** Files that share a process. Those of one folder stay together; what takes longest starts first. */
function groupFiles(files) {
  const folders = new Map();
  for (const file of files) {
    const [folder] = relative('build/test', file).split('/');
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  // The few files outside of a folder are about the whole program.
  const weight = (folder) => (folder.length === 1 ? Infinity : folder.length);
  const sorted = [...folders.values()].toSorted((one, other) => weight(other) - weight(one));
  return sorted.flatMap((folder) => {
    const groups = Math.ceil(folder.length / FILES_PER_PROCESS);
    return Array.from({ length: groups }, (_, group) => {
      const part = folder.filter((_file, index) => index % groups === group);
      return writeGroup(relative('build/test', part[0]).replaceAll('/', '-'), part);
    });
  });
}

/** The tests of the catalog that open one run a second time, on PostgreSQL. */
function groupOnPostgres(files) {
  const onBoth = files.filter((file) =>
    /\/catalog\/(?:access|journal|namespaces|nodes|tables|catalog|databases)/.test(file),
  );
  if (onBoth.length === 0 || findPostgres() === undefined) return [];
  return [writeGroup('catalog-on-postgres.test.js', onBoth, ["process.env['TILTYARD_TEST_CATALOG'] = 'postgres';"])];
}

/** The tests of the LanceDB client run a second time, against three nodes; those that write past the service do not. */
function groupOnNodes(files) {
  const remote = files.filter((file) => file.includes('/clients/') && !file.includes('namespace-rest'));
  // The fallback engine refuses object stores.
  if (isFallback || remote.length === 0 || findPostgres() === undefined) return [];
  return [writeGroup('clients-on-nodes.test.js', remote, ["process.env['TILTYARD_TEST_STORE'] = 'nodes';"])];
}

/** Each file is a suite, and its hooks are those of the suite. */
function writeGroup(name, files, first = []) {
  const suites = files.map((file) => {
    const path = JSON.stringify(relative(GROUPS, file));
    return `describe(${JSON.stringify(relative('build/test', file))}, async () => import(${path}));`;
  });
  writeFileSync(`${GROUPS}/${name}`, ["import { describe } from 'node:test';", ...first, ...suites, ''].join('\n'));
  return `${GROUPS}/${name}`;
}

/** The failed tests, each in a few lines, and the processes that did not end. */
async function runFiles(files) {
  // Many tests wait for a server, a disk or a browser: others use the processors meanwhile.
  const concurrency = 2 * Math.max(2, availableParallelism());
  const events = run({ files, concurrency, timeout: PROCESS_SECONDS_MAX * 1000 });
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

const { TILTYARD_ENGINE: engine = 'main' } = process.env;
if (engine !== 'main' && engine !== 'fallback') throw new Error('TILTYARD_ENGINE must be main or fallback');
const isFallback = engine === 'fallback';
// The server would take it for a setting.
delete process.env.TILTYARD_ENGINE;
start('scripts/install-engine.mjs', isFallback ? '--fallback' : '--keep');
start('node_modules/typescript/bin/tsc');
start('scripts/bundle.mjs');
start('scripts/console.mjs');
const files = findFiles(process.argv.slice(2));
if (files.some((file) => file.includes('/browser/'))) start('scripts/install-browser.mjs');
if (files.some((file) => /\/(?:catalog|clients)\//.test(file))) start('scripts/install-postgres.mjs');
if (files.some((file) => file.includes('/storage/object/azure'))) start('scripts/install-azurite.mjs');
const { findPostgres } = await import('../build/test/support/postgres.js');
rmSync(GROUPS, { recursive: true, force: true });
mkdirSync(GROUPS, { recursive: true });
process.env.NODE_OPTIONS = '--enable-source-maps';
let { failures, unended } = await runFiles([...groupOnNodes(files), ...groupOnPostgres(files), ...groupFiles(files)]);
if (unended.length > 0 && failures.length === 0) {
  // Seen once, cause unknown: a process that only calls the engine did not end. That is no answer to what it asks.
  console.log(`# did not end, run again: ${unended.join(' ')}`);
  ({ failures, unended } = await runFiles(unended));
}
process.exitCode = failures.length + unended.length > 0 ? 1 : 0;
if (isFallback) start('scripts/install-engine.mjs', '--keep');
