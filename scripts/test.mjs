// Compiles everything and runs the tests: all, or the files whose path contains one of the arguments.
// TILTYARD_ENGINE=fallback runs them on the fallback engine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec, tap } from 'node:test/reporters';
import { inspect } from 'node:util';

/** Many tests wait for a server, a disk or a browser, while others can use the CPUs. */
const CONCURRENCY = 2 * Math.max(2, availableParallelism()) + 1;
/** Processes that begin with the browser tests. */
const BROWSERS = 2;
/** More than all tests take on a slow machine: for a process stuck in native code, where no other limit applies. */
const PROCESS_SECONDS_MAX = 1800;
/** Durations of the slowest files on two cores, as printed by a run. */
const SLOW_SECONDS = JSON.parse(readFileSync('scripts/slow-tests.json', 'utf8'));
const OTHER_SECONDS = 1;
const GROUPS = resolve('build/test-groups');
const FAILURE_LINES_MAX = 30;

async function start(...args) {
  const [status] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit');
  if (status !== 0) process.exit(status ?? 1);
}

function findFiles(wanted) {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((file) => `test/${file}`)
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
    .map((file) => resolve('build', file.replace(/\.ts$/, '.js')))
    .toSorted();
}

/** Queues of files; `variables` are those of the processes that take from them. */
function toQueues(files) {
  const isOfBrowser = (file) => file.includes('/browser/');
  const rest = files.filter((file) => !isOfBrowser(file));
  return [
    { name: 'on-nodes', files: findOnNodes(files), variables: { TILTYARD_TEST_STORE: 'nodes' } },
    { name: 'on-postgres', files: findOnPostgres(files), variables: { TILTYARD_TEST_CATALOG: 'postgres' } },
    { name: 'on-store', files: findOnStore(files), variables: { TILTYARD_TEST_STORE: 's3' } },
    { name: 'browser', files: files.filter(isOfBrowser), variables: {} },
    { name: 'rest', files: rest, variables: {} },
  ];
}

function secondsOf(file) {
  return SLOW_SECONDS[relative('build/test', file)] ?? OTHER_SECONDS;
}

/** Tests that open a catalog run a second time, on PostgreSQL. */
function findOnPostgres(files) {
  if (findPostgres() === undefined) return [];
  return files.filter((file) => /\/catalog\/(?:access|journal|namespaces|nodes|tables|catalog|databases)/.test(file));
}

/** Tests of the LanceDB client run a second time, against three nodes, except those that write past the service. */
function findOnNodes(files) {
  // The fallback engine does not support object stores.
  if (isFallback || findPostgres() === undefined) return [];
  return files.filter((file) => file.includes('/clients/') && !file.includes('namespace-rest'));
}

/** Tests of computed columns and views run a second time, with tables on an emulated object store. */
function findOnStore(files) {
  if (isFallback) return [];
  // Tests that kill a server start it on a local folder.
  return files.filter((file) => file.includes('/contract/computed/') && !file.includes('-killed'));
}

/** Writes the queues, and the programs that run their files. */
function writeGroups(queues) {
  rmSync(GROUPS, { recursive: true, force: true });
  for (const { name, files } of queues) {
    mkdirSync(`${GROUPS}/${name}`, { recursive: true });
    // The slowest files start first, so that all CPUs are busy until the end.
    const sorted = files.toSorted((one, other) => secondsOf(other) - secondsOf(one));
    for (const [index, file] of sorted.entries())
      writeFileSync(`${GROUPS}/${name}/${String(index).padStart(4, '0')}`, file);
  }
  const separate = queues.filter(({ variables }) => Object.keys(variables).length > 0);
  const groups = separate.map(({ name, variables }) => ({ name, queues: [name], variables }));
  // A process that has finished its queue takes files from the others.
  for (let index = 1; index <= BROWSERS; index += 1)
    groups.push({ name: `browser-${index}`, queues: ['browser', 'rest'], variables: {} });
  for (let index = 1; index <= CONCURRENCY; index += 1)
    groups.push({ name: `rest-${index}`, queues: ['rest', 'browser'], variables: {} });
  const hasFiles = ({ queues: [first] }) => queues.some(({ name, files }) => name === first && files.length > 0);
  return groups.filter(hasFiles).map(toProgram);
}

function toProgram({ name, queues, variables }) {
  const program = `${GROUPS}/${name}.mjs`;
  const settings = Object.entries(variables).map(([variable, value]) => `process.env.${variable} = '${value}';`);
  const folders = JSON.stringify(queues.map((queue) => `${GROUPS}/${queue}`));
  const lines = [
    ...settings,
    `const { runQueues } = await import(${JSON.stringify(relative(GROUPS, 'scripts/test-group.mjs'))});`,
    `await runQueues(${folders});`,
  ];
  writeFileSync(program, `${lines.join('\n')}\n`);
  return program;
}

/**
 * Node reads extra certificates at every start, which takes longer than the start itself; of the programs that tests
 * start, only npm needs them.
 */
function keepCertificatesForNpm() {
  const { NODE_EXTRA_CA_CERTS: certificates } = process.env;
  if (certificates === undefined) return;
  process.env.NPM_CA_CERTS = certificates;
  delete process.env.NODE_EXTRA_CA_CERTS;
}

/** Runs the programs, and returns the failed tests in a few lines each. */
async function runPrograms(programs) {
  const events = run({ files: programs, concurrency: CONCURRENCY, timeout: PROCESS_SECONDS_MAX * 1000 });
  const failures = [];
  events.on('test:fail', ({ name, file, details, todo }) => {
    const { failureType, cause } = details.error;
    if (todo === undefined && failureType !== 'subtestsFailed') failures.push(describeFailure(name, file, cause));
  });
  const report = process.stdout.isTTY ? new spec() : tap;
  for await (const text of events.compose(report)) process.stdout.write(text);
  return failures;
}

function describeFailure(name, file, cause) {
  const lines = inspect(cause).split('\n').slice(0, FAILURE_LINES_MAX);
  const source = relative('.', file ?? '.').replace(/^build\/(.*)\.js$/, '$1.ts');
  return [`# failed: ${source} ${name}`, ...lines.map((line) => `#   ${line}`)].join('\n');
}

/** Files whose process ended before they did. */
function findUnended(queues) {
  return queues.flatMap(({ name }) =>
    readdirSync(`${GROUPS}/${name}`).map((entry) => {
      const file = readFileSync(`${GROUPS}/${name}/${entry}`, 'utf8');
      return `# did not end: ${relative('build/test', file)} (${name})`;
    }),
  );
}

const { TILTYARD_ENGINE: engine = 'main' } = process.env;
if (engine !== 'main' && engine !== 'fallback') throw new Error('TILTYARD_ENGINE must be main or fallback');
const isFallback = engine === 'fallback';
// The server would treat it as a setting.
delete process.env.TILTYARD_ENGINE;
const wanted = process.argv.slice(2);
const files = findFiles(wanted);
if (files.length === 0) throw new Error(`No test file has a path that contains ${wanted.join(' or ')}`);
const needs = (pattern, script) => files.some((file) => pattern.test(file)) && start(script);
await start('scripts/install-engine.mjs', isFallback ? '--fallback' : '--keep');
await Promise.all([
  // `npm run check` checks the types, which takes several times as long.
  start('node_modules/typescript/bin/tsc', '--noCheck'),
  start('scripts/bundle.mjs'),
  start('scripts/console.mjs', '--quick'),
  needs(/\/browser\//, 'scripts/install-browser.mjs'),
]);
await needs(/\/(?:catalog|clients)\//, 'scripts/install-postgres.mjs');
const { findPostgres } = await import('../build/test/support/postgres.js');
const queues = toQueues(files);
keepCertificatesForNpm();
const failures = await runPrograms(writeGroups(queues));
// Repeated after the counts, where readers look first.
for (const line of [...failures, ...findUnended(queues)]) console.log(line);
process.exitCode = failures.length + findUnended(queues).length > 0 ? 1 : 0;
if (isFallback) await start('scripts/install-engine.mjs', '--keep');
