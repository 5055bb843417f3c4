import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { openConfiguredCatalog } from '../../../src/app/configured-catalog.ts';
import {
  ensureAdminKey,
  ensureDefaultDatabase,
  ensureSigningKey,
  requireSharedRoots,
} from '../../../src/app/startup.ts';
import { digestSecret } from '../../../src/auth/keys/secrets.ts';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import { runCli } from '../../support/run-cli.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { refusal } from '../temporary-catalog.ts';

const SERVERS = 4;
const ROUNDS = 5;
const ADMIN_KEY = 'an-administrator-key-of-enough-length';
const NODE = { TILTYARD_NODE_URL: 'http://127.0.0.1:2333', TILTYARD_NODE_SECRET: 's'.repeat(32) };

type Variables = Readonly<Record<string, string>>;

function toConfig(data: string, env: Variables): Config {
  const loaded = loadConfig({ argv: [data], env, readFile: () => '' });
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.config;
}

async function startFirst(context: TestContext, config: Config) {
  const catalog = await openConfiguredCatalog(config);
  context.after(async () => catalog.close());
  const isNewCatalog = await ensureDefaultDatabase(catalog, config.storage.root);
  const adminKey = await ensureAdminKey(catalog, config, { emit: () => {} });
  await ensureSigningKey(catalog);
  return { config, catalog, isNewCatalog, adminKey };
}

/** Each with a separate data folder. */
async function startTogether(context: TestContext, env: Variables) {
  const configs = await Promise.all(
    Array.from({ length: SERVERS }, async () => toConfig(await makeFolder(context), env)),
  );
  return Promise.all(configs.map(async (config) => startFirst(context, config)));
}

async function checkGeneratedKey(context: TestContext, env: Variables): Promise<void> {
  const started = await startTogether(context, env);
  assert.equal(started.filter(({ isNewCatalog }) => isNewCatalog).length, 1);
  const [winner, ...others] = started.filter(({ adminKey }) => adminKey !== undefined);
  assert.ok(winner?.adminKey !== undefined);
  assert.deepEqual(others, []);
  const digest = digestSecret(winner.adminKey);
  for (const { config, catalog, adminKey } of started) {
    const file = join(config.data, 'admin.key');
    assert.equal(existsSync(file), adminKey !== undefined);
    if (adminKey !== undefined) assert.equal(await readFile(file, 'utf8'), `${adminKey}\n`);
    assert.deepEqual((await catalog.databases.list()).length, 1);
    assert.equal((await catalog.keys.list()).length, 1);
    assert.equal((await catalog.keys.findByDigest(digest))?.grants[0]?.role, 'admin');
    assert.equal((await catalog.signingKeys.list()).length, 1);
  }
}

async function checkConfiguredKey(context: TestContext, env: Variables): Promise<void> {
  const started = await startTogether(context, { ...env, TILTYARD_ADMIN_KEY: ADMIN_KEY });
  for (const { config, catalog, adminKey } of started) {
    assert.equal(adminKey, undefined);
    assert.equal(existsSync(join(config.data, 'admin.key')), false);
    assert.equal((await catalog.keys.list()).length, 1);
    assert.notEqual(await catalog.keys.findByDigest(digestSecret(ADMIN_KEY)), undefined);
  }
}

test('of several first starts on one SQLite catalog, one creates the administrator key', async (context) => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const file = async () => ({ TILTYARD_CATALOG_FILE: join(await makeFolder(context), 'catalog.db') });
    await checkGeneratedKey(context, await file());
    await checkConfiguredKey(context, await file());
  }
});

suite('first starts on one PostgreSQL catalog', { skip: withoutPostgres }, () => {
  const createDatabase = async (): Promise<Variables> => ({
    TILTYARD_CATALOG_URL: await (await startPostgres()).createDatabase(),
  });

  test('one creates the administrator key, and all succeed', async (context) => {
    for (let round = 0; round < ROUNDS; round += 1) await checkGeneratedKey(context, await createDatabase());
  });

  test('a configured administrator key exists once', async (context) => {
    for (let round = 0; round < ROUNDS; round += 1) await checkConfiguredKey(context, await createDatabase());
  });

  test('a revoked administrator key prevents that another one is generated', async (context) => {
    const env = await createDatabase();
    const { catalog } = await startFirst(context, toConfig(await makeFolder(context), env));
    const admin = { role: 'admin', database: undefined, path: [] } as const;
    await catalog.keys.create({ name: 'other', digest: 'ab', grants: [admin] });
    const [first] = await catalog.keys.list();
    assert.equal(await catalog.keys.createFirst({ name: 'again', digest: 'cd', grants: [admin] }), false);
    assert.equal(await catalog.keys.revoke(first?.id ?? ''), true);
    assert.equal(await catalog.keys.createFirst({ name: 'again', digest: 'cd', grants: [admin] }), false);
    assert.equal((await catalog.keys.list()).length, 2);
  });

  test('several nodes refuse databases in local folders, old and new', async (context) => {
    const [folder, root] = [await makeFolder(context), await makeFolder(context)];
    const env = await createDatabase();
    const { catalog } = await startFirst(context, toConfig(folder, env));
    const node = { ...env, ...NODE, TILTYARD_STORAGE_ROOT: 's3://bucket/tables' };
    const command = ['database', 'create', 'local', '--root', root, '--data', folder];
    const refused = await runCli(command, { env: node });
    assert.equal(refused.code, 1);
    assert.match(refused.err, /The database "local" cannot have the root \S+: nodes do not share a local folder/);
    assert.equal((await catalog.databases.list()).length, 1);
    assert.equal((await runCli(command, { env })).code, 0);
    const config = toConfig(folder, node);
    const start = requireSharedRoots((await startFirst(context, config)).catalog, config);
    await assert.rejects(start, refusal('InvalidInput', /^The database "local" cannot have the root/));
  });
});
