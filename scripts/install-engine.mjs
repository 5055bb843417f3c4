// Makes sure that a storage engine is installed, because npm may leave out the binary of a platform without a word:
// the release of package.json if it loads, else with its binary fetched, else the fallback, which build/ then imports.
//   --keep       a fallback that is in place stays, without asking a registry again
//   --fallback   puts the fallback in place although the main engine works; `npm test` has TILTYARD_ENGINE=fallback for it
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ENGINE = '@lancedb/lancedb';
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');
const FALLBACK_SOURCE = join(ROOT, 'scripts/fallback-engine');
const FALLBACK = join(ROOT, 'build/fallback-engine');
/** Code in build/ looks for packages here first, with both import and require, in every process and test. */
const SWITCH = join(ROOT, 'build/node_modules');
/** A binary is 200 MB. */
const NPM_SECONDS_MAX = 900;

const main = { modules: MODULES, release: readJson(join(ROOT, 'package.json')).devDependencies[ENGINE] };
const fallback = {
  modules: join(FALLBACK, 'node_modules'),
  release: readJson(join(FALLBACK_SOURCE, 'package.json')).dependencies[ENGINE],
};

process.exitCode = install() ? 0 : 1;

function install() {
  const found = findVersion(join(MODULES, ENGINE));
  if (found !== main.release) {
    console.error(`Storage engine: node_modules has ${found ?? 'none'} where ${main.release} is needed. Run: npm ci`);
    return false;
  }
  if (process.argv.includes('--fallback')) return useFallback('as asked for');
  if (loads(main)) return useMain();
  const isKept = process.argv.includes('--keep') && existsSync(SWITCH) && loads(fallback);
  if (!isKept && fetchBinary() && loads(main)) {
    console.log(`Storage engine: fetched the binary of ${main.release} for ${platformName()}.`);
    return useMain();
  }
  const reason = `${main.release} has no working binary for ${platformName()} here`;
  if (useFallback(`because ${reason}; tables in object stores are refused`)) return true;
  console.error(
    `Storage engine: ${reason}, and the fallback ${fallback.release} could not be installed. Make sure that npm reaches a ` +
      'registry, then run: node scripts/install-engine.mjs',
  );
  return false;
}

function useMain() {
  rmSync(SWITCH, { recursive: true, force: true });
  return true;
}

function useFallback(why) {
  if (!loads(fallback) && !(fetchFallback() && loads(fallback))) return false;
  rmSync(SWITCH, { recursive: true, force: true });
  // A junction needs no special rights on Windows; elsewhere the type is ignored.
  symlinkSync(process.platform === 'win32' ? fallback.modules : 'fallback-engine/node_modules', SWITCH, 'junction');
  console.log(`Storage engine: ${fallback.release} is used, ${why}.`);
  return true;
}

/** In a separate process: a binary for another CPU crashes the process that loads it. */
function loads({ modules, release }) {
  const folder = join(modules, ENGINE);
  if (findVersion(folder) !== release || !binaryFits(modules, release)) return false;
  const code = `require(${JSON.stringify(join(folder, 'dist/native.js'))})`;
  return spawnSync(process.execPath, ['--report-exclude-network', '-e', code], { stdio: 'ignore' }).status === 0;
}

/** The JavaScript of one release does not work with the binary of another. */
function binaryFits(modules, release) {
  const name = platformPackage(modules);
  return name !== undefined && findVersion(join(modules, name)) === release;
}

/** Installed only when complete: the package's folder is moved, not filled. */
function fetchBinary() {
  const name = platformPackage(MODULES);
  if (name === undefined) return false;
  const folder = mkdtempSync(join(MODULES, '.engine-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{}');
    if (!npm(folder, 'install', '--no-save', '--no-package-lock', `${name}@${main.release}`)) return false;
    const target = join(MODULES, name);
    rmSync(target, { recursive: true, force: true });
    renameSync(join(folder, 'node_modules', name), target);
    return true;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** With a separate lock file, so that the bytes are the same everywhere. */
function fetchFallback() {
  mkdirSync(dirname(FALLBACK), { recursive: true });
  const folder = mkdtempSync(`${FALLBACK}-`);
  try {
    cpSync(FALLBACK_SOURCE, folder, { recursive: true });
    if (!npm(folder, 'ci')) return false;
    rmSync(FALLBACK, { recursive: true, force: true });
    renameSync(folder, FALLBACK);
    return true;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As listed by the engine: `@lancedb/lancedb-linux-x64-gnu`. Undefined if there is none for this platform. */
function platformPackage(modules) {
  const names = Object.keys(readJson(join(modules, ENGINE, 'package.json'))?.optionalDependencies ?? {});
  return names.find((name) => name === `${ENGINE}-${platformName()}`);
}

function platformName() {
  const { platform, arch } = process;
  const toolchain = { linux: isMusl() ? '-musl' : '-gnu', win32: '-msvc' }[platform] ?? '';
  return `${platform}-${arch}${toolchain}`;
}

function isMusl() {
  process.report.excludeNetwork = true;
  return process.platform === 'linux' && process.report.getReport().header.glibcVersionRuntime === undefined;
}

/** The npm that runs this script, if any. Its output would only repeat at length that a package is missing. */
function npm(folder, ...args) {
  const running = process.env.npm_execpath ?? '';
  const isNpm = basename(running).startsWith('npm');
  const [command, ...first] = isNpm ? [process.execPath, running] : ['npm'];
  const fixed = ['--include=optional', '--ignore-scripts', '--global=false', '--fetch-retries=1', '--prefer-offline'];
  const options = { cwd: folder, stdio: 'ignore', shell: command === 'npm' && process.platform === 'win32' };
  return (
    spawnSync(command, [...first, ...args, ...fixed], { ...options, timeout: NPM_SECONDS_MAX * 1000 }).status === 0
  );
}

function findVersion(folder) {
  return readJson(join(folder, 'package.json'))?.version;
}

/** Undefined if there is no such file. */
function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
