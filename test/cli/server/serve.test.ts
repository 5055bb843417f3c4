import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { uploadSlowly } from '../../support/slow-upload.ts';

const MAIN = fileURLToPath(new URL('../../../bundle/main.js', import.meta.url));

const IS_OTHER = process.platform === 'linux' ? false : 'only Linux has /proc';

let folder: string;
const running = new Set<ChildProcess>();

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-serve-'));
});

after(async () => {
  for (const child of running) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** The command as an operator starts it, and what it has printed so far. */
class Served {
  out = '';
  err = '';
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;

  constructor(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.child = spawn(process.execPath, [MAIN, 'serve', ...argv], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(this.child);
    this.child.stdout?.on('data', (bytes: Buffer) => {
      this.out += bytes.toString();
    });
    this.child.stderr?.on('data', (bytes: Buffer) => {
      this.err += bytes.toString();
    });
    this.ended = once(this.child, 'close').then(([code]) => {
      running.delete(this.child);
      return code as number | null;
    });
  }

  async url(): Promise<string> {
    await eventually(
      async () => this.out.includes('\n  docs') || this.child.exitCode !== null,
      () => `${this.out}${this.err}`,
    );
    return /listens on (\S+)$/m.exec(this.out)?.[1] ?? assert.fail(`${this.out}${this.err}`);
  }

  /** The key that was printed, if one was. */
  get key(): string | undefined {
    return /administrator key: (\S+)$/m.exec(this.out)?.[1];
  }

  /** Process ids of the workers, the last one last, as the log tells them. */
  get workers(): readonly number[] {
    return [...this.err.matchAll(/"event":"worker-started","pid":(\d+)/g)].map(([, pid]) => Number(pid));
  }

  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return this.ended;
  }
}

test('starts with one command, shows a key once, and serves with it until it is stopped', async () => {
  const data = join(folder, 'first');
  const served = new Served([data, '--port', '0']);
  const url = await served.url();
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.ok(served.out.includes(`\n  data   ${data}\n`), served.out);
  assert.ok(served.out.includes(`\n  ui     ${url}/ui/\n  docs   ${url}/docs\n`));
  assert.equal((await fetch(`${url}/docs`)).status, 200);

  const key = served.key ?? assert.fail(served.out);
  const file = join(data, 'admin.key');
  assert.equal(await readFile(file, 'utf8'), `${key}\n`);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(data)).mode & 0o077, 0);
  assert.ok(!served.err.includes(key));

  const client = new Client(url, { key });
  assert.equal((await client.arrow('/v1/table/t/create', sampleStream())).status, 200);
  assert.equal((await new Client(url, { key: undefined }).get('/v1/tables')).status, 401);
  assert.equal(await served.stop(), 0);

  const again = new Served([data, '--port=0']);
  const secondUrl = await again.url();
  assert.equal(again.key, undefined);
  assert.ok(!again.out.includes('ty_'));
  assert.deepEqual((await new Client(secondUrl, { key }).get('/v1/tables')).json.tables, ['t']);
  assert.equal(await again.stop(), 0);
});

test('listening on all addresses, it shows a URL that can be opened, and says so', async () => {
  const served = new Served([join(folder, 'open'), '--port', '0', '--host', '0.0.0.0']);
  const url = await served.url();
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.ok(served.out.includes('\n  hosts  all addresses of this machine (0.0.0.0)\n'), served.out);
  assert.equal((await fetch(`${url}/docs`)).status, 200);
  assert.equal(await served.stop(), 0);
});

for (const refused of ['data', 'root']) {
  test(`does not start where no folder can be created for its ${refused}`, { skip: IS_OTHER }, async () => {
    const data = refused === 'data' ? '/proc/tiltyard' : join(folder, 'refused');
    const served = new Served([data, '--port=0', ...(refused === 'data' ? [] : ['--storage-root=/proc/tiltyard'])]);
    await eventually(async () => served.child.exitCode !== null);
    assert.equal(await served.ended, 2);
    assert.match(served.err, /\/proc\/tiltyard cannot be locked for writing: no folder can be created in \/proc\./);
  });
}

test('uses a configured administrator key, and shows and writes none', async () => {
  const data = join(folder, 'configured');
  const adminKey = 'an-administrator-key-that-is-configured';
  const served = new Served([data, '--port=0', '--base-path=/lance'], { TILTYARD_ADMIN_KEY: adminKey });
  const url = await served.url();
  assert.ok(url.endsWith('/lance'));
  assert.equal(served.key, undefined);
  assert.ok(!`${served.out}${served.err}`.includes(adminKey));
  await assert.rejects(stat(join(data, 'admin.key')), { code: 'ENOENT' });
  assert.equal((await new Client(url, { key: adminKey }).get('/v1/tables')).status, 200);
  assert.equal(await served.stop(), 0);
});

test('serves again after its worker was killed, with all that it had acknowledged', async () => {
  const served = new Served([join(folder, 'killed'), '--port=0']);
  const url = await served.url();
  const client = new Client(url, { key: served.key });
  assert.equal((await client.arrow('/v1/table/kept/create', sampleStream())).status, 200);
  const [worker = 0] = served.workers;
  assert.notEqual(worker, served.child.pid);
  process.kill(worker, 'SIGKILL');
  await eventually(async () => !isAlive(worker));
  assert.deepEqual((await client.get('/v1/tables')).json.tables, ['kept']);
  assert.equal((await client.post('/v1/table/kept/update', { updates: [['price', 'price + 1']] })).status, 200);
  assert.equal(served.workers.length, 2);
  assert.equal(await served.stop(), 0);
});

test('leaves no worker behind when it is killed itself', async () => {
  const served = new Served([join(folder, 'orphan'), '--port=0']);
  await served.url();
  const [worker = 0] = served.workers;
  served.child.kill('SIGKILL');
  await served.ended;
  await eventually(async () => !isAlive(worker));
});

test('finishes a running request after SIGTERM, and then exits with 0', async () => {
  const served = new Served([join(folder, 'drained'), '--port=0']);
  const url = await served.url();
  const upload = uploadSlowly(`${url}/v1/table/last/create`, sampleStream(), served.key);
  await eventually(async () => {
    const metrics = await ShownMetrics.read(url, served.key ?? '');
    return metrics.value('tiltyard_admission_running', { work: 'ingest' }) === 1;
  });
  served.child.kill('SIGTERM');
  await eventually(async () => served.err.includes('"event":"draining"'));
  await assert.rejects(once(connect(Number(new URL(url).port), '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });
  upload.finish();
  assert.equal((await upload.reply).status, 200);
  assert.equal(await served.ended, 0);
});

test('lists every wrong setting and exits with 2, without creating a folder', async () => {
  const data = join(folder, 'never');
  const served = new Served([data, '--port=99999', '--http-uploads-max=none'], { TILTYARD_LOG_FORMAT: 'xml' });
  assert.equal(await served.ended, 2);
  assert.equal(served.out, '');
  const lines = served.err.trimEnd().split('\n');
  assert.equal(lines.length, 3, served.err);
  for (const part of ['--port must', '--http-uploads-max must', 'TILTYARD_LOG_FORMAT must']) {
    assert.equal(lines.filter((line) => line.startsWith('tiltyard: ') && line.includes(part)).length, 1, part);
  }
  await assert.rejects(stat(data), { code: 'ENOENT' });
});

test('exits with 2 when its port is taken', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const served = new Served([join(folder, 'taken'), `--port=${port}`]);
  assert.equal(await served.ended, 2);
  assert.match(served.err, new RegExp(`Port ${port} of 127\\.0\\.0\\.1 is already in use`));
  other.close();
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
