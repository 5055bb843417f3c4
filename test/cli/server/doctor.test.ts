import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { NO_OBJECT_STORES } from '../../storage/object/test-stores.ts';
import { runCli } from '../../support/run-cli.ts';
import { startServerProcess } from '../../support/server-process.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { makeFolder } from '../../support/temporary-folder.ts';

let folder: string;
let server: ServerProcess;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-doctor-'));
  server = await startServerProcess(folder);
});
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Found {
  readonly name: string;
  readonly state: string;
  readonly advice?: string;
}

async function examine(...argv: readonly string[]): Promise<{ code: number; states: Record<string, string> }> {
  const { code, out, err } = await runCli(['doctor', ...argv, '--json']);
  assert.equal(err, '');
  const { ok, checks } = JSON.parse(out) as { ok: boolean; checks: Found[] };
  assert.equal(ok, code === 0);
  for (const { state, advice } of checks) assert.equal(advice !== undefined, state !== 'good');
  return { code, states: Object.fromEntries(checks.map(({ name, state }) => [name, state])) };
}

test('finds nothing wrong with a server that runs', async () => {
  const { code, states } = await examine(folder, '--server', server.url, '--key', ADMIN_KEY);
  assert.equal(code, 0);
  assert.equal(states['engine'], readEngineRelease().isFallback ? 'warning' : 'good');
  for (const name of ['settings', 'data folder', 'catalog', 'server', 'ready', 'clock', 'key']) {
    assert.equal(states[name], 'good', name);
  }
  const { out } = await runCli(['doctor', folder, '--offline']);
  assert.match(out, /^✓ settings +valid\n[✓!] engine +@lancedb\/lancedb \d+\.\d+\.\d+/);
  assert.match(out, /\n✓ data folder +\S+ is readable and writable\n/);
});

test('says that a key is refused, and that no server answers', async () => {
  const refused = await examine(folder, '--server', server.url, '--key', 'wrong');
  assert.deepEqual([refused.code, refused.states['key'], refused.states['server']], [1, 'bad', 'good']);
  const silent = await examine(folder, '--server', 'http://127.0.0.1:9', '--key', ADMIN_KEY);
  assert.deepEqual([silent.code, silent.states['server']], [1, 'bad']);
});

test('says which settings are wrong, and that a folder is not there', async () => {
  const wrong = await runCli(['doctor', folder, '--offline', '--port=x']);
  assert.equal(wrong.code, 1);
  assert.match(wrong.out, /^✗ settings +--port must .*\n +→ Run "tiltyard config"/);
  const { code, states } = await examine(join(folder, 'nothing'), '--offline');
  assert.deepEqual([code, states['data folder']], [1, 'bad']);
});

test('reports a missing or damaged catalog and a key that others can read, and changes nothing', async (t) => {
  const other = await makeFolder(t);
  assert.equal((await examine(other, '--offline')).states['catalog'], 'warning');
  await writeFile(join(other, 'tiltyard.db'), 'this is no catalog, whatever its name may say '.repeat(100));
  await writeFile(join(other, 'admin.key'), 'x');
  await chmod(join(other, 'admin.key'), 0o644);
  const { code, states } = await examine(other, '--offline');
  assert.deepEqual([code, states['catalog'], states['admin.key']], [1, 'bad', 'warning']);
});

test('tries to write to an object store', { skip: NO_OBJECT_STORES }, async (t) => {
  const emulator = await S3Emulator.start(t);
  const storage = async (options: object, root = 's3://tables/x'): Promise<string | undefined> => {
    const flags = [`--storage-root=${root}`, `--storage-options=${JSON.stringify(options)}`];
    const { out } = await runCli(['doctor', folder, '--offline', ...flags]);
    return /^. storage .*$/m.exec(out)?.[0];
  };
  const { storageOptions } = emulator;
  assert.equal(await storage(storageOptions), '✓ storage      s3://tables/x is readable and writable');
  assert.deepEqual(emulator.objects.paths('tables/'), []);
  const refused = await storage({ ...storageOptions, aws_secret_access_key: 'wrong' });
  assert.match(
    refused ?? '',
    /^✗ storage +The object store s3:\/\/tables cannot be used\. The object store refuses the server's credentials \(SignatureDoesNotMatch\)\./,
  );
  const silent = await storage({ ...storageOptions, aws_endpoint: 'http://127.0.0.1:9' });
  assert.match(silent ?? '', /^✗ storage .* The object store cannot be reached\.$/);
});
