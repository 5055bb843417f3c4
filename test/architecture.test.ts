import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

/** Which rooms a room may import, and which only as types. The same table stands in ARCHITECTURE.md. */
const ROOMS: Readonly<Record<string, { readonly values: readonly string[]; readonly types?: readonly string[] }>> = {
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
  jobs: { values: ['model', 'errors'], types: ['telemetry'] },
  maintenance: { values: ['model', 'errors'], types: ['engine', 'catalog', 'writes', 'jobs', 'telemetry'] },
  'slow-queries': { values: ['model', 'errors'], types: ['engine', 'telemetry'] },
  operations: {
    values: ['model', 'errors', 'wire', 'arrow', 'guard'],
    types: ['engine', 'catalog', 'writes', 'auth', 'jobs', 'maintenance', 'slow-queries', 'telemetry'],
  },
  invoke: {
    values: ['model', 'errors', 'operations'],
    types: ['catalog', 'coordination'],
  },
  http: {
    values: ['model', 'errors', 'wire', 'arrow', 'operations', 'invoke', 'telemetry'],
    types: ['auth', 'catalog', 'coordination'],
  },
  client: { values: ['model', 'errors'], types: ['wire'] },
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
      'jobs',
      'maintenance',
      'slow-queries',
      'operations',
      'invoke',
      'http',
      'client',
      'process',
      'cli',
    ],
  },
};

/** Outside packages have an owner room each, a few of them more. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@lancedb/lancedb': ['engine'],
  'apache-arrow': ['formats'],
  hyparquet: ['formats'],
  'hyparquet-compressors': ['formats'],
  'hyparquet-writer': ['formats'],
  kysely: ['catalog'],
  libsql: ['catalog', 'coordination'],
  'lru-cache': ['auth', 'catalog', 'engine', 'http', 'maintenance'],
  'p-limit': ['catalog', 'engine', 'operations'],
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

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
}

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const imports = sources.flatMap(readImports);

test('a room imports only the rooms below it', () => {
  const wrong = imports.filter(({ to }) => to.endsWith('.ts')).filter((each) => !isAllowed(each));
  assert.deepEqual(wrong, []);
});

test('no files import each other in a ring, not even for types', () => {
  const targets = new Map(
    sources.map((file) => [file, imports.filter((each) => each.from === file).map((each) => each.to)]),
  );
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    assert.ok(!trail.includes(file), `ring: ${[...trail, file].join(' → ')}`);
    if (done.has(file)) return;
    for (const next of targets.get(file) ?? []) if (next.endsWith('.ts')) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of sources) visit(file, []);
});

test('an outside package is imported by its owner room alone', () => {
  const outside = imports.filter(({ to }) => !to.endsWith('.ts') && !to.startsWith('node:'));
  for (const { from, to } of outside) {
    assert.ok(!builtinModules.includes(to), `${from}: write node:${to}`);
    const name = to
      .split('/')
      .slice(0, to.startsWith('@') ? 2 : 1)
      .join('/');
    assert.ok(OWNERS[name]?.includes(roomOf(from)), `${from} imports ${to}`);
  }
});

test('what runs in a browser imports nothing of Node', () => {
  const wrong = imports.filter(
    ({ from, to }) => ['client', 'formats'].includes(roomOf(from)) && to.startsWith('node:'),
  );
  assert.deepEqual(wrong, []);
});

function isAllowed({ from, to, isType }: Import): boolean {
  const [room, target] = [roomOf(from), roomOf(to)];
  const rule = ROOMS[room];
  if (room === target) return true;
  return rule !== undefined && (rule.values.includes(target) || (isType && rule.types?.includes(target) === true));
}

/** Files that stand in no folder join the parts, and count as the room `app`. */
function roomOf(file: string): string {
  const [room = '', ...rest] = file.split('/');
  return rest.length === 0 ? 'app' : room;
}

function readImports(from: string): readonly Import[] {
  const text = readFileSync(join('src', from), 'utf8');
  return [...text.matchAll(/^(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'/gm)].map(
    ([, type, specifier = '']) => ({
      from,
      to: specifier.startsWith('.') ? normalize(join(dirname(from), specifier)) : specifier,
      isType: type !== undefined,
    }),
  );
}
