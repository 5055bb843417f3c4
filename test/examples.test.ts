import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { ADMIN_KEY, startServer } from './support/server.ts';
import type { TestServer } from './support/server.ts';

const run = promisify(execFile);
let server: TestServer;

before(async () => {
  server = await startServer();
});

after(async () => {
  await server.close();
});

test('the Python walk through works from the first namespace to the last drop', async (context) => {
  const python = process.env['PYTHON'] ?? 'python3';
  const hasPackages = await run(python, ['-c', 'import pyarrow, requests']).then(
    () => true,
    () => false,
  );
  if (!hasPackages) {
    context.skip('pyarrow and requests are not installed');
    return;
  }
  const env = { ...process.env, TILTYARD_URL: server.url, TILTYARD_KEY: ADMIN_KEY };
  const { stdout } = await run(python, ['examples/walk_through.py'], { env });
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
