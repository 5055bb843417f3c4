// Compiles everything and runs the tests: all of them, or the files whose path contains one of the arguments.
// TILTYARD_ENGINE=fallback runs them on the fallback engine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec, tap } from 'node:test/reporters';
import { inspect } from 'node:util';

/** Several times what the longest process takes on a slow machine. */
const PROCESS_SECONDS_MAX = 1200;
/** Files share a process up to this: starting one and loading the engine takes longer than most files. */
const SECONDS_PER_PROCESS = 90;
/** What the slowest files take on two cores, as their durations in the output say. */
const SLOW_SECONDS = JSON.parse(readFileSync('scripts/slow-tests.json', 'utf8'));
const OTHER_SECONDS = 1;
const GROUPS = resolve('build/test-groups');
const FAILURE_LINES_MAX = 30;

async function start(...args) {
  const [status] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit');
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

/** Those of one folder stay together, and small folders with others. */
function groupFiles(files) {
  const folders = new Map();
  for (const file of files) {
    const [folder] = relative('build/test', file).split('/');
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  const isSmall = (folder) => secondsOf(folder) < SECONDS_PER_PROCESS / 3;
  const small = [...folders.values()].filter(isSmall).flat();
  const large = [...folders.values()].filter((folder) => !isSmall(folder));
  return [small, ...large].flatMap((folder) => spread(folder).map((part) => toGroup(nameOf(part), part)));
}

/** Into parts of at most `SECONDS_PER_PROCESS`; a file that takes longer is a part itself. */
function spread(files) {
  const parts = [];
  for (const file of files.toSorted((one, other) => secondsOf([other]) - secondsOf([one]))) {
    const part = parts.find((each) => secondsOf([...each, file]) <= SECONDS_PER_PROCESS);
    if (part === undefined) parts.push([file]);
    else part.push(file);
  }
  return parts;
}

function secondsOf(files) {
  const each = files.map((file) => SLOW_SECONDS[relative('build/test', file)] ?? OTHER_SECONDS);
  return each.reduce((sum, seconds) => sum + seconds, 0);
}

function nameOf([first]) {
  return relative('build/test', first).replaceAll('/', '-');
}

/** The tests of the catalog that open one run a second time, on PostgreSQL. */
function groupOnPostgres(files) {
  const onBoth = files.filter((file) =>
    /\/catalog\/(?:access|journal|namespaces|nodes|tables|catalog|databases)/.test(file),
  );
  if (findPostgres() === undefined) return [];
  return groupWith('on-postgres', onBoth, { variable: 'TILTYARD_TEST_CATALOG', value: 'postgres' });
}

/** The tests of the LanceDB client run a second time, against three nodes; those that write past the service do not. */
function groupOnNodes(files) {
  const remote = files.filter((file) => file.includes('/clients/') && !file.includes('namespace-rest'));
  // The fallback engine refuses object stores.
  if (isFallback || findPostgres() === undefined) return [];
  return groupWith('on-nodes', remote, { variable: 'TILTYARD_TEST_STORE', value: 'nodes' });
}

/** The tests of computed columns and views run a second time, with tables on an emulated object store. */
function groupOnStore(files) {
  // Those that kill a server start it on a local folder.
  const derived = files.filter((file) => file.includes('/contract/computed/') && !file.includes('-killed'));
  if (isFallback) return [];
  return groupWith('on-store', derived, { variable: 'TILTYARD_TEST_STORE', value: 's3' });
}

function groupWith(place, files, { variable, value }) {
  const first = [`process.env[${JSON.stringify(variable)}] = ${JSON.stringify(value)};`];
  return spread(files).map((part) => toGroup(`${place}-${nameOf(part)}`, part, first));
}

/** Each file is a suite, and its hooks are those of the suite. */
function toGroup(name, files, first = []) {
  const imports = files.map((file) => {
    const path = JSON.stringify(relative(GROUPS, file));
    return `  ${JSON.stringify(relative('build/test', file))}: async () => import(${path}),`;
  });
  const lines = [
    `import { runGroup } from ${JSON.stringify(relative(GROUPS, 'scripts/test-group.mjs'))};`,
    // Its browser, or its nodes, are those of all files.
    ...(files.some((file) => file.includes('/browser/')) ? ["await import('../test/support/browser.js');"] : []),
    ...(files.some((file) => file.includes('/clients/')) ? ["await import('../test/support/service.js');"] : []),
    // Not by an option of Node, which the servers that tests start would inherit: their maps take long to read.
    'process.setSourceMapsEnabled(true);',
    ...first,
    'await runGroup({',
    ...imports,
    '});',
    '',
  ];
  writeFileSync(`${GROUPS}/${name}`, lines.join('\n'));
  return { file: `${GROUPS}/${name}`, seconds: secondsOf(files) };
}

/** The failed tests, each in a few lines, and the processes that did not end. */
async function runFiles(files) {
  // Many tests wait for a server, a disk or a browser: others use the processors meanwhile.
  const concurrency = 2 * Math.max(2, availableParallelism()) + 1;
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
  const source = relative('.', file ?? '.').replace(/^build\/(.*)\.js$/, '$1.ts');
  return [`# failed: ${source} ${name}`, ...lines.map((line) => `#   ${line}`)].join('\n');
}

const { TILTYARD_ENGINE: engine = 'main' } = process.env;
if (engine !== 'main' && engine !== 'fallback') throw new Error('TILTYARD_ENGINE must be main or fallback');
const isFallback = engine === 'fallback';
// The server would take it for a setting.
delete process.env.TILTYARD_ENGINE;
const files = findFiles(process.argv.slice(2));
const needs = (pattern, script) => files.some((file) => pattern.test(file)) && start(script);
await start('scripts/install-engine.mjs', isFallback ? '--fallback' : '--keep');
await Promise.all([
  // Types are checked by `npm run check`, which takes several times as long.
  start('node_modules/typescript/bin/tsc', '--noCheck'),
  start('scripts/bundle.mjs'),
  start('scripts/console.mjs', '--quick'),
  needs(/\/browser\//, 'scripts/install-browser.mjs'),
]);
await needs(/\/(?:catalog|clients)\//, 'scripts/install-postgres.mjs');
const { findPostgres } = await import('../build/test/support/postgres.js');
rmSync(GROUPS, { recursive: true, force: true });
mkdirSync(GROUPS, { recursive: true });
const groups = [...groupOnNodes(files), ...groupOnPostgres(files), ...groupOnStore(files), ...groupFiles(files)];
// What takes longest starts first: at the end all processors are busy.
const sorted = groups.toSorted((one, other) => other.seconds - one.seconds);
let { failures, unended } = await runFiles(sorted.map(({ file }) => file));
if (unended.length > 0 && failures.length === 0) {
  // Seen once, cause unknown: a process that only calls the engine did not end. That is no answer to what it asks.
  console.log(`# did not end, run again: ${unended.join(' ')}`);
  ({ failures, unended } = await runFiles(unended));
}
process.exitCode = failures.length + unended.length > 0 ? 1 : 0;
if (isFallback) await start('scripts/install-engine.mjs', '--keep');
