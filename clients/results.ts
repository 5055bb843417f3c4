import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Result } from './outcome.ts';

const FOLDER = 'build/clients/results';

/** Replaces the result of an earlier run of the same release on the same kind of service. */
export async function keepResult(result: Result): Promise<void> {
  const { client, release, service } = result;
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, `${client}-${release}-${service}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
}

/** Of all runs so far. */
export async function readResults(): Promise<readonly Result[]> {
  const files = await readdir(FOLDER).catch(() => []);
  return Promise.all(files.map(async (file) => JSON.parse(await readFile(join(FOLDER, file), 'utf8')) as Result));
}
