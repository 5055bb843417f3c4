import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startRegistry } from './package-registry.ts';
import type { Registry } from './package-registry.ts';

const ENGINE = '@lancedb/lancedb';
const MAIN = '0.39.0';
const FALLBACK = '0.31.0';
const LINUX = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
const TOOLCHAIN = LINUX.header.glibcVersionRuntime === undefined ? '-musl' : '-gnu';
const PLATFORM = `${process.platform}-${process.arch}${{ linux: TOOLCHAIN, win32: '-msvc' }[process.platform as string] ?? ''}`;
const BINARY = `${ENGINE}-${PLATFORM}`;

/** A small engine in the form of the real one: JavaScript that requires the package of the platform. */
const engineOf = (version: string) => ({
  manifest: { name: ENGINE, version, main: 'dist/index.js', optionalDependencies: { [BINARY]: version } },
  files: {
    'dist/native.js': `module.exports = require('${BINARY}')`,
    'dist/index.js': `module.exports = require('./native.js')`,
  },
});
const binaryOf = (version: string) => ({
  manifest: { name: BINARY, version, main: 'index.js' },
  files: { 'index.js': `exports.release = '${version}'` },
});
const BROKEN = { 'index.js': `throw new Error('not for this machine')` };

interface Project {
  readonly folder: string;
  readonly registry: Registry;
  /** Writes a package to node_modules, as npm would. */
  readonly place: (made: Made) => Promise<void>;
  readonly install: (...argv: readonly string[]) => Promise<Outcome>;
  /** What code in build/ imports. */
  readonly imported: () => Promise<string>;
}

interface Made {
  readonly manifest: { readonly name: string; readonly version: string };
  readonly files: Readonly<Record<string, string>>;
}

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The script in a temporary project, with the real npm and a registry that has the fallback. */
async function makeProject(t: TestContext): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-install-'));
  const registry = await startRegistry();
  t.after(async () => {
    registry.close();
    await rm(folder, { recursive: true, force: true });
  });
  await cp('scripts/install-engine.mjs', join(folder, 'scripts/install-engine.mjs'));
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  };
  const place = async ({ manifest, files }: Made): Promise<void> => {
    for (const [file, text] of Object.entries({ 'package.json': JSON.stringify(manifest), ...files })) {
      await write(`node_modules/${manifest.name}/${file}`, text);
    }
  };
  const fallback = { name: 'fallback', version: '0.0.0', dependencies: { [ENGINE]: FALLBACK } };
  await write('package.json', JSON.stringify({ devDependencies: { [ENGINE]: MAIN } }));
  await write('scripts/fallback-engine/package.json', JSON.stringify(fallback));
  await write('scripts/fallback-engine/package-lock.json', JSON.stringify(lockOf(fallback, registry)));
  await write('build/ask.js', `console.log(require('${ENGINE}').release)`);
  await place(engineOf(MAIN));
  const env = { PATH: process.env['PATH'], HOME: folder, npm_config_registry: registry.url };
  return {
    folder,
    registry,
    place,
    install: async (...argv) => run([join(folder, 'scripts/install-engine.mjs'), ...argv], env),
    imported: async () => (await run([join(folder, 'build/ask.js')], env)).out.trim(),
  };
}

function lockOf(project: object, registry: Registry): object {
  const [engine, binary] = [engineOf(FALLBACK), binaryOf(FALLBACK)];
  const lock = (made: Made) => ({ ...made.manifest, integrity: registry.publish(made.manifest, made.files) });
  return {
    lockfileVersion: 3,
    packages: {
      '': project,
      [`node_modules/${ENGINE}`]: lock(engine),
      [`node_modules/${BINARY}`]: { ...lock(binary), optional: true },
    },
  };
}

async function run(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, argv, { env, timeout: 60_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err });
    });
  });
}

test('does nothing, and says nothing, where the engine works', async (t) => {
  const { folder, registry, place, install, imported } = await makeProject(t);
  await place(binaryOf(MAIN));
  assert.deepEqual(await install(), { code: 0, out: '', err: '' });
  assert.equal(await imported(), MAIN);
  assert.deepEqual(registry.asked, []);
  assert.equal(existsSync(join(folder, 'build/fallback-engine')), false);
});

test('fetches a binary that npm left out', async (t) => {
  const { registry, install, imported } = await makeProject(t);
  const { manifest, files } = binaryOf(MAIN);
  registry.publish(manifest, files);
  const { code, out } = await install();
  assert.deepEqual([code, out], [0, `Storage engine: fetched the binary of ${MAIN} for ${PLATFORM}.\n`]);
  assert.equal(await imported(), MAIN);
});

test('replaces a binary of another release', async (t) => {
  const { folder, place, registry, install } = await makeProject(t);
  await place(binaryOf(FALLBACK));
  const { manifest, files } = binaryOf(MAIN);
  registry.publish(manifest, files);
  assert.equal((await install()).code, 0);
  const found = JSON.parse(
    await readFile(join(folder, 'node_modules', BINARY, 'package.json'), 'utf8'),
  ) as Made['manifest'];
  assert.equal(found.version, MAIN);
});

test('falls back with one line where no registry has the binary, and asks again only at the next install', async (t) => {
  const { registry, place, install, imported } = await makeProject(t);
  const line = `Storage engine: ${FALLBACK} is used, because ${MAIN} has no working binary for ${PLATFORM} here; tables in object stores are refused.\n`;
  assert.deepEqual(await install(), { code: 0, out: line, err: '' });
  assert.equal(await imported(), FALLBACK);

  registry.asked.length = 0;
  assert.deepEqual(await install('--keep'), { code: 0, out: line, err: '' });
  assert.deepEqual(registry.asked, []);

  await place(binaryOf(MAIN));
  assert.deepEqual(await install('--keep'), { code: 0, out: '', err: '' });
  assert.equal(await imported(), MAIN);
});

test('falls back from a binary that does not load', async (t) => {
  const { registry, place, install, imported } = await makeProject(t);
  registry.publish(binaryOf(MAIN).manifest, BROKEN);
  await place({ ...binaryOf(MAIN), files: BROKEN });
  assert.equal((await install()).code, 0);
  assert.equal(await imported(), FALLBACK);
});

test('puts the fallback in place on demand, and takes it away again', async (t) => {
  const { place, install, imported } = await makeProject(t);
  await place(binaryOf(MAIN));
  assert.equal((await install('--fallback')).code, 0);
  assert.equal(await imported(), FALLBACK);
  assert.equal((await install('--keep')).code, 0);
  assert.equal(await imported(), MAIN);
});

test('fails with what to do where neither engine can be had', async (t) => {
  const { folder, registry, install } = await makeProject(t);
  registry.withdraw(ENGINE);
  const { code, out, err } = await install();
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /^Storage engine: .* could not be installed\. .*: node scripts\/install-engine\.mjs\n$/);
  assert.equal(existsSync(join(folder, 'build/node_modules')), false);
});

test('does not mix releases: an older node_modules needs npm ci', async (t) => {
  const { registry, place, install } = await makeProject(t);
  await place(engineOf(FALLBACK));
  const { code, err } = await install();
  assert.deepEqual(
    [code, err],
    [1, `Storage engine: node_modules has ${FALLBACK} where ${MAIN} is needed. Run: npm ci\n`],
  );
  assert.deepEqual(registry.asked, []);
});

test('the lock files name every binary of their engine, and the main one lets Node 20 install without a warning', async () => {
  for (const [folder, release] of [
    ['.', MAIN],
    ['scripts/fallback-engine', FALLBACK],
  ] as const) {
    const { packages } = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')) as { packages: Locked };
    const engine = packages[`node_modules/${ENGINE}`];
    assert.equal(engine?.version, release);
    assert.doesNotMatch(engine.engines?.['node'] ?? '', /2[2-9]/);
    const binaries = Object.keys(engine.optionalDependencies ?? {}).filter((name) => name.startsWith(ENGINE));
    assert.equal(binaries.length, 7);
    for (const name of binaries) assert.equal(packages[`node_modules/${name}`]?.version, release, name);
  }
});

type Locked = Readonly<Record<string, LockedPackage>>;

interface LockedPackage {
  readonly version?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
