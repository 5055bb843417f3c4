import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { readCodeBlocks } from '../docs/code-blocks.ts';
import type { CodeBlock } from '../docs/code-blocks.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { runNpm } from '../support/npm.ts';

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
  const { stdout } = await runNpm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder]);
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

  suite('installed into an empty folder', () => {
    let isInstalled = false;

    before(async () => {
      const view = await runNpm(['view', 'libsql', 'version']).catch(() => undefined);
      if (view === undefined) return;
      await runNpm(['init', '--yes'], { cwd: folder });
      const { stderr } = await runNpm(['install', ...NPM, join(folder, packed.filename)], { cwd: folder });
      assert.doesNotMatch(stderr.replaceAll(/^npm warn Unknown .*config.*$/gim, ''), /warn/i);
      isInstalled = true;
    });

    test('its demo serves a table of images', async (t) => {
      if (!isInstalled) return t.skip(NO_REGISTRY);
      const { stdout: version } = await run(programOf(folder), ['version'], { cwd: folder });
      assert.match(version, /^\d+\.\d+\.\d+\nengine \d/);
      await withServer(['demo', '--no-open', '--port=0'], 'Created demo/gallery with 320 images.', async (url) => {
        const key = (await readFile(join(folder, 'tiltyard-demo/admin.key'), 'utf8')).trim();
        const found = await new Client(url, { key }).post('/v1/table/demo$gallery/query', {
          full_text_query: { string_query: { query: 'violet spiral' } },
          k: 1,
          columns: { column_names: ['title', 'image'] },
        });
        assert.equal(found.status, 200, found.text);
        assert.equal((await fetch(`${url}/ui/`)).status, 200);
        assert.ok((await stat(join(folder, 'tiltyard-demo'))).isDirectory());
      });
    });

    for (const page of ['README.md', 'docs/start.md']) {
      test(`the commands of ${page} work with nothing but the package`, async (t) => {
        if (!isInstalled) return t.skip(NO_REGISTRY);
        const data = `data-${page.length}`;
        await withServer(['serve', data, '--port=0'], 'administrator key', async (url) => {
          const key = (await readFile(join(folder, data, 'admin.key'), 'utf8')).trim();
          for (const block of readCodeBlocks(page)) {
            if (block.language === 'sh' && block.notRun === undefined) await runBlock(block, { url, data, key });
          }
        });
      });
    }
  });
});

const NO_REGISTRY = 'no package registry is reached';

const programOf = (installed: string): string => join(installed, 'node_modules/.bin/tiltyard');

interface Started {
  readonly url: string;
  readonly data: string;
  readonly key: string;
}

async function runBlock(block: CodeBlock, { url, data, key }: Started): Promise<void> {
  const code = block.code.replaceAll('http://127.0.0.1:2333', url).replaceAll('data/admin.key', `${data}/admin.key`);
  const PATH = `${join(folder, 'node_modules/.bin')}:${process.env['PATH']}`;
  const env = { ...process.env, PATH, TILTYARD_URL: url, TILTYARD_KEY: key };
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', code], { cwd: folder, env });
  for (const text of block.prints)
    assert.ok(stdout.includes(text), `${block.page}:${block.line}: no "${text}" in ${stdout}`);
}

/** `ready` is what the server prints when it can be used. */
async function withServer(words: readonly string[], ready: string, use: (url: string) => Promise<void>): Promise<void> {
  const server = spawn(programOf(folder), words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const output of [server.stdout, server.stderr]) output.on('data', (piece: Buffer) => (text += String(piece)));
  const ended = new Promise((resolve) => server.once('exit', resolve));
  try {
    await eventually(
      async () => text.includes(ready),
      () => text,
    );
    await use(/listens on (\S+)/.exec(text)?.[1] ?? '');
  } finally {
    server.kill('SIGTERM');
    await ended;
  }
}
