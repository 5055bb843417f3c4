import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Config } from '../../src/config/config.ts';
import { formatConfig, settingsReference } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { LoadedConfig } from '../../src/config/load-config.ts';

const KEY = 'k'.repeat(32);

interface Given {
  readonly argv?: readonly string[];
  readonly env?: Record<string, string>;
  readonly file?: unknown;
}

function load({ argv = [], env = {}, file }: Given): LoadedConfig {
  const argvAll = file === undefined ? argv : ['--config', 'settings.json', ...argv];
  const readFile = (path: string): string => {
    assert.equal(path, '/srv/settings.json');
    return typeof file === 'string' ? file : JSON.stringify(file);
  };
  return loadConfig({ argv: argvAll, env, readFile, workingFolder: '/srv' });
}

function configOf(given: Given): Config {
  const loaded = load(given);
  assert.ok('config' in loaded, 'faults' in loaded ? loaded.faults.join('\n') : '');
  return loaded.config;
}

function faultsOf(given: Given): readonly string[] {
  const loaded = load(given);
  assert.ok('faults' in loaded, 'expected faults');
  return loaded.faults;
}

const STORAGE_DEFAULTS = {
  lockSeconds: 5,
  requestSeconds: 30,
  requestAttemptsMax: 5,
  retentionSecondsMin: 600,
  pollSeconds: 5,
  vending: 'off',
  vendingRole: undefined,
  vendingEndpoint: undefined,
  vendingSeconds: 900,
};

test('needs nothing to be told', () => {
  const config = configOf({});
  assert.equal(config.data, '/srv/data');
  assert.equal(config.host, '127.0.0.1');
  assert.equal(config.port, 2333);
  assert.equal(config.basePath, '');
  assert.equal(config.tls, undefined);
  assert.equal(config.adminKey, undefined);
  assert.equal(config.auth.required, true);
  assert.deepEqual(config.auth.issuers, []);
  assert.deepEqual(config.storage, {
    root: '/srv/data',
    sync: 'full',
    ...STORAGE_DEFAULTS,
    options: {},
    allowedCallerOptions: [],
  });
  assert.equal(config.catalogFile, '/srv/data/tiltyard.db');
  assert.deepEqual(config.catalog, { url: undefined, cacheBytes: 67_108_864 });
  assert.deepEqual(config.node, { url: undefined, secret: undefined, leaseSeconds: 5, forwardsMax: 256 });
  assert.deepEqual(config.log, { level: 'info', format: 'auto' });
  assert.equal(config.watchdogSeconds, 10);
  assert.equal(config.limits.http.jsonBytesMax, 16 * 1024 * 1024);
  assert.equal(config.limits.arrow.streamBytesMax, 4 * 1024 ** 3);
  assert.equal(config.limits.engine.writeAttemptsMax, 5);
});

test('lets a flag go before a variable, and a variable before the file', () => {
  const file = { port: 1, host: '127.0.0.2', arrow: { columnsMax: 10 } };
  const env = { TILTYARD_PORT: '2', TILTYARD_HOST: '127.0.0.3' };
  const config = configOf({ argv: ['--port', '3'], env, file });
  assert.equal(config.port, 3);
  assert.equal(config.host, '127.0.0.3');
  assert.equal(config.limits.arrow.columnsMax, 10);
});

test('takes the name of the file from a variable, and a flag before it', () => {
  const texts: Record<string, string> = { '/etc/a.json': '{"port":1}', '/etc/b.json': '{"port":2}' };
  const readFile = (path: string): string => texts[path] ?? '';
  const env = { TILTYARD_CONFIG: '/etc/a.json' };
  const byVariable = loadConfig({ argv: [], env, readFile });
  const byFlag = loadConfig({ argv: ['--config=/etc/b.json'], env, readFile });
  assert.equal('config' in byVariable && byVariable.config.port, 1);
  assert.equal('config' in byFlag && byFlag.config.port, 2);
});

test('reads every kind of value from flags', () => {
  const argv = [
    ['/var/tables', '--admin-key', KEY, '--tls-cert=c.pem', '--tls-key', '/k.pem', '--base-path', 'x/y/'],
    ['--host-suffix', '.Tables.Example.com', '--arrow-message-bytes-max', '64MiB', '--query-seconds', '2.5'],
    ['--no-auth-required', '--auth-allow-open-network', '--host=0.0.0.0', '--log-level', 'debug'],
    ['--storage-root', 's3://bucket/tables', '--storage-options', '{"aws_region":"eu-1"}'],
    ['--storage-allowed-caller-options', 'a, b,', '--storage-sync', 'os'],
  ].flat();
  const config = configOf({ argv });
  assert.equal(config.data, '/var/tables');
  assert.equal(config.adminKey, KEY);
  assert.deepEqual(config.tls, { certFile: '/srv/c.pem', keyFile: '/k.pem' });
  assert.equal(config.basePath, '/x/y');
  assert.equal(config.hostSuffix, 'tables.example.com');
  assert.equal(config.limits.arrow.messageBytesMax, 67_108_864);
  assert.equal(config.limits.query.seconds, 2.5);
  assert.equal(config.auth.required, false);
  assert.equal(config.log.level, 'debug');
  assert.deepEqual(config.storage, {
    root: 's3://bucket/tables',
    sync: 'os',
    ...STORAGE_DEFAULTS,
    options: { aws_region: 'eu-1' },
    allowedCallerOptions: ['a', 'b'],
  });
  assert.equal(config.catalogFile, '/var/tables/tiltyard.db');
});

test('reads every kind of value from a file', () => {
  const issuer = { issuer: 'https://id.example.com', audience: 'tiltyard' };
  const file = {
    adminKey: KEY,
    auth: { required: true, issuers: [issuer] },
    storage: { root: 'tables', options: { aws_region: 'eu-1' }, allowedCallerOptions: ['a'] },
    http: { jsonBytesMax: '1MiB', headersSeconds: 1.5 },
    arrow: { streamBytesMax: 4096 },
  };
  const config = configOf({ file });
  assert.equal(config.auth.issuers[0]?.issuer, issuer.issuer);
  assert.equal(config.storage.root, '/srv/tables');
  assert.deepEqual(config.storage.options, { aws_region: 'eu-1' });
  assert.equal(config.limits.http.jsonBytesMax, 1_048_576);
  assert.equal(config.limits.http.headersSeconds, 1.5);
  assert.equal(config.limits.arrow.streamBytesMax, 4096);
});

test('freezes the whole and keeps it plain enough to be cloned', () => {
  const config = configOf({ file: { auth: { issuers: [{ issuer: 'https://a.example.com', audience: 'b' }] } } });
  assertFrozen(config);
  assert.deepEqual(structuredClone(config), config);
});

function assertFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  assert.ok(Object.isFrozen(value));
  for (const part of Object.values(value)) assertFrozen(part);
}

test('names all faults at once, each with its origin', () => {
  const faults = faultsOf({
    argv: ['--port', '70000', '--prot=1', '--basepath'],
    env: { TILTYARD_LOG_LEVEL: 'loud', TILTYARD_HOTS: 'x' },
    file: { htpp: {}, arrow: { columnMax: 1 }, sql: 5, query: { kMax: 0.5 }, config: 'x', auth: { required: 'maybe' } },
  });
  assert.deepEqual([...faults].sort(), [
    '--port must be a whole number from 0 to 65535, not "70000".',
    '/srv/settings.json: auth.required must be true or false, not "maybe".',
    '/srv/settings.json: query.kMax must be a whole number from 1 to 100000000, not 0.5.',
    '/srv/settings.json: sql must be an object.',
    '/srv/settings.json: the setting "arrow.columnMax" does not exist. Did you mean arrow.columnsMax?',
    '/srv/settings.json: the setting "config" does not exist.',
    '/srv/settings.json: the setting "htpp" does not exist. Did you mean http?',
    'TILTYARD_LOG_LEVEL must be one of error, warn, info, debug, not "loud".',
    'The flag "--basepath" does not exist. Did you mean --base-path?',
    'The flag "--prot" does not exist. Did you mean --port?',
    'The variable "TILTYARD_HOTS" belongs to no setting. Did you mean TILTYARD_HOST?',
  ]);
});

test('checks values that are overruled too', () => {
  assert.deepEqual(faultsOf({ argv: ['--port', '1'], env: { TILTYARD_PORT: 'x' } }), [
    'TILTYARD_PORT must be a whole number from 0 to 65535, not "x".',
  ]);
});

test('refuses a flag given twice, a second DATA, and DATA beside --data', () => {
  assert.deepEqual(faultsOf({ argv: ['--port', '1', '--port=2'] }), ['--port is given twice.']);
  assert.deepEqual(faultsOf({ argv: ['a', 'b'] }), ['DATA is given twice.']);
  assert.deepEqual(faultsOf({ argv: ['a', '--data', 'b'] }), ['--data and DATA are the same setting.']);
  assert.deepEqual(faultsOf({ argv: ['--auth-required', '--no-auth-required'] }), [
    '--no-auth-required and --auth-required are the same setting.',
  ]);
});

test('a switch takes true or false as the next word, which is then not DATA', () => {
  const { data, mcp } = configOf({ argv: ['tables', '--mcp-writes', 'true', '--mcp-enabled', 'false'] });
  assert.deepEqual([data, mcp.writes, mcp.enabled], ['/srv/tables', true, false]);
  assert.equal(configOf({ argv: ['--mcp-writes', 'tables'] }).data, '/srv/tables');
});

test('refuses flags without a value, switches with one, and short flags', () => {
  assert.deepEqual(faultsOf({ argv: ['--port'] }), ['--port needs a value.']);
  assert.deepEqual(faultsOf({ argv: ['--port', '--host', '127.0.0.1'] }), ['--port needs a value.']);
  assert.deepEqual(faultsOf({ argv: ['--no-auth-required=1'] }), ['--no-auth-required takes no value.']);
  assert.deepEqual(faultsOf({ argv: ['-p', '1'] }), ['The flag "-p" does not exist.']);
});

test('takes all that follows two dashes as arguments', () => {
  assert.equal(configOf({ argv: ['--', '--odd'] }).data, '/srv/--odd');
});

test('counts an empty variable as not given', () => {
  assert.equal(configOf({ env: { TILTYARD_PORT: '', TILTYARD_NO_SUCH: '' } }).port, 2333);
});

test('passes over the address and the key that clients read', () => {
  const env = { TILTYARD_URL: 'http://127.0.0.1:2333', TILTYARD_KEY: KEY };
  assert.equal(configOf({ env }).adminKey, undefined);
});

test('ignores the variables that Kubernetes sets for a service called tiltyard', () => {
  const env = {
    TILTYARD_PORT: 'tcp://10.0.0.7:2333',
    TILTYARD_SERVICE_HOST: '10.0.0.7',
    TILTYARD_SERVICE_PORT: '2333',
    TILTYARD_SERVICE_PORT_HTTP: '2333',
    TILTYARD_PORT_2333_TCP: 'tcp://10.0.0.7:2333',
    TILTYARD_PORT_2333_TCP_ADDR: '10.0.0.7',
    TILTYARD_READERS_SERVICE_HOST: '10.0.0.8',
  };
  assert.equal(configOf({ env }).port, 2333);
});

test('refuses to serve everyone on an open network unless configured to', () => {
  const open = ['--no-auth-required', '--host'];
  for (const host of ['0.0.0.0', '::', 'db.example.com']) {
    assert.match(faultsOf({ argv: [...open, host] }).join(), /anyone who can reach/, host);
    assert.equal(configOf({ argv: [...open, host, '--auth-allow-open-network'] }).host, host);
    assert.equal(configOf({ argv: ['--host', host] }).host, host);
  }
  for (const host of ['localhost', '127.0.0.1', '::1']) assert.equal(configOf({ argv: [...open, host] }).host, host);
});

test('wants both files for TLS or none', () => {
  assert.match(faultsOf({ argv: ['--tls-cert', 'c'] }).join(), /give both or neither/);
  assert.match(faultsOf({ argv: ['--tls-key', 'c'] }).join(), /give both or neither/);
});

test('refuses hosts, paths and roots that cannot work', () => {
  const bad: [string, string][] = [
    ['--host', 'a b'],
    ['--host', ''],
    ['--base-path', '/a//b'],
    ['--base-path', '/a/../b'],
    ['--base-path', '/a?b'],
    ['--host-suffix', 'x_.'],
    ['--storage-root', 'http://a.example.com'],
    ['--storage-root', 's3://'],
    ['--data', 's3://bucket'],
    ['--data', ''],
    ['--catalog-file', ''],
    ['--storage-options', '[]'],
    ['--storage-options', '{"a":1}'],
    ['--storage-options', '{'],
    ['--auth-issuers', '{}'],
  ];
  for (const [flag, value] of bad) {
    assert.match(faultsOf({ argv: [`${flag}=${value}`] }).join(), new RegExp(`^${flag} must be`), `${flag} ${value}`);
  }
});

test('refuses a storage root that the engine would take for another, without its password', () => {
  const faultOf = (root: string) => faultsOf({ argv: [`--storage-root=${root}`] }).join();
  assert.match(faultOf('s3://bucket/a#b'), /^--storage-root must not contain "#", .*\. Choose another path\.$/);
  assert.match(
    faultOf('s3://bucket/a%20b'),
    /^--storage-root must not contain "%20", .*\. Write the character itself\.$/,
  );
  const fault = faultOf('s3://user:pass-word@bucket/a');
  assert.match(fault, /^--storage-root must not contain ":" in the bucket\. .*credentials .* in storage\.options\.$/);
  assert.doesNotMatch(fault, /pass-word/);
});

test('wants an administrator key that is long and fits into a header', () => {
  for (const key of ['k'.repeat(31), 'k'.repeat(513), `${KEY} x`, `${KEY}\n`, 'é'.repeat(32)]) {
    assert.match(faultsOf({ env: { TILTYARD_ADMIN_KEY: key } }).join(), /^TILTYARD_ADMIN_KEY must be 32 to 512/);
  }
});

const CATALOG_URL = 'postgres://tiltyard:pass-word@db.example.com:5432/catalog';
const NODE = {
  TILTYARD_CATALOG_URL: CATALOG_URL,
  TILTYARD_NODE_URL: 'https://node-1.example.com:2333/lance/',
  TILTYARD_NODE_SECRET: KEY,
  TILTYARD_STORAGE_ROOT: 's3://bucket/tables',
};

test('takes the settings of one of several nodes', () => {
  const argv = ['--node-lease-seconds=2.5', '--node-forwards-max=8', '--storage-poll-seconds=0.5'];
  const { catalog, node, storage } = configOf({ env: NODE, argv });
  assert.deepEqual(catalog, { url: CATALOG_URL, cacheBytes: 67_108_864 });
  assert.deepEqual(node, {
    url: 'https://node-1.example.com:2333/lance',
    secret: KEY,
    leaseSeconds: 2.5,
    forwardsMax: 8,
  });
  assert.equal(storage.pollSeconds, 0.5);
});

test('takes a PostgreSQL catalog for a single server, with a local folder too', () => {
  for (const url of [CATALOG_URL, 'postgresql://db/catalog?sslmode=require', 'postgres://[::1]:5433/c%20d']) {
    const { catalog, storage } = configOf({ env: { TILTYARD_CATALOG_URL: url } });
    assert.deepEqual([catalog.url, storage.root], [url, '/srv/data']);
  }
});

test('refuses addresses that name no database or no node, without quoting them', () => {
  const addresses = ['x', 'postgres:', 'postgres://', 'postgres://u:pass-word@h', 'postgres://u:pass-word@h/'];
  for (const url of [...addresses, 'mysql://u:pass-word@h/d', 'postgres://h/a/b', 'postgres://u:pass-word@h:x/d']) {
    const [fault, ...others] = faultsOf({ env: { TILTYARD_CATALOG_URL: url } });
    assert.match(String(fault), /^TILTYARD_CATALOG_URL must be the address of a PostgreSQL database, such as [^-]+$/);
    assert.deepEqual(others, []);
  }
  const wrong = [
    'node:2333',
    'ftp://node',
    'http://',
    'http:///x',
    'http://u:pass-word@node',
    'http://n/?a',
    'http://n#',
  ];
  for (const url of [...wrong, 'http://n:x', 'http://n /', 'http:\\\\n']) {
    const faults = faultsOf({ env: { ...NODE, TILTYARD_NODE_URL: url } }).join();
    assert.match(faults, /^TILTYARD_NODE_URL must be an http or https address/, url);
    assert.doesNotMatch(faults, /pass-word/);
  }
  const short = faultsOf({ env: { ...NODE, TILTYARD_NODE_SECRET: 'k'.repeat(31) } }).join();
  assert.match(short, /^TILTYARD_NODE_SECRET must be 32 to 512/);
});

test('refuses what several nodes cannot share, each time with the fix', () => {
  const without = (...names: readonly string[]): Record<string, string> =>
    Object.fromEntries(Object.entries(NODE).filter(([name]) => !names.includes(name)));
  const cases: readonly (readonly [Given, RegExp])[] = [
    [{ env: without('TILTYARD_CATALOG_URL') }, /^node\.url needs catalog\.url: .* Set catalog\.url to a PostgreSQL/],
    [{ env: without('TILTYARD_NODE_SECRET') }, /^node\.url and node\.secret go together: give both/],
    [{ env: without('TILTYARD_NODE_URL') }, /^node\.url and node\.secret go together: give both/],
    [{ env: without('TILTYARD_STORAGE_ROOT') }, /\/srv\/data is a local folder\. Set storage\.root to an s3:/],
    [{ env: { ...NODE, TILTYARD_STORAGE_ROOT: '/mnt/x' } }, /\/mnt\/x is a local folder\. Set storage\.root to an s3:/],
    [
      { env: NODE, argv: ['--catalog-file=c.db'] },
      /^catalog\.url and catalogFile are two different catalogs: give only one/,
    ],
  ];
  for (const [given, wanted] of cases) {
    const [fault, ...others] = faultsOf(given);
    assert.match(String(fault), wanted);
    assert.deepEqual(others, []);
  }
});

test('says where a file is broken, without quoting it', () => {
  assert.deepEqual(faultsOf({ file: '{\n"adminKey": "hidden-value" oops\n}' }), [
    'The config file /srv/settings.json is not valid JSON (line 2).',
  ]);
  assert.deepEqual(faultsOf({ file: '[]' }), ['The config file /srv/settings.json must contain a JSON object.']);
});

test('reads secrets from files, as containers get them', () => {
  const files = new Map([
    ['/run/secrets/key', `${KEY}\n`],
    ['/srv/options.json', '{"aws_region": "eu-central-1"}'],
  ]);
  const readFile = (path: string): string =>
    files.get(path) ?? assert.fail(Object.assign(new Error(path), { code: 'ENOENT' }));
  const read = (env: Record<string, string>) => loadConfig({ argv: [], env, readFile, workingFolder: '/srv' });
  const loaded = read({ TILTYARD_ADMIN_KEY_FILE: '/run/secrets/key', TILTYARD_STORAGE_OPTIONS_FILE: 'options.json' });
  assert.ok('config' in loaded, JSON.stringify(loaded));
  assert.equal(loaded.config.adminKey, KEY);
  assert.deepEqual(loaded.config.storage.options, { aws_region: 'eu-central-1' });
  for (const [env, fault] of [
    [
      { TILTYARD_ADMIN_KEY_FILE: '/none' },
      'The file /none of TILTYARD_ADMIN_KEY_FILE cannot be read: it does not exist.',
    ],
    [
      { TILTYARD_ADMIN_KEY: KEY, TILTYARD_ADMIN_KEY_FILE: '/run/secrets/key' },
      'TILTYARD_ADMIN_KEY_FILE and TILTYARD_ADMIN_KEY are the same setting.',
    ],
    [
      { TILTYARD_ADMIN_KEY_FILE: 'options.json' },
      'TILTYARD_ADMIN_KEY_FILE must be 32 to 512 visible ASCII characters without spaces.',
    ],
  ] as const) {
    assert.deepEqual(read(env), { faults: [fault] });
  }
  assert.match(JSON.stringify(read({ TILTYARD_HOST_FILE: '/run/secrets/key' })), /belongs to no setting/);
});

test('says that a file does not exist', () => {
  const missing = Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
  const readFile = (): string => {
    throw missing;
  };
  const loaded = loadConfig({ argv: ['--config', '/etc/x.json'], env: {}, readFile });
  assert.deepEqual('faults' in loaded && loaded.faults, [
    'The config file /etc/x.json cannot be read: it does not exist.',
  ]);
});

test('never shows a secret: neither in the listing nor in a fault', () => {
  const hidden = 'hidden'.repeat(8);
  const listing = formatConfig(
    configOf({
      env: {
        ...NODE,
        TILTYARD_CATALOG_URL: `postgres://${hidden}:${hidden}@${hidden}/${hidden}`,
        TILTYARD_NODE_SECRET: hidden,
        TILTYARD_ADMIN_KEY: hidden,
        TILTYARD_STORAGE_OPTIONS: `{"aws_secret_access_key":"${hidden}"}`,
      },
    }),
  );
  assert.match(listing, /^adminKey +\(set\) +TILTYARD_ADMIN_KEY$/m);
  assert.match(listing, /^catalog\.url +\(set\) +TILTYARD_CATALOG_URL$/m);
  assert.match(listing, /^node\.secret +\(set\) +TILTYARD_NODE_SECRET$/m);
  assert.match(listing, /^storage\.options +aws_secret_access_key=\(set\) +TILTYARD_STORAGE_OPTIONS$/m);
  assert.doesNotMatch(listing, /hidden/);

  const faults = faultsOf({
    argv: [`--admin-kee=${hidden}`, `--storage-options={"a":"${hidden}`],
    env: { TILTYARD_ADMIN_KEY: 'hidden', TILTYARD_ADMIN_KEYS: hidden },
    file: { adminKey: [hidden], storage: { options: { a: [hidden] } } },
  });
  assert.equal(faults.length, 6);
  assert.doesNotMatch(faults.join('\n'), /hidden/);
});

test('lists every setting with its value and where it came from', () => {
  const lines = formatConfig(
    configOf({ argv: ['/tables', '--port', '1'], file: { http: { jsonBytesMax: 2048 } } }),
  ).split('\n');
  assert.equal(lines.length, settingsReference().length + 1);
  const find = (name: string): string[] | undefined =>
    lines.find((line) => line.startsWith(`${name} `))?.split(/ {2,}/);
  assert.deepEqual(find('data'), ['data', '/tables', 'DATA']);
  assert.deepEqual(find('port'), ['port', '1', '--port']);
  assert.deepEqual(find('http.jsonBytesMax'), ['http.jsonBytesMax', '2KiB', '/srv/settings.json: http.jsonBytesMax']);
  assert.deepEqual(find('catalogFile'), ['catalogFile', '/tables/tiltyard.db', 'default']);
  assert.deepEqual(find('storage.root'), ['storage.root', '/tables', 'default']);
});

test('never throws, whatever the words, variables and file are', () => {
  const flags = settingsReference().map((row) => row.flag);
  const word = fc.oneof(fc.constantFrom(...flags), fc.string(), fc.constantFrom('--', '-', '=', '--=', '--port='));
  const names = fc.constantFrom(...settingsReference().map((row) => row.env));
  fc.assert(
    fc.property(fc.array(word), fc.dictionary(names, fc.string()), fc.json(), (argv, env, file) => {
      const loaded = loadConfig({ argv, env, readFile: () => file });
      assert.ok('config' in loaded || loaded.faults.length > 0);
    }),
  );
});

test('the embedding provider is off without an address, and needs the models that texts may be embedded with', () => {
  assert.deepEqual(configOf({}).embeddings, { url: undefined, apiKey: undefined, models: [] });
  const argv = ['--embeddings-url=http://10.0.0.7:11434/v1/', '--embeddings-models=small, large'];
  const config = configOf({ argv, env: { TILTYARD_EMBEDDINGS_API_KEY: 'short' } });
  const models = ['small', 'large'];
  assert.deepEqual(config.embeddings, { url: 'http://10.0.0.7:11434/v1', apiKey: 'short', models });
  assert.match(formatConfig(config), /embeddings\.apiKey +\(set\)/);
  assert.doesNotMatch(formatConfig(config), /short/);
  assert.deepEqual(faultsOf({ argv: ['--embeddings-url=http://10.0.0.7/v1'] }), [
    'embeddings.url needs embeddings.models: name the models that texts may be embedded with.',
  ]);
  assert.deepEqual(faultsOf({ argv: ['--embeddings-models=small'] }), [
    'embeddings.apiKey and embeddings.models need embeddings.url, the address of the API.',
  ]);
  const [fault = ''] = faultsOf({ argv, env: { TILTYARD_EMBEDDINGS_API_KEY: 'two words' } });
  assert.match(fault, /must be 1 to 4096 visible ASCII characters/);
  assert.doesNotMatch(fault, /two words/);
});
