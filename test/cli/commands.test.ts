import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openConfiguredCatalog } from '../../src/app/configured-catalog.ts';
import { digestSecret } from '../../src/auth/keys/secrets.ts';
import type { CredentialRecord } from '../../src/catalog/catalog.ts';
import { COMMAND_GROUPS } from '../../src/cli/commands.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { readEngineRelease } from '../../src/engine/native/engine-release.ts';
import { Client } from '../support/client.ts';
import { runCli } from '../support/run-cli.ts';
import type { Outcome } from '../support/run-cli.ts';
import { S3Emulator } from '../support/s3/s3-emulator.ts';
import { startServer } from '../support/server.ts';

let folder: string;
let data: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-cli-'));
  data = join(folder, 'data');
});

after(async () => rm(folder, { recursive: true, force: true }));

async function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  return runCli(argv, { env });
}

async function findKey(key: string): Promise<CredentialRecord | undefined> {
  const loaded = loadConfig({ argv: [data], env: {}, readFile: () => '' });
  assert.ok('config' in loaded);
  const catalog = await openConfiguredCatalog(loaded.config);
  try {
    return await catalog.keys.findByDigest(digestSecret(key));
  } finally {
    await catalog.close();
  }
}

const COMMANDS = COMMAND_GROUPS.flatMap(({ commands }) => commands.map(({ words }) => words.join(' ')));

test('lists every command when asked for help', async () => {
  for (const argv of [['--help'], ['-h'], ['help']]) {
    const { code, out, err } = await run(argv);
    assert.equal(code, 0);
    assert.equal(err, '');
    for (const command of COMMANDS) assert.ok(out.includes(`tiltyard ${command} `), command);
    assert.ok(out.split('\n').every((line) => line.length <= 120));
  }
});

test('explains one command when asked about it', async () => {
  for (const command of COMMANDS) {
    const words = command.split(' ');
    const { code, out } = await run([...words, '--help']);
    assert.equal(code, 0);
    assert.ok(out.startsWith(`tiltyard ${command} `), out);
    assert.equal((await run(['help', ...words])).out, out);
  }
});

test('prints completions for every shell that name every command', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await run(['completion', shell]);
    assert.equal(code, 0);
    for (const word of COMMANDS.flatMap((command) => command.split(' '))) assert.ok(out.includes(word), word);
    assert.match(out, /refine-factor/);
  }
  assert.equal((await run(['completion', 'csh'])).code, 2);
});

test('completes commands and options in bash', async () => {
  const { out } = await run(['completion', 'bash']);
  const complete = (...words: readonly string[]): readonly string[] => {
    const set = `COMP_WORDS=(tiltyard ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`;
    const script = `${out}\n${set}; _tiltyard; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split('\n');
  };
  assert.deepEqual(complete('desc'), ['describe']);
  assert.deepEqual(complete('tag', 'cr'), ['create']);
  assert.deepEqual(complete('query', 'orders', '--vec'), ['--vector', '--vector-column']);
  assert.ok(complete('key', '').includes('revoke'));
});

test('prints its release and that of the engine', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  const { version: found, isFallback } = readEngineRelease();
  const engine = `engine ${found}${isFallback ? ' (fallback)' : ''}`;
  for (const argv of [['--version'], ['version']]) {
    assert.deepEqual(await run(argv), { code: 0, out: `${version}\n${engine}\n`, err: '' });
  }
});

test('a word that is no command is refused with exit code 2 and the one that may be meant', async () => {
  for (const [argv, told] of [
    [['frobnicate'], 'tiltyard: There is no command "frobnicate". "tiltyard help" lists them all.\n'],
    [['qury', 'x'], 'tiltyard: There is no command "qury". Did you mean query? "tiltyard help" lists them all.\n'],
    [['help', 'qury'], 'tiltyard: There is no command "qury". Did you mean query? "tiltyard help" lists them all.\n'],
  ] as const) {
    assert.deepEqual(await run([...argv]), { code: 2, out: '', err: told });
  }
  const nothing = await run([]);
  assert.equal(nothing.code, 2);
  assert.ok(nothing.err.startsWith('Tiltyard '));
  assert.ok(nothing.err.includes('tiltyard serve'));
});

test('the first word of a family shows its commands', async () => {
  for (const argv of [['key'], ['key', 'delete']]) {
    const { code, out, err } = await run(argv);
    assert.equal(code, 2);
    assert.equal(out, '');
    assert.match(err, /^tiltyard: Say what to do with a key:\n\n  tiltyard key create .*\n  tiltyard key list/);
    assert.ok(!err.includes('tiltyard serve'));
  }
  for (const argv of [
    ['help', 'key'],
    ['key', '--help'],
  ]) {
    const helped = await run(argv);
    assert.equal(helped.code, 0);
    assert.match(helped.out, /^  tiltyard key create /);
  }
});

test('programs get faults of a command as JSON, people the name of what is not there', async () => {
  const usage = await run(['query', '--json']);
  assert.equal(usage.code, 2);
  assert.match(JSON.parse(usage.err).error.message, /^TABLE is missing/);
  const missing = await run(['import', '/nowhere/people.csv', 'people']);
  assert.deepEqual(missing, { code: 5, out: '', err: 'tiltyard: /nowhere/people.csv is not there.\n' });
});

test('shows every setting, where it came from, and no secret', async () => {
  const env = { TILTYARD_ADMIN_KEY: 'a-secret-key-of-more-than-32-characters' };
  const { code, out } = await run(['config', data, '--port', '99', '--storage-options={"aws_secret":"hunter2"}'], env);
  assert.equal(code, 0);
  assert.match(out, /^port +99 +--port$/m);
  assert.match(out, new RegExp(`^data +${data} +DATA$`, 'm'));
  assert.match(out, /^adminKey +\S+ +TILTYARD_ADMIN_KEY$/m);
  assert.match(out, /^http\.uploadsMax +256 +default$/m);
  assert.ok(!out.includes('a-secret-key') && !out.includes('hunter2'));
});

test('lists all faults of the settings at once with exit code 2', async () => {
  const { code, out, err } = await run(['config', '--port=x', '--prot=1', '--http-json-depth-max=2', '--host'], {
    TILTYARD_LOG_LEVEL: 'loud',
  });
  assert.equal(code, 2);
  assert.equal(out, '');
  const lines = err.trimEnd().split('\n');
  assert.equal(lines.length, 5);
  assert.ok(lines.every((line) => line.startsWith('tiltyard: ')));
  for (const part of ['--port must', '"--prot"', 'depth', '--host needs', 'TILTYARD_LOG_LEVEL']) {
    assert.equal(lines.filter((line) => line.includes(part)).length, 1, part);
  }
});

test('reads a config file, and says where its values are from', async () => {
  const file = join(folder, 'settings.json');
  await writeFile(file, JSON.stringify({ http: { uploadsMax: 3 } }));
  const { code, out } = await run(['config', '--config', file]);
  assert.equal(code, 0);
  assert.match(out, new RegExp(`^http\\.uploadsMax +3 +${file}: http\\.uploadsMax$`, 'm'));
  const missing = await run(['config', '--config', join(folder, 'nothing.json')]);
  assert.equal(missing.code, 2);
  assert.match(missing.err, /cannot be read: it is not there/);
});

test('creates a key that is shown once and stored as a digest', async () => {
  const { code, out, err } = await run(['key', 'create', 'reports', '--data', data]);
  assert.equal(code, 0);
  assert.match(out, /^ty_[\w-]{43}\n$/);
  assert.match(err, /^Key \S+ for reports: keep it now, it is not shown again\.\n$/);
  const record = await findKey(out.trim());
  assert.equal(record?.name, 'reports');
  assert.deepEqual(record.grants, [{ role: 'reader', database: undefined, path: [] }]);
  const listed = await run(['key', 'list', '--data', data]);
  assert.match(listed.out, new RegExp(`^${record.id}  valid +reports  reader on everything$`, 'm'));
  assert.ok(!listed.out.includes(out.trim()) && !listed.out.includes(digestSecret(out.trim())));
});

test('creates a key for a role on a path that expires', async () => {
  const start = Date.now();
  const flags = ['--role=writer', '--database', 'sales', '--path', 'eu$orders', '--days=2'];
  const { code, out } = await run(['key', 'create', ...flags, 'loader', `--data=${data}`]);
  assert.equal(code, 0);
  const record = await findKey(out.trim());
  assert.deepEqual(record?.grants, [{ role: 'writer', database: 'sales', path: ['eu', 'orders'] }]);
  const day = 24 * 60 * 60 * 1000;
  assert.ok((record.expiresAt ?? 0) >= start + 2 * day && (record.expiresAt ?? 0) <= Date.now() + 2 * day);
  const listed = await run(['key', 'list', '--data', data]);
  assert.match(listed.out, /loader +writer on sales\/eu\$orders$/m);
});

test('refuses incomplete or wrong descriptions of keys, and creates none', async () => {
  const before = await run(['key', 'list', '--data', data]);
  const wrong: readonly (readonly [argv: readonly string[], says: RegExp])[] = [
    [[], /Give the key one name/],
    [['a', 'b'], /Give the key one name/],
    [['a', '--role=root'], /--role must be one of reader, writer, owner, admin/],
    [['a', '--path=eu'], /--path needs --database/],
    [['a', '--days=0'], /--days must be a whole number/],
    [['a', '--days=1.5'], /--days must be a whole number/],
    [['a', '--role'], /--role needs a value/],
    [['a', '--rolle=reader'], /no flag "--rolle"/],
  ];
  for (const [argv, says] of wrong) {
    const { code, out, err } = await run(['key', 'create', '--data', data, ...argv]);
    assert.equal(code, 2, argv.join(' '));
    assert.equal(out, '');
    assert.match(err, says);
  }
  const name = await run(['key', 'create', '--data', data, 'a', '--database=d', '--path=a$$b']);
  assert.equal(name.code, 1);
  assert.match(name.err, /^tiltyard: The name "" is empty/);
  assert.deepEqual(await run(['key', 'list', '--data', data]), before);
});

test('revokes a key once', async () => {
  const { out } = await run(['key', 'create', 'short', '--data', data]);
  const record = await findKey(out.trim());
  const id = record?.id ?? '';
  assert.deepEqual(await run(['key', 'revoke', id, '--data', data]), {
    code: 0,
    out: '',
    err: `Key ${id} is revoked.\n`,
  });
  assert.equal(await findKey(out.trim()), undefined);
  assert.match((await run(['key', 'list', '--data', data])).out, new RegExp(`^${id}  revoked  short`, 'm'));
  for (const gone of [id, 'nothing']) {
    const again = await run(['key', 'revoke', gone, '--data', data]);
    assert.deepEqual(again, {
      code: 5,
      out: '',
      err: `tiltyard: There is no key ${gone} that could be revoked. "tiltyard key list" shows them.\n`,
    });
  }
  assert.equal((await run(['key', 'revoke', '--data', data])).code, 2);
});

test('creates databases in the default or a given folder or store, and lists them', async (t) => {
  const own = await run(['database', 'create', 'sales', '--data', data]);
  assert.equal(own.code, 0, own.err);
  const root = /^sales {2}(\S+)\n$/.exec(own.out)?.[1] ?? assert.fail(own.out);
  assert.ok(root.startsWith(`${data}/`) && root !== data, root);
  const elsewhere = join(folder, 'elsewhere');
  const given = await run(['database', 'create', 'other', '--root', elsewhere, '--data', data]);
  assert.equal(given.out, `other  ${elsewhere}\n`);
  const create = ['database', 'create', 'bucket', '--root=s3://tables/b', '--data', data];
  const unsafe = await S3Emulator.start(t, { ignoresConditions: true });
  const refused = await run(create, { TILTYARD_STORAGE_OPTIONS: JSON.stringify(unsafe.storageOptions) });
  const { isFallback } = readEngineRelease();
  assert.match(refused.err, isFallback ? /does not keep tables in object stores/ : /s3:\/\/tables cannot hold tables/);
  const { storageOptions } = await S3Emulator.start(t);
  const bucket = await run(create, { TILTYARD_STORAGE_OPTIONS: JSON.stringify(storageOptions) });
  const remote = isFallback ? '' : 'bucket  s3://tables/b\n';
  assert.equal(bucket.out, remote);
  const listed = await run(['database', 'list', '--data', data]);
  assert.deepEqual(listed, {
    code: 0,
    out: `${remote}other  ${elsewhere}\nsales  ${root}\n`,
    err: '',
  });
});

test('refuses a database that is there already or has no usable name', async () => {
  await run(['database', 'create', 'twice', '--data', data]);
  const again = await run(['database', 'create', 'twice', '--data', data]);
  assert.equal(again.code, 1);
  assert.match(again.err, /^tiltyard: There is a database "twice" already/);
  for (const name of ['..', 'a/b', 'a$b', '']) {
    const { code, out } = await run(['database', 'create', name, '--data', data]);
    assert.equal(code, 1);
    assert.equal(out, '');
  }
  assert.equal((await run(['database', 'create', '--data', data])).code, 2);
  assert.equal((await run(['database', 'create', 'a', 'b', '--data', data])).code, 2);
});

test('says in one line what the system refuses', async () => {
  const file = join(folder, 'a-file');
  await writeFile(file, '');
  const { code, out, err } = await run(['key', 'list', '--data', file]);
  assert.equal(code, 1);
  assert.equal(out, '');
  assert.match(err, /^tiltyard: EEXIST: .*\n$/);
});

test('administers the catalog of a running server', async () => {
  const server = await startServer();
  try {
    const { out } = await run(['key', 'create', 'live', '--data', server.folder]);
    const client = new Client(server.url, { key: out.trim() });
    assert.equal((await client.get('/v1/tables')).status, 200);
    const line = (await run(['key', 'list', '--data', server.folder])).out
      .split('\n')
      .find((each) => each.includes('live'));
    const [id = ''] = line?.split(' ') ?? [];
    assert.equal((await run(['key', 'revoke', id, '--data', server.folder])).code, 0);
    assert.equal((await client.get('/v1/tables')).status, 401);
    await run(['database', 'create', 'made-later', '--data', server.folder]);
    const other = new Client(server.url, { headers: { 'x-service-database': 'made-later' } });
    assert.equal((await other.get('/v1/tables')).status, 200);
  } finally {
    await server.close();
  }
});
