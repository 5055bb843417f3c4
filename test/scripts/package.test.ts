import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';

const run = promisify(execFile);
const BYTES_MAX = 3_000_000;
const FILES_MAX = 150;
const NPM = ['--no-audit', '--no-fund', '--no-update-notifier', '--prefer-offline', '--loglevel=warn'];

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

let folder: string;
let packed: Packed;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-package-'));
  // The build is there already, and a second one would disturb other tests.
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]);
  [packed] = JSON.parse(stdout) as [Packed];
});
after(async () => rm(folder, { recursive: true, force: true }));

suite('the package', () => {
  test('is small and has only what the program needs', () => {
    assert.ok(packed.size <= BYTES_MAX, `${packed.size} bytes`);
    assert.ok(packed.files.length <= FILES_MAX, `${packed.files.length} files`);
    const others = packed.files
      .map(({ path }) => path)
      .filter((path) => !/^(build\/bundle\/.+\.js|build\/console\.json|package\.json|README\.md|LICENSE)$/.test(path));
    assert.deepEqual(others, []);
  });

  test('runs no script when it is installed', async () => {
    const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> };
    assert.deepEqual(
      Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name)),
      [],
    );
  });

  test('installed into an empty folder, it warns of nothing, and its demo serves a table of pictures', async (t) => {
    const reached = await run('npm', ['view', 'libsql', 'version']).then(
      () => true,
      () => false,
    );
    if (!reached) return t.skip('no package registry is reached');
    await run('npm', ['init', '--yes'], { cwd: folder });
    const { stderr } = await run('npm', ['install', ...NPM, join(folder, packed.filename)], { cwd: folder });
    assert.doesNotMatch(stderr.replaceAll(/^npm warn Unknown .*config.*$/gim, ''), /warn/i);
    const program = join(folder, 'node_modules/.bin/tiltyard');
    const { stdout: version } = await run(program, ['version'], { cwd: folder });
    assert.match(version, /^\d+\.\d+\.\d+\nengine \d/);
    await tour(program);
  });
});

async function tour(program: string): Promise<void> {
  const server = spawn(program, ['demo', '--no-open', '--port=0'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const output of [server.stdout, server.stderr]) output.on('data', (piece: Buffer) => (text += String(piece)));
  const ended = new Promise((resolve) => server.once('exit', resolve));
  try {
    await eventually(
      async () => text.includes('Created demo/gallery with 320 pictures.'),
      () => text,
    );
    const url = /listens on (\S+)/.exec(text)?.[1] ?? '';
    const key = (await readFile(join(folder, 'tiltyard-demo/admin.key'), 'utf8')).trim();
    const client = new Client(url, { key });
    const found = await client.post('/v1/table/demo$gallery/query', {
      full_text_query: { string_query: { query: 'violet spiral' } },
      k: 1,
      columns: { column_names: ['title', 'image'] },
    });
    assert.equal(found.status, 200, found.text);
    assert.equal((await fetch(`${url}/ui/`)).status, 200);
    assert.ok((await stat(join(folder, 'tiltyard-demo'))).isDirectory());
  } finally {
    server.kill('SIGTERM');
    await ended;
  }
}
