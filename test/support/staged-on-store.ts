import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { parseAddress } from '../../src/storage/object/address.ts';
import { ObjectStores } from '../../src/storage/object/object-stores.ts';
import type { ObjectStore } from '../../src/storage/object/object-store.ts';
import { readManifestName } from '../../src/storage/format/manifest.ts';
import { toObjectSettings } from '../storage/object/test-stores.ts';
import type { S3Emulator } from './s3/s3-emulator.ts';
import type { Change, StagedVersion } from './staged-version.ts';

/** As `stageVersion`, for a table on an object store. */
export async function stageOnStore(
  emulator: Pick<S3Emulator, 'storageOptions'>,
  location: string,
  change: Change,
): Promise<StagedVersion> {
  const address = parseAddress(location);
  const store = new ObjectStores(toObjectSettings(emulator)).open(address);
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-staged-'));
  try {
    const copy = join(folder, 'table.lance');
    const before = await download(store, address.path, copy);
    const connection = await connect(folder);
    await change(await connection.openTable('table'));
    connection.close();
    return await upload(store, address.path, copy, before);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function download(store: ObjectStore, path: string, folder: string): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for await (const { key } of store.list(`${path}/`)) {
    const name = key.slice(path.length + 1);
    names.add(name);
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), (await store.get(key)) ?? Buffer.alloc(0));
  }
  return names;
}

async function upload(
  store: ObjectStore,
  path: string,
  folder: string,
  before: ReadonlySet<string>,
): Promise<StagedVersion> {
  let staged: StagedVersion | undefined;
  for (const name of await readdir(folder, { recursive: true })) {
    if (before.has(name) || !(await stat(join(folder, name))).isFile()) continue;
    const content = await readFile(join(folder, name));
    const version = name.startsWith('_versions/') ? readManifestName(name.slice('_versions/'.length)) : undefined;
    if (version === undefined) {
      if (!name.startsWith('_versions/')) await store.put(`${path}/${name}`, content);
      continue;
    }
    const manifest_path = `${path}/${name}-${randomUUID()}`;
    await store.put(manifest_path, content);
    staged = { version, manifest_path, manifest_size: content.length, naming_scheme: 'V2' };
  }
  if (staged === undefined) throw new Error('The change committed no version.');
  return staged;
}
