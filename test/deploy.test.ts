import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { settingsReference } from '../src/config/config.ts';
import { loadConfig } from '../src/config/load-config.ts';
import { SHUTDOWN_GRACE_SECONDS } from '../src/model/limits.ts';
import { metricsReference } from '../src/telemetry/metrics/metric-rows.ts';

const run = promisify(execFile);
const can = async (command: string, args: readonly string[]): Promise<boolean> =>
  run(command, args).then(
    () => true,
    () => false,
  );
const hasYaml = await can('python3', ['-c', 'import yaml']);
const hasSystemd = await can('systemd-analyze', ['--version']);

const files = readdirSync('deploy', { recursive: true, encoding: 'utf8' })
  .map((file) => `deploy/${file}`)
  .filter((file) => /\.\w+$|Dockerfile$/.test(file));
const read = (file: string): string => readFileSync(file, 'utf8');
const settings = settingsReference();

/** All documents of a file; templates are made plain before. */
async function parseYaml(text: string): Promise<any[]> {
  const program = 'import sys, json, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))';
  const parsing = run('python3', ['-c', program]);
  parsing.child.stdin?.end(text);
  const { stdout } = await parsing;
  return JSON.parse(stdout) as any[];
}

test('every variable of ours in the files of deploy is one of the settings', () => {
  const known = new Set(settings.map(({ env }) => env));
  for (const file of files) {
    for (const [name] of read(file).matchAll(/TILTYARD_[A-Z0-9_]*[A-Z0-9]/g)) {
      assert.ok(known.has(name), `${file}: ${name}`);
    }
  }
});

test('every dotted name of a setting in the files of deploy is one', () => {
  const known = new Set(settings.map(({ name }) => name));
  const groups = [...new Set(settings.map(({ name }) => name.split('.')[0]))];
  const pattern = new RegExp(`(?<!Values\\.)\\b(?:${groups.join('|')})\\.[a-z]+[A-Z]\\w*`, 'g');
  for (const file of files) {
    for (const [name] of read(file).matchAll(pattern)) assert.ok(known.has(name), `${file}: ${name}`);
  }
});

test('the image is built from files that are there, and starts the program of the package', () => {
  const dockerfile = read('deploy/Dockerfile');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) => names.split(' '));
  const shown = read('deploy/Dockerfile.dockerignore').split('\n');
  for (const name of copied) {
    assert.ok(existsSync(name), name);
    assert.ok(shown.includes(`!${name}`), `${name} is not in the context`);
  }
  const { bin } = JSON.parse(read('package.json')) as { bin: { tiltyard: string } };
  assert.ok(dockerfile.includes(`ENTRYPOINT ["node", "/app/${bin.tiltyard}"]`));
  assert.ok(read('deploy/systemd/tiltyard.service').includes(`/opt/tiltyard/${bin.tiltyard} serve`));
  assert.match(dockerfile, /^USER node$/m);
});

test('the dashboard asks only for metrics that there are', () => {
  const known = new Set(metricsReference().map(({ name }) => name));
  const names = [...read('deploy/grafana/tiltyard.json').matchAll(/tiltyard_\w+/g)].map(([name]) => name);
  assert.ok(names.length > 30);
  for (const name of names) {
    const histogram = name.replace(/_(?:bucket|sum|count)$/, '');
    assert.ok(known.has(name) || known.has(histogram), name);
  }
});

test('the labels by which the dashboard divides a metric are labels of it', () => {
  const rows = new Map(metricsReference().map((row) => [row.name, row.labels]));
  const { panels } = JSON.parse(read('deploy/grafana/tiltyard.json')) as {
    panels: { targets?: { expr: string; legendFormat: string }[] }[];
  };
  for (const { expr } of panels.flatMap(({ targets = [] }) => targets)) {
    for (const [, labels = '', name = ''] of expr.matchAll(/sum by \(([^)]*)\) \((?:\w+\()?(tiltyard_\w+)/g)) {
      const known = ['le', ...(rows.get(name) ?? rows.get(name.replace(/_bucket$/, '')) ?? [])];
      for (const label of labels.split(', ')) assert.ok(known.includes(label), `${name} by ${label}`);
    }
  }
});

test('the settings of the compose file are accepted together', { skip: !hasYaml }, async () => {
  const [compose] = await parseYaml(
    read('deploy/compose/compose.yaml').replaceAll(/\$\{\w+:\?[^}]*\}/g, 'ty_0123456789012345678901234567890123'),
  );
  const { environment } = compose.services.tiltyard as { environment: Record<string, string> };
  const image = [...read('deploy/Dockerfile').matchAll(/(TILTYARD_\w+)=(\S+)/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  const loaded = loadConfig({
    argv: [],
    env: { ...Object.fromEntries(image), ...environment },
    readFile: () => assert.fail('no file is named'),
  });
  assert.deepEqual('faults' in loaded ? loaded.faults : [], []);
  assert.ok('config' in loaded);
  assert.equal(loaded.config.storage.root, 's3://tables');
  assert.equal(loaded.config.auth.issuers.length, 1);
  const used = [...read('deploy/compose/compose.yaml').matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name);
  const given = [...read('deploy/compose/example.env').matchAll(/^(\w+)=/gm)].map(([, name = '']) => name);
  assert.deepEqual([...new Set(used)].toSorted(), given.toSorted());
});

test('the audience and the claim of the realm are those that the compose file grants by', () => {
  const realm = read('deploy/compose/realm.json');
  const compose = read('deploy/compose/compose.yaml');
  const { realm: name } = JSON.parse(realm) as { realm: string };
  assert.ok(compose.includes(`"issuer": "http://127.0.0.1:8080/realms/${name}"`));
  assert.match(realm, /"included\.custom\.audience": "tiltyard"/);
  assert.match(compose, /"audience": "tiltyard"/);
  assert.match(realm, /"claim\.name": "tiltyard_role"/);
  assert.match(compose, /"claim": "tiltyard_role", "value": "writer"/);
});

test('the chart is YAML, and its probes and ports are the service’s', { skip: !hasYaml }, async () => {
  const [values] = await parseYaml(read('deploy/helm/tiltyard/values.yaml'));
  const [chart] = await parseYaml(read('deploy/helm/tiltyard/Chart.yaml'));
  const { version } = JSON.parse(read('package.json')) as { version: string };
  assert.equal(chart.appVersion, version);
  const folder = 'deploy/helm/tiltyard/templates';
  const templates = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  for (const file of templates) {
    const text = read(`${folder}/${file}`);
    for (const [, path = ''] of text.matchAll(/\.Values((?:\.\w+)+)/g)) requirePath(values, path, file);
    const [document] = await parseYaml(toPlainYaml(text));
    assert.equal(typeof document.kind, 'string', file);
  }
  const statefulSet = read(`${folder}/statefulset.yaml`);
  assert.match(statefulSet, /replicas: 1\n/);
  assert.deepEqual(
    [...statefulSet.matchAll(/path: (\/\w+)/g)].map(([, path]) => path),
    ['/readyz', '/readyz', '/healthz'],
  );
  assert.match(
    statefulSet,
    new RegExp(`containerPort: ${settings.find(({ name }) => name === 'port')?.default ?? ''}`),
  );
});

/** Control lines go, and what an expression would give becomes a word. */
function toPlainYaml(template: string): string {
  return template
    .split('\n')
    .filter((line) => !/^\s*\{\{-? (?:if|else|end|range|with|include|toYaml|\$)/.test(line))
    .map((line) => line.replaceAll(/\{\{.*?\}\}/g, 'word'))
    .join('\n');
}

function requirePath(values: unknown, path: string, file: string): void {
  let value: any = values;
  for (const name of path.slice(1).split('.')) {
    assert.ok(typeof value === 'object' && value !== null && name in value, `${file}: .Values${path} has no default`);
    value = value[name];
  }
}

test('systemd finds no fault with the unit', { skip: !hasSystemd }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-unit-'));
  try {
    const unit = join(folder, 'tiltyard.service');
    await writeFile(unit, read('deploy/systemd/tiltyard.service').replace('/usr/bin/node', process.execPath));
    const { stdout, stderr } = await run('systemd-analyze', ['verify', unit]);
    assert.deepEqual([stdout, stderr], ['', '']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('what stops the service waits longer than its shutdown takes', () => {
  const drain = Number(settings.find(({ name }) => name === 'http.drainSeconds')?.default);
  const waits = {
    'deploy/systemd/tiltyard.service': /TimeoutStopSec=(\d+)/,
    'deploy/compose/compose.yaml': /stop_grace_period: (\d+)s/,
    'deploy/helm/tiltyard/templates/statefulset.yaml': /terminationGracePeriodSeconds: (\d+)/,
  };
  for (const [file, pattern] of Object.entries(waits)) {
    assert.ok(Number(pattern.exec(read(file))?.[1]) > drain + SHUTDOWN_GRACE_SECONDS, file);
  }
});
