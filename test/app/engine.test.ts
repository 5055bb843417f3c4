import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { readEngineRelease } from '../../src/engine/native/engine-release.ts';
import { runCli } from '../support/run-cli.ts';
import { startServer } from '../support/server.ts';
import { makeFolder } from '../support/temporary-folder.ts';

const { isFallback } = readEngineRelease();
const skip = isFallback ? false : 'the main engine serves object stores';

test('without an engine the start fails in one line that says what to run, and leaves no data', async (t) => {
  const folder = await makeFolder(t);
  await cp('package.json', join(folder, 'package.json'));
  await cp('build/bundle', join(folder, 'build/bundle'), { recursive: true });
  await mkdir(join(folder, 'node_modules'));
  await symlink(resolve('node_modules/libsql'), join(folder, 'node_modules/libsql'));
  const argv = [join(folder, 'build/bundle/main.js'), 'serve', join(folder, 'data'), '--port=0'];
  const { status, stderr } = spawnSync(process.execPath, argv, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
    // A server that does start would never end.
    timeout: 60_000,
  });
  assert.equal(status, 2, stderr);
  assert.match(stderr, /The storage engine \(LanceDB\) could not be loaded on .*npm ci/);
  assert.deepEqual((await readdir(folder)).toSorted(), ['build', 'node_modules', 'package.json']);
});

test('the fallback refuses to start on an object store, and leaves no data', { skip }, async (t) => {
  const folder = join(await makeFolder(t), 'data');
  await assert.rejects(startServer({ folder, flags: ['--storage-root=s3://bucket/tables'] }), {
    kind: 'Unsupported',
    message: /object stores/,
  });
  await assert.rejects(readdir(folder), { code: 'ENOENT' });
});

test('the fallback creates no database on an object store', { skip }, async (t) => {
  const folder = await makeFolder(t);
  await (await startServer({ folder })).close();
  const created = await runCli(['database', 'create', 'remote', '--root', 's3://bucket/x', '--data', folder]);
  assert.notEqual(created.code, 0);
  assert.match(created.err, /object stores/);
  const { out } = await runCli(['database', 'list', '--data', folder]);
  assert.doesNotMatch(out, /remote/);
});
