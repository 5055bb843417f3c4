import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { COMMAND_GROUPS } from '../../src/cli/commands.ts';
import { readEngineRelease } from '../../src/engine/native/engine-release.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client } from '../support/client.ts';
import { runCli, runCliOn } from '../support/run-cli.ts';
import type { Outcome } from '../support/run-cli.ts';
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
  // Nothing is offered where a file belongs, so that the shell completes its name.
  assert.deepEqual(complete('import', ''), ['']);
});

test('completes commands and options in zsh and fish', async (t) => {
  const installed = ['zsh', 'fish'].filter((shell) => spawnSync(shell, ['--version']).status === 0);
  if (installed.length === 0) return t.skip('neither zsh nor fish is installed');
  const home = await mkdtemp(join(folder, 'home-'));
  await writeFile(join(home, 'orders.csv'), '');
  const env = { ...process.env, HOME: home };
  for (const shell of installed) {
    const { out } = await run(['completion', shell]);
    const complete = (...words: readonly string[]): readonly string[] => {
      const script = shell === 'zsh' ? zshScript(out, words) : `${out}\ncomplete -C 'tiltyard ${words.join(' ')}'`;
      const found = execFileSync(shell, [shell === 'zsh' ? '-f' : '--no-config', '-c', script], {
        encoding: 'utf8',
        cwd: home,
        env,
      });
      return found.trim().split(/\s+/);
    };
    assert.ok(complete('desc').includes('describe'), shell);
    assert.ok(complete('tag', 'cr').includes('create'), shell);
    assert.ok(complete('query', 'orders', '--vec').includes('--vector-column'), shell);
    assert.ok(!complete('query', '').includes('--vector-column'), shell);
    assert.deepEqual(complete('import', 'ord'), ['orders.csv'], shell);
  }
});

/** As in a startup file without more; what the completion system would show is printed. */
function zshScript(script: string, words: readonly string[]): string {
  const print = 'compadd() { shift; (( $# )) && print -l -- $@ }; _files() { print -l -- *.csv }';
  return `${script}\n${print}\nwords=(tiltyard ${words.map((word) => `'${word}'`).join(' ')}); CURRENT=$#words; _tiltyard`;
}

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
    [['frobnicate'], 'tiltyard: The command "frobnicate" does not exist. Run "tiltyard help" to list all commands.\n'],
    [
      ['qury', 'x'],
      'tiltyard: The command "qury" does not exist. Did you mean query? Run "tiltyard help" to list all commands.\n',
    ],
    [
      ['help', 'qury'],
      'tiltyard: The command "qury" does not exist. Did you mean query? Run "tiltyard help" to list all commands.\n',
    ],
  ] as const) {
    assert.deepEqual(await run([...argv]), { code: 2, out: '', err: told });
  }
  const nothing = await run([]);
  assert.equal(nothing.code, 2);
  assert.ok(nothing.err.startsWith('Tiltyard '));
  assert.ok(nothing.err.includes('tiltyard serve'));
});

test("an option that goes by another name elsewhere is refused with this program's name for it", async () => {
  for (const [argv, meant] of [
    [['query', 't', '--filter', 'id > 1'], '--where'],
    [['delete', 't', '--predicate', 'id > 1'], '--where'],
    [['query', 't', '--columns', 'id'], '--select'],
    [['query', 't', '--sort', 'id'], '--order-by'],
    [['query', 't', '--version', '3'], '--at'],
  ] as const) {
    const err = `tiltyard: This command has no option ${argv[2]}. Did you mean ${meant}?\n`;
    assert.deepEqual(await run([...argv]), { code: 2, out: '', err });
  }
  assert.match((await run(['tables', '--filter', 'x'])).err, /no option --filter\. Its options are /);
});

test('the first word of a family shows its commands', async () => {
  for (const [argv, fault] of [
    [['key'], '"key" needs one more word:'],
    [['key', '--json'], '"key" needs one more word:'],
    [['key', 'delete'], 'There is no command "key delete":'],
  ] as const) {
    const { code, out, err } = await run([...argv]);
    assert.equal(code, 2);
    assert.equal(out, '');
    assert.ok(err.startsWith(`tiltyard: ${fault}\n\n  tiltyard key create `), err);
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
  assert.deepEqual(missing, { code: 5, out: '', err: 'tiltyard: /nowhere/people.csv does not exist.\n' });
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
  assert.match(missing.err, /cannot be read: it does not exist/);
});

test('completes the names of tables, columns, namespaces, indexes and databases', async (t) => {
  const server = await startServer();
  t.after(async () => server.close());
  const client = new Client(server.url);
  await client.post('/v1/namespace/eu/create', {});
  await client.arrow('/v1/table/eu$orders/create', sampleStream(2));
  await client.arrow('/v1/table/people/create', sampleStream(2));
  await client.arrow('/v1/table/two%20words/create', sampleStream(2));
  const names = async (...words: readonly string[]): Promise<readonly string[]> => {
    const { code, out, err } = await runCliOn(server.url, ['completion', 'names', '--', ...words]);
    assert.deepEqual([code, err], [0, '']);
    return out.split('\n').slice(0, -1);
  };
  assert.deepEqual(await names('query'), ['eu/orders', 'people']);
  assert.deepEqual(await names('rename', 'people'), []);
  assert.deepEqual(await names('tables'), ['eu']);
  const columns = await names('query', 'people', '--select');
  assert.ok(columns.includes('id') && columns.includes('point.x'), columns.join());
  assert.deepEqual(await names('column', 'drop', 'people', 'id'), columns);
  assert.deepEqual(await names('update', 'people', '--all', '--set'), columns);
  assert.deepEqual(await names('query', '--database'), ['default']);
  assert.deepEqual(await names('index', 'stats', 'people'), []);
  for (const words of [
    ['frobnicate'],
    ['key'],
    ['query', '--wrong'],
    ['query', 'nothing', '--select'],
    ['query', '--help'],
  ]) {
    assert.deepEqual(await names(...words), [], words.join(' '));
  }
});

test('completion is silent when no server answers', async () => {
  const env = { TILTYARD_URL: 'http://127.0.0.1:9' };
  assert.deepEqual(await run(['completion', 'names', '--', 'query'], env), { code: 0, out: '', err: '' });
});
