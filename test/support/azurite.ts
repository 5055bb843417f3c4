import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findAzureSign } from '../../src/storage/object/client/azure-signature.ts';
import { OptionReader } from '../../src/storage/object/client/options.ts';
import { eventually } from './eventually.ts';
import { findFreePort } from './free-port.ts';

/** Where `scripts/install-azurite.mjs` puts it. */
export const AZURITE_FOLDER = resolve('build/tools/azurite');

export function findAzurite(): string | undefined {
  const file = join(AZURITE_FOLDER, 'node_modules/azurite/dist/src/blob/main.js');
  return existsSync(file) ? file : undefined;
}

/** For the option `skip` of a test. */
export const withoutAzurite = findAzurite() === undefined ? 'Azurite is not installed' : false;

/** The account and the key that every Azurite has. */
const ACCOUNT = 'devstoreaccount1';
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

export interface Azurite {
  readonly storageOptions: Readonly<Record<string, string>>;
}

/** A real Azurite in memory, with one container; ended after the test. */
export async function startAzurite(test: { after(work: () => unknown): void }, container: string): Promise<Azurite> {
  const file = findAzurite();
  if (file === undefined) throw new Error('Azurite is not installed.');
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-azurite-'));
  const port = await findFreePort();
  const options = ['--silent', '--disableTelemetry', '--skipApiVersionCheck', '--inMemoryPersistence'];
  const host = ['--blobHost', '127.0.0.1', '--blobPort', String(port)];
  const server = spawn(process.execPath, [file, ...options, ...host], { cwd: folder, stdio: 'ignore' });
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
