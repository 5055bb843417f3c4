import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { restartDelayMilliseconds } from '../../src/process/supervisor.ts';

const SUPERVISOR = fileURLToPath(new URL('test-supervisor.js', import.meta.url));

interface Running {
  readonly data: string;
  /** The first line of stdout; rejects when the process ends without one. */
  readonly listening: Promise<{ readonly port: number; readonly ready: unknown }>;
  readonly exited: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
  log(): string;
}

interface Setup {
  readonly argv?: readonly string[];
  /** Names of empty files in the data folder: the test worker misbehaves by them. */
  readonly files?: readonly string[];
}

async function run(context: TestContext, { argv = ['--port', '0'], files = [] }: Setup = {}): Promise<Running> {
  const data = await mkdtemp(join(tmpdir(), 'tiltyard-process-'));
  for (const file of files) await writeFile(join(data, file), '');
  const child = spawn(process.execPath, [SUPERVISOR, data, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  context.after(async () => {
    child.kill('SIGKILL');
    child.stdout.destroy();
    child.stderr.destroy();
    await exited;
    await rm(data, { recursive: true, force: true });
  });
  let log = '';
  child.stderr.on('data', (part: Buffer) => {
    log += part.toString();
  });
  const lines = createInterface(child.stdout);
  const listening = once(lines, 'line').then(([line]: string[]) => JSON.parse(line ?? ''));
  return { data, listening, exited, signal: (signal) => void child.kill(signal), log: () => log };
}

interface Reply {
  readonly status: number | undefined;
  readonly frozen: unknown;
  readonly body: string;
}

/** One request on a connection of its own. */
async function ask(port: number, path: string): Promise<Reply> {
  const request = get({ host: '127.0.0.1', port, path, agent: false });
  const [response] = await once(request, 'response');
  return { status: response.statusCode, frozen: response.headers['x-frozen'], body: await text(response) };
}

async function askLater(milliseconds: number, port: number): Promise<Reply> {
  await sleep(milliseconds);
  return ask(port, '/pid');
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(20);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('reports the address and the message of the first worker that is ready', { timeout: 120_000 }, async (context) => {
  const running = await run(context);
  const { port, ready } = await running.listening;
  assert.ok(port > 0);
  const engine = { version: '1.2.3', isFallback: false };
  assert.deepEqual(ready, { adminKey: 'made', adopted: 1, swept: 2, databases: 3, engine });
  assert.equal((await ask(port, '/frozen')).frozen, 'true');
  assert.match(running.log(), /"event":"listening"/);
  assert.match(running.log(), /"event":"worker-started",.*"engine":"1\.2\.3"/);
  assert.doesNotMatch(running.log(), /made/);
});

test('answers every new connection while the worker is killed six times', { timeout: 120_000 }, async (context) => {
  const running = await run(context);
  const { port } = await running.listening;
  for (let round = 0; round < 6; round += 1) {
    const { body: pid } = await ask(port, '/pid');
    process.kill(Number(pid), 'SIGKILL');
    const replies = await Promise.all([0, 0, 0, 0, 0, 1, 5, 10, 20, 40].map((wait) => askLater(wait, port)));
    for (const reply of replies) {
      assert.equal(reply.status, 200);
      assert.notEqual(reply.body, pid);
    }
  }
  assert.equal(running.log().match(/"event":"worker-died"/g)?.length, 6);
});

test('replaces a worker whose engine does not answer', { timeout: 120_000 }, async (context) => {
  const running = await run(context, { argv: ['--port=0', '--watchdog-seconds=0.5'] });
  const { port } = await running.listening;
  const { body: hung } = await ask(port, '/hang');
  await until(async () => {
    const reply = await ask(port, '/pid').catch(() => undefined);
    return reply !== undefined && reply.body !== hung;
  });
  assert.equal(isAlive(Number(hung)), false);
  assert.equal(running.log().match(/"event":"worker-stalled"/g)?.length, 1);
});

test('keeps a worker whose engine answers', { timeout: 120_000 }, async (context) => {
  const running = await run(context, { argv: ['--port=0', '--watchdog-seconds=1'] });
  const { port } = await running.listening;
  const { body: first } = await ask(port, '/pid');
  // Four probes fit into the watchdog's time: ten are more than twice that time.
  await until(async () => Number((await ask(port, '/probes')).body) >= 10);
  assert.equal((await ask(port, '/pid')).body, first);
  assert.doesNotMatch(running.log(), /worker-stalled/);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(
    `lets a slow request finish after ${signal}, refuses new ones, and ends with 0`,
    { timeout: 120_000 },
    async (context) => {
      const running = await run(context);
      const { port } = await running.listening;
      const request = get({ host: '127.0.0.1', port, path: '/slow', agent: false });
      const [response] = await once(request, 'response');
      running.signal(signal);
      assert.equal(await text(response), 'started finished');
      assert.equal(await running.exited, 0);
      await assert.rejects(ask(port, '/pid'), { code: 'ECONNREFUSED' });
      assert.match(running.log(), /"event":"worker-stopped"/);
    },
  );
}

test('kills a worker that does not drain in time, and ends with 0', { timeout: 120_000 }, async (context) => {
  const running = await run(context, { argv: ['--port=0', '--http-drain-seconds=0.3'], files: ['stubborn'] });
  const { port } = await running.listening;
  const { body: pid } = await ask(port, '/pid');
  running.signal('SIGTERM');
  assert.equal(await running.exited, 0);
  assert.equal(isAlive(Number(pid)), false);
});

test('ends at once at the second signal', { timeout: 120_000 }, async (context) => {
  const running = await run(context, { argv: ['--port=0', '--http-drain-seconds=3600'], files: ['stubborn'] });
  const { port } = await running.listening;
  const { body: pid } = await ask(port, '/pid');
  running.signal('SIGTERM');
  await until(() => running.log().includes('"event":"draining"'));
  running.signal('SIGTERM');
  assert.equal(await running.exited, 0);
  assert.equal(isAlive(Number(pid)), false);
});

test('ends with 2 and the reasons when the first start fails', { timeout: 120_000 }, async (context) => {
  const running = await run(context, { files: ['refuse'] });
  assert.equal(await running.exited, 2);
  assert.match(running.log(), /"event":"start-failed","details":\["The catalog is locked\."\]/);
});

test('ends with 2 when the first worker ends by itself before it is ready', { timeout: 120_000 }, async (context) => {
  const running = await run(context, { files: ['crash'] });
  assert.equal(await running.exited, 2);
  assert.match(running.log(), /The worker ended with code 7 before it was ready\./);
});

test('keeps the port and tries again when a later start fails', { timeout: 120_000 }, async (context) => {
  const running = await run(context);
  const { port } = await running.listening;
  await writeFile(join(running.data, 'refuse'), '');
  const { body: pid } = await ask(port, '/pid');
  process.kill(Number(pid), 'SIGKILL');
  const waiting = ask(port, '/pid');
  await until(() => (running.log().match(/"event":"start-failed"/g)?.length ?? 0) >= 2);
  await rm(join(running.data, 'refuse'));
  assert.equal((await waiting).status, 200);
});

test('closes connections that waited too long for a worker', { timeout: 120_000 }, async (context) => {
  const running = await run(context, { argv: ['--port=0', '--http-headers-seconds=1'] });
  const { port } = await running.listening;
  await writeFile(join(running.data, 'refuse'), '');
  const { body: pid } = await ask(port, '/pid');
  process.kill(Number(pid), 'SIGKILL');
  await assert.rejects(ask(port, '/pid'));
  await until(() => running.log().includes('"event":"connections-refused","count":1'));
});

test('ends with 2 and one sentence when the port is in use', { timeout: 120_000 }, async (context) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  context.after(() => other.close());
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const running = await run(context, { argv: [`--port=${port}`] });
  assert.equal(await running.exited, 2);
  assert.match(
    running.log(),
    new RegExp(`"details":\\["Port ${port} of 127\\.0\\.0\\.1 is already in use: [^"]*\\."\\]`),
  );
});

test('ends the worker when the supervisor is gone', { timeout: 120_000 }, async (context) => {
  const running = await run(context);
  const { port } = await running.listening;
  assert.equal((await ask(port, '/pid')).status, 200);
  running.signal('SIGKILL');
  // The worker writes to the same pipes, so that they stay open for as long as it lives.
  assert.equal(await running.exited, null);
});

test('doubles from 50 milliseconds to 2 seconds while workers die young', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8, 1000].map(restartDelayMilliseconds),
    [50, 100, 200, 400, 800, 1600, 2000, 2000, 2000],
  );
});

test('does not hold back the successor of a worker that had served', () => {
  assert.equal(restartDelayMilliseconds(0), 50);
});
