import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

/** Which modules a module may import, and which only as types. ARCHITECTURE.md has the same table. */
const MODULES: Readonly<Record<string, { readonly values: readonly string[]; readonly types?: readonly string[] }>> = {
  errors: { values: [] },
  model: { values: ['errors'] },
  config: { values: ['model', 'errors'] },
  telemetry: { values: ['model', 'errors'] },
  wire: { values: ['model', 'errors'] },
  arrow: { values: ['model', 'errors'] },
  guard: { values: ['model', 'errors'] },
  plans: { values: ['model', 'errors'], types: ['wire'] },
  formats: { values: ['model', 'errors'] },
  storage: { values: ['model', 'errors'] },
  engine: { values: ['model', 'errors', 'arrow', 'guard'], types: ['storage'] },
  catalog: { values: ['model', 'errors'] },
  coordination: { values: ['model', 'errors'], types: ['catalog', 'telemetry'] },
  writes: {
    values: ['model', 'errors', 'arrow'],
    types: ['engine', 'storage', 'catalog', 'coordination', 'telemetry'],
  },
  auth: { values: ['model', 'errors'] },
  jobs: { values: ['model', 'errors'], types: ['catalog', 'telemetry'] },
  tuning: { values: ['model', 'errors'], types: ['engine', 'catalog', 'telemetry'] },
  maintenance: { values: ['model', 'errors'], types: ['engine', 'catalog', 'writes', 'jobs', 'telemetry', 'tuning'] },
  'result-cache': { values: ['model'] },
  'slow-queries': { values: ['model', 'errors'], types: ['engine', 'telemetry'] },
  derived: {
    values: ['model', 'errors', 'guard', 'arrow'],
    types: ['engine', 'catalog', 'writes', 'jobs', 'quotas', 'telemetry'],
  },
  quotas: { values: ['model', 'errors'], types: ['engine', 'catalog', 'writes', 'telemetry'] },
  events: { values: ['model', 'errors'], types: ['catalog', 'telemetry'] },
  embeddings: { values: ['model', 'errors'], types: ['telemetry'] },
  operations: {
    values: ['model', 'errors', 'wire', 'arrow', 'guard'],
    types: [
      'engine',
      'storage',
      'catalog',
      'writes',
      'auth',
      'derived',
      'embeddings',
      'events',
      'jobs',
      'maintenance',
      'quotas',
      'result-cache',
      'slow-queries',
      'telemetry',
      'tuning',
    ],
  },
  invoke: {
    values: ['model', 'errors', 'operations'],
    types: ['catalog', 'coordination'],
  },
  mcp: { values: ['model', 'errors', 'wire', 'formats', 'client', 'operations'] },
  http: {
    values: ['model', 'errors', 'wire', 'arrow', 'operations', 'invoke', 'telemetry', 'client', 'mcp'],
    types: ['auth', 'catalog', 'coordination'],
  },
  client: { values: ['model', 'errors'], types: ['wire'] },
  snippets: { values: ['model', 'errors', 'client'], types: ['wire'] },
  vectors: { values: [] },
  process: { values: ['model', 'errors', 'config', 'telemetry', 'app'] },
  cli: {
    values: ['model', 'errors', 'config', 'telemetry', 'formats', 'plans', 'process', 'app', 'auth', 'client'],
    types: ['catalog', 'wire'],
  },
  app: {
    values: [
      'model',
      'errors',
      'config',
      'telemetry',
      'wire',
      'arrow',
      'guard',
      'plans',
      'formats',
      'storage',
      'engine',
      'catalog',
      'coordination',
      'writes',
      'auth',
      'derived',
      'embeddings',
      'events',
      'jobs',
      'maintenance',
      'quotas',
      'result-cache',
      'slow-queries',
      'tuning',
      'operations',
      'invoke',
      'mcp',
      'http',
      'client',
      'process',
      'cli',
    ],
  },
};

/** The modules that may import a package. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@lancedb/lancedb': ['engine'],
  '@modelcontextprotocol/server': ['mcp'],
  'apache-arrow': ['formats'],
  'parquet-wasm': ['formats'],
  kysely: ['catalog'],
  libsql: ['catalog', 'coordination'],
  pg: ['catalog'],
  'lru-cache': [
    'coordination',
    'auth',
    'catalog',
    'embeddings',
    'engine',
    'http',
    'maintenance',
    'result-cache',
    'tuning',
    'writes',
  ],
  'p-limit': ['catalog', 'engine', 'operations', 'storage'],
  jose: ['auth'],
  'oidc-provider': ['auth'],
  fastify: ['http'],

  'prom-client': ['telemetry'],
  '@opentelemetry/api': ['telemetry'],
  '@opentelemetry/exporter-logs-otlp-http': ['telemetry'],
  '@opentelemetry/exporter-trace-otlp-http': ['telemetry'],
  '@opentelemetry/resources': ['telemetry'],
  '@opentelemetry/sdk-logs': ['telemetry'],
  '@opentelemetry/sdk-trace': ['telemetry'],
  'lossless-json': ['client', 'formats'],
  'string-width': ['cli'],
  typebox: ['wire', 'operations', 'invoke', 'http'],
};

const FILES_PER_FOLDER_MAX = 12;

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
}

const sources = listSources('src');
const imports = sources.flatMap(readImports);

test('a module imports only the modules below it', () => {
  const wrong = imports.filter(({ to }) => to.endsWith('.ts')).filter((each) => !isAllowed(each));
  assert.deepEqual(wrong, []);
});

test('there are no import cycles, not even for types', () => {
  const files = ['src', 'console/src', 'clients', 'bench', 'trust', 'test'].flatMap(listSources);
  const targets = new Map(files.map((file) => [file, readImports(file).map(({ to }) => to)]));
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    assert.ok(!trail.includes(file), `cycle: ${[...trail, file].join(' → ')}`);
    if (done.has(file)) return;
    for (const next of targets.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
});

test('a package is imported by its owner modules only', () => {
  const packages = imports.filter(({ to }) => !to.endsWith('.ts') && !to.startsWith('node:'));
  for (const { from, to } of packages) {
    assert.ok(!builtinModules.includes(to), `${from}: write node:${to}`);
    const name = to
      .split('/')
      .slice(0, to.startsWith('@') ? 2 : 1)
      .join('/');
    assert.ok(OWNERS[name]?.includes(moduleOf(from)), `${from} imports ${to}`);
  }
});

test('code for browsers does not import Node modules', () => {
  const wrong = imports.filter(
    ({ from, to }) => ['client', 'formats', 'snippets', 'vectors'].includes(moduleOf(from)) && to.startsWith('node:'),
  );
  assert.deepEqual(wrong, []);
});

test(`a folder has at most ${FILES_PER_FOLDER_MAX} files`, () => {
  const files = [...sources, ...listSources('console/src'), ...listSources('clients')];
  const crowded = [...new Set(files.map((file) => dirname(file)))]
    .map((folder) => ({ folder, count: files.filter((file) => dirname(file) === folder).length }))
    .filter(({ count }) => count > FILES_PER_FOLDER_MAX);
  assert.deepEqual(crowded, []);
});

function isAllowed({ from, to, isType }: Import): boolean {
  const [module, target] = [moduleOf(from), moduleOf(to)];
  const rule = MODULES[module];
  if (module === target) return true;
  return rule !== undefined && (rule.values.includes(target) || (isType && rule.types?.includes(target) === true));
}

/** Files directly in `src` assemble the parts, and count as the module `app`. */
function moduleOf(file: string): string {
  const [, module = '', ...rest] = file.split('/');
  return rest.length === 0 ? 'app' : module;
}

function listSources(root: string): readonly string[] {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
  return files.filter((file) => /\.tsx?$/.test(file)).map((file) => join(root, file));
}

/** Includes re-exports and dynamic imports. */
function readImports(from: string): readonly Import[] {
  const text = readFileSync(from, 'utf8');
  const found = [
    ...text.matchAll(/^(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'/gm),
    ...text.matchAll(/\b(typeof\s+)?import\(\s*'([^']+)'/g),
    ...text.matchAll(/^import()\s+'([^']+)'/gm),
  ];
  return found.map(([, type, specifier = '']) => ({
    from,
    to: specifier.startsWith('.') ? normalize(join(dirname(from), specifier)) : specifier,
    isType: type !== undefined && type !== '',
  }));
}
