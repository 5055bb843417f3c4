import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestApiKey, makeApiKey } from './auth/api-key.ts';
import { makeSigningKey } from './auth/signing-key.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Config } from './config/config.ts';
import { DEFAULT_DATABASE } from './model/table.ts';

const ADMIN_KEY_NAME = 'administrator';
const ADMIN_GRANT = { role: 'admin', database: undefined, path: [] } as const;

/** Whether the database that requests without a database header are about had to be made: the catalog is new. */
export async function ensureDefaultDatabase(catalog: Catalog, root: string): Promise<boolean> {
  if ((await catalog.databases.find(DEFAULT_DATABASE)) !== undefined) return false;
  await catalog.databases.create({ name: DEFAULT_DATABASE, root });
  return true;
}

/**
 * The first start makes an administrator key, unless one is configured. It is returned only then: the catalog keeps a
 * digest, and `admin.key` in the data folder, readable by its owner, keeps the key.
 */
export async function ensureAdminKey(catalog: Catalog, config: Config): Promise<string | undefined> {
  if (config.adminKey !== undefined) {
    await ensureKey(catalog, config.adminKey);
    return undefined;
  }
  const keys = await catalog.keys.list();
  if (keys.length > 0) return undefined;
  const { key, digest } = makeApiKey();
  await writeFile(join(config.data, 'admin.key'), `${key}\n`, { mode: 0o600 });
  await catalog.keys.create({ name: ADMIN_KEY_NAME, digest, grants: [ADMIN_GRANT] });
  return key;
}

/** What the token endpoint signs with. Several servers with one catalog share it. */
export async function ensureSigningKey(catalog: Catalog): Promise<void> {
  const keys = await catalog.signingKeys.list();
  if (keys.length === 0) await catalog.signingKeys.ensure(await makeSigningKey());
}

async function ensureKey(catalog: Catalog, key: string): Promise<void> {
  const digest = digestApiKey(key);
  if ((await catalog.keys.findByDigest(digest)) !== undefined) return;
  await catalog.keys.create({ name: ADMIN_KEY_NAME, digest, grants: [ADMIN_GRANT] });
}
