import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { ADMIN_KEY, startServer } from './support/server.ts';
import type { TestServer } from './support/server.ts';

const run = promisify(execFile);
const readme = readFileSync('README.md', 'utf8');
let server: TestServer;

before(async () => {
  server = await startServer();
});

after(async () => {
  await server.close();
});

test('the README shows the examples as they are in the repository', () => {
  assert.ok(readBlock('node').includes(readFileSync('examples/first-table.mjs', 'utf8')));
  assert.ok(readBlock('python').includes(readFileSync('examples/first_table.py', 'utf8')));
});

test('the commands of the README work as they stand there', async () => {
  const lines = readBlock('curl')
    .split('\n')
    .filter((line) => !line.startsWith('```') && !line.startsWith('export '));
  const { stdout } = await run('bash', ['-euc', lines.join('\n')], { env: environment() });
  for (const expected of [
    '"version":1',
    '"tables":["demo"',
    '"updated_rows":3',
    '"language":"en"',
    'LanceRead',
    '"status":400',
    'predicat',
  ]) {
    assert.ok(stdout.includes(expected), `${expected} is missing in ${stdout}`);
  }
});

test('the Node example of the README works', async () => {
  const { stdout } = await run(process.execPath, ['examples/first-table.mjs'], { env: environment() });
  assertWalkThrough(stdout);
});

test('the Python example of the README works', async (context) => {
  const stdout = await runPython(context, 'examples/first_table.py');
  if (stdout !== undefined) assertWalkThrough(stdout);
});

test('the Python walk through works from the first namespace to the last drop', async (context) => {
  const stdout = await runPython(context, 'examples/walk_through.py');
  if (stdout === undefined) return;
  for (const expected of [
    'created 1',
    'inserted 2',
    'merged 10 updated, 10 inserted',
    'deleted 5',
    'rows 605',
    "indexes ['id_idx', 'title_idx']",
    "nearest ['id', 'title', 'vector', '_distance'] 3",
    'by words 5 blue',
    'at the tag 1',
    'rows then 500',
    'rows now 500',
    "tables ['volumes']",
    'left []',
  ]) {
    assert.ok(stdout.includes(expected), `${expected} is missing in ${stdout}`);
  }
});

async function runPython(context: TestContext, file: string): Promise<string | undefined> {
  const python = process.env['PYTHON'] ?? 'python3';
  const hasPackages = await run(python, ['-c', 'import pyarrow, requests']).then(
    () => true,
    () => false,
  );
  if (!hasPackages) {
    context.skip('pyarrow and requests are not installed');
    return undefined;
  }
  return (await run(python, [file], { env: environment() })).stdout;
}

function assertWalkThrough(output: string): void {
  for (const expected of [/updated_rows'?: 2/, /unit'?: 'EUR'/, /LanceRead/, /Did you mean "?price"?/])
    assert.match(output, expected);
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, TILTYARD_URL: server.url, TILTYARD_KEY: ADMIN_KEY };
}

function readBlock(name: string): string {
  const [start, end] = [`<!-- example:${name} -->`, `<!-- /example:${name} -->`];
  assert.ok(readme.includes(start) && readme.includes(end), `the README has no example ${name}`);
  return readme.slice(readme.indexOf(start) + start.length, readme.indexOf(end));
}
