import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { findAzureSign } from '../../src/storage/object/client/azure-signature.ts';
import { OptionReader } from '../../src/storage/object/client/options.ts';
import { eventually } from './eventually.ts';
import { findFreePort } from './free-port.ts';
import { runNpm } from './npm.ts';

const FOLDER = resolve('build/tools/azurite');
const PROGRAM = join(FOLDER, 'node_modules/azurite/dist/src/blob/main.js');
const RELEASE = 'azurite@3.35.0';
const INSTALL_MILLISECONDS_MAX = 300_000;

let installed: Promise<boolean> | undefined;

/** Only when a test needs it, while other tests run: it takes long. False when it cannot be installed. */
async function install(): Promise<boolean> {
  if (existsSync(PROGRAM)) return true;
  await mkdir(FOLDER, { recursive: true });
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', FOLDER];
  await runNpm(['install', ...options, RELEASE], { timeout: INSTALL_MILLISECONDS_MAX }).catch(() => {});
  return existsSync(PROGRAM);
}

/** The account and the key that every Azurite has. */
const ACCOUNT = 'devstoreaccount1';
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

export interface Azurite {
  readonly storageOptions: Readonly<Record<string, string>>;
}

/** A real Azurite in memory, with one container; ended after the test. `undefined` when the test is skipped. */
export async function startAzurite(test: TestContext, container: string): Promise<Azurite | undefined> {
  installed ??= install();
  if (!(await installed)) {
    test.skip('Azurite cannot be installed');
    return undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-azurite-'));
  const port = await findFreePort();
  const options = ['--silent', '--disableTelemetry', '--skipApiVersionCheck', '--inMemoryPersistence'];
  const host = ['--blobHost', '127.0.0.1', '--blobPort', String(port)];
  const server = spawn(process.execPath, [PROGRAM, ...options, ...host], { cwd: folder, stdio: 'ignore' });
  test.after(async () => {
    server.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  const storageOptions = {
    azure_storage_account_name: ACCOUNT,
    azure_storage_account_key: KEY,
    azure_endpoint: `http://127.0.0.1:${port}/${ACCOUNT}`,
    allow_http: 'true',
  };
  await eventually(async () => createContainer(storageOptions, container));
  return { storageOptions };
}

async function createContainer(options: Azurite['storageOptions'], container: string): Promise<boolean> {
  const sign = findAzureSign(new OptionReader({ options, environment: {} }), ACCOUNT);
  const url = `${options['azure_endpoint']}/${container}?restype=container`;
  const headers = await sign({ method: 'PUT', url });
  try {
    return (await fetch(url, { method: 'PUT', headers: { ...headers } })).status === 201;
  } catch {
    return false;
  }
}
