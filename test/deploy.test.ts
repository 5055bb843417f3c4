import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { settingsReference } from '../src/config/config.ts';
import { loadConfig } from '../src/config/load-config.ts';
import { SHUTDOWN_GRACE_SECONDS } from '../src/model/limits.ts';
import { metricsReference } from '../src/telemetry/metrics/metric-rows.ts';
import { makeFolder } from './support/temporary-folder.ts';

const run = promisify(execFile);
const can = async (command: string, args: readonly string[]): Promise<boolean> =>
  run(command, args).then(
    () => true,
    () => false,
  );
const hasYaml = await can('python3', ['-c', 'import yaml']);
const hasSystemd = await can('systemd-analyze', ['--version']);
const hasHelm = await can('helm', ['version']);

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
  assert.ok(
    read('deploy/systemd/tiltyard.service').includes(`/opt/tiltyard/node_modules/tiltyard/${bin.tiltyard} serve`),
  );
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

type Environment = Readonly<Record<string, string>>;

const SECRET = 'ty_0123456789012345678901234567890123';

/** The services of a compose file, with a secret in place of every variable; its example must name the same ones. */
async function readCompose(folder: string): Promise<Readonly<Record<string, any>>> {
  const text = read(`${folder}/compose.yaml`);
  const used = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name);
  const given = [...read(`${folder}/example.env`).matchAll(/^(\w+)=/gm)].map(([, name = '']) => name);
  assert.deepEqual([...new Set(used)].toSorted(), given.toSorted());
  const [compose] = await parseYaml(text.replaceAll(/\$\{\w+:\?[^}]*\}/g, SECRET));
  return compose.services;
}

/** As the server of the image reads it. */
function requireConfig(environment: Environment) {
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
  return loaded.config;
}

test('the alerts watch only metrics and labels that there are', { skip: !hasYaml }, async () => {
  const [{ groups }] = await parseYaml(read('deploy/prometheus/alerts.yaml'));
  const rules = (groups as { rules: Record<string, any>[] }[]).flatMap((group) => group.rules);
  const rows = new Map(metricsReference().map((row) => [row.name, row.labels]));
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  for (const { alert, expr, labels, annotations } of rules) {
    assert.ok(['page', 'ticket'].includes(labels.severity), alert);
    assert.ok(annotations.summary !== '' && annotations.description !== '', alert);
    for (const [, name = '', matchers = ''] of (expr as string).matchAll(/(tiltyard_\w+)(?:\{([^}]*)\})?/g)) {
      const known = rows.get(name);
      assert.ok(known, `${alert}: ${name}`);
      for (const [, label = ''] of matchers.matchAll(/(\w+)[=!]/g))
        assert.ok(known.includes(label), `${alert}: ${label}`);
    }
    const target = ['job', 'instance'];
    for (const [, grouped = '', name = ''] of (expr as string).matchAll(/by \(([^)]*)\) \((?:\w+\()?(tiltyard_\w+)/g)) {
      for (const label of grouped.split(', ')) assert.ok([...target, ...(rows.get(name) ?? [])].includes(label), alert);
    }
  }
});

test('every alert on several nodes has a panel of the dashboard that shows its metric', () => {
  const watched = [...read('deploy/prometheus/alerts.yaml').matchAll(/tiltyard_(?:heartbeat|nodes|lease|forward)\w*/g)];
  assert.ok(watched.length >= 5);
  const dashboard = read('deploy/grafana/tiltyard.json');
  for (const [name] of watched) assert.ok(dashboard.includes(`${name}{`), name);
});

test('the settings of the compose file are accepted together', { skip: !hasYaml }, async () => {
  const services = await readCompose('deploy/compose');
  const { storage, auth, catalog } = requireConfig(services['tiltyard'].environment);
  assert.equal(storage.root, 's3://tables');
  assert.equal(auth.issuers.length, 1);
  assert.equal(catalog.url, undefined);
});

test(
  'the compose file of several nodes gives each its own address, and all else in common',
  {
    skip: !hasYaml,
  },
  async () => {
    const services = await readCompose('deploy/compose/nodes');
    const names = Object.keys(services).filter((name) => name.startsWith('node'));
    assert.deepEqual(names, ['node1', 'node2', 'node3']);
    const shared = names.map((name) => {
      const { TILTYARD_NODE_URL: url, ...others } = services[name].environment as Environment;
      assert.equal(url, `http://${name}:2333`);
      const { node, catalog, storage } = requireConfig(services[name].environment);
      assert.equal(node.url, url);
      assert.equal(node.secret, SECRET);
      assert.match(catalog.url ?? '', /@postgres:5432\//);
      assert.equal(storage.root, 's3://tables');
      return others;
    });
    for (const others of shared) assert.deepEqual(others, shared[0]);
    const balancer = read('deploy/compose/nodes/haproxy.cfg');
    for (const name of names) assert.ok(balancer.includes(`server ${name} ${name}:2333`));
    assert.match(balancer, /GET \/readyz/);
  },
);

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

const CHART = 'deploy/helm/tiltyard';
const POD = `${CHART}/templates/_pod.tpl`;

test('the chart is YAML, and its probes and ports are the service’s', { skip: !hasYaml }, async () => {
  const [values] = await parseYaml(read(`${CHART}/values.yaml`));
  const [chart] = await parseYaml(read(`${CHART}/Chart.yaml`));
  const { version } = JSON.parse(read('package.json')) as { version: string };
  assert.equal(chart.appVersion, version);
  const templates = readdirSync(`${CHART}/templates`).filter((file) => file.endsWith('.yaml'));
  for (const file of [...templates, '_pod.tpl']) {
    const text = read(`${CHART}/templates/${file}`);
    for (const [, path = ''] of text.matchAll(/\.Values((?:\.\w+)+)/g)) requirePath(values, path, file);
    const [document] = await parseYaml(toPlainYaml(text));
    if (file.endsWith('.yaml')) assert.equal(typeof document.kind, 'string', file);
  }
  assert.equal(values.cluster.enabled, false);
  assert.match(read(`${CHART}/templates/statefulset.yaml`), /replicas: 1\n/);
  const pod = read(POD);
  assert.deepEqual(
    [...pod.matchAll(/path: (\/\w+)/g)].map(([, path]) => path),
    ['/readyz', '/readyz', '/healthz'],
  );
  assert.match(pod, new RegExp(`containerPort: ${settings.find(({ name }) => name === 'port')?.default ?? ''}`));
});

test(
  'the example of three nodes asks for secrets that its backends have, and the server accepts what they hold',
  {
    skip: !hasYaml,
  },
  async () => {
    const [values] = await parseYaml(read('deploy/helm/examples/three-nodes.yaml'));
    const documents = await parseYaml(read('deploy/helm/examples/backends.yaml'));
    const secrets = new Map<string, Environment>(
      documents.filter(({ kind }) => kind === 'Secret').map(({ metadata, stringData }) => [metadata.name, stringData]),
    );
    const { enabled, replicas, existingSecret, storageRoot } = values.cluster;
    assert.deepEqual([enabled, replicas], [true, 3]);
    const nodes = secrets.get(existingSecret) ?? {};
    const [options] = values.extraEnv as { name: string; valueFrom: { secretKeyRef: { name: string; key: string } } }[];
    assert.equal(options?.name, 'TILTYARD_STORAGE_OPTIONS');
    const { name, key } = options.valueFrom.secretKeyRef;
    const config = requireConfig({
      TILTYARD_NODE_URL: 'http://10.0.0.7:2333',
      TILTYARD_NODE_SECRET: nodes['node-secret'] ?? '',
      TILTYARD_CATALOG_URL: nodes['catalog-url'] ?? '',
      TILTYARD_STORAGE_ROOT: storageRoot,
      TILTYARD_STORAGE_OPTIONS: secrets.get(name)?.[key] ?? '',
    });
    assert.equal(config.storage.root, 's3://tables');
    for (const { secretKeyRef } of findAll(documents, 'valueFrom')) {
      assert.ok(secretKeyRef.key in (secrets.get(secretKeyRef.name) ?? {}), JSON.stringify(secretKeyRef));
    }
  },
);

/** The values of a key, at any depth. */
function findAll(value: unknown, key: string): any[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => (name === key ? [each] : findAll(each, key)));
}

test(
  'helm renders one node by default, and several equal ones when asked',
  {
    skip: hasHelm && hasYaml ? false : 'helm is not installed',
  },
  async (t) => {
    const render = async (...flags: readonly string[]): Promise<Map<string, any>> => {
      const { stdout } = await run('helm', ['template', 'tiltyard', CHART, ...flags]);
      return new Map((await parseYaml(stdout)).map((document) => [document.kind, document]));
    };
    const one = await render();
    assert.deepEqual([...one.keys()].toSorted(), ['Secret', 'Service', 'StatefulSet']);
    assert.equal(one.get('StatefulSet').spec.replicas, 1);

    const several = await render('-f', 'deploy/helm/examples/three-nodes.yaml');
    assert.deepEqual([...several.keys()].toSorted(), ['Deployment', 'PodDisruptionBudget', 'Secret', 'Service']);
    const { replicas, template } = several.get('Deployment').spec;
    assert.equal(replicas, 3);
    const [container] = template.spec.containers;
    const variables = container.env.map(({ name }: { name: string }) => name);
    for (const name of ['CATALOG_URL', 'NODE_URL', 'NODE_SECRET', 'ADMIN_KEY', 'STORAGE_ROOT', 'STORAGE_OPTIONS']) {
      assert.equal(variables.filter((each: string) => each === `TILTYARD_${name}`).length, 1, name);
    }
    // A variable can refer only to those before it.
    assert.ok(variables.indexOf('POD_IP') < variables.indexOf('TILTYARD_NODE_URL'));
    assert.ok('emptyDir' in template.spec.volumes.find(({ name }: { name: string }) => name === 'data'));

    const values = join(await makeFolder(t), 'values.yaml');
    await writeFile(
      values,
      'settings: { TILTYARD_JOURNAL_KEYS_MAX: 1000000, TILTYARD_AUTH_REQUIRED: false, A: "1e3" }',
    );
    const set = (await render('-f', values)).get('StatefulSet').spec.template.spec.containers[0].env;
    for (const [name, value] of [
      ['TILTYARD_JOURNAL_KEYS_MAX', '1000000'],
      ['TILTYARD_AUTH_REQUIRED', 'false'],
      ['A', '1e3'],
    ]) {
      assert.equal(set.find((each: { name: string }) => each.name === name).value, value);
    }

    await assert.rejects(render('--set', 'cluster.enabled=true'), /needs cluster\.existingSecret/);
    await assert.rejects(
      render('--set', 'cluster.enabled=true,cluster.existingSecret=s,cluster.storageRoot=/data'),
      /needs cluster\.storageRoot/,
    );
  },
);

/** Control lines go, and what an expression would give becomes a word. */
function toPlainYaml(template: string): string {
  return template
    .split('\n')
    .filter((line) => !/^\s*\{\{-? (?:if|else|end|range|with|include|toYaml|define|fail|\$)|^\{\{\/\*/.test(line))
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

test('systemd finds no fault with the unit', { skip: !hasSystemd }, async (t) => {
  const unit = join(await makeFolder(t), 'tiltyard.service');
  await writeFile(unit, read('deploy/systemd/tiltyard.service').replace('/usr/bin/node', process.execPath));
  const { stdout, stderr } = await run('systemd-analyze', ['verify', unit]);
  assert.deepEqual([stdout, stderr], ['', '']);
});

test('what stops the service waits longer than its shutdown takes', () => {
  const drain = Number(settings.find(({ name }) => name === 'http.drainSeconds')?.default);
  const waits = {
    'deploy/systemd/tiltyard.service': /TimeoutStopSec=(\d+)/,
    'deploy/compose/compose.yaml': /stop_grace_period: (\d+)s/,
    'deploy/compose/nodes/compose.yaml': /stop_grace_period: (\d+)s/,
    [POD]: /terminationGracePeriodSeconds: (\d+)/,
  };
  const preStop = Number(/command: \[sleep, '(\d+)'\]/.exec(read(POD))?.[1]);
  for (const [file, pattern] of Object.entries(waits)) {
    const before = file === POD ? preStop : 0;
    assert.ok(Number(pattern.exec(read(file))?.[1]) > before + drain + SHUTDOWN_GRACE_SECONDS, file);
  }
});
