import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, none, info } from '../campaign.ts';
import { findUnsynced, readTrace } from '../model/trace.ts';
import type { TracedWrite } from '../model/trace.ts';
import { intRows, requireOk } from '../rows.ts';
import type { TrustServer } from '../server.ts';

const CALLS = 'openat,fsync,fdatasync,rename,renameat,renameat2,link,linkat,mkdir,mkdirat,sync_file_range,syncfs';

/**
 * Traces system calls instead of trusting the server: which files and folders were created, and which were synced,
 * before each reply.
 */
export const sync: Campaign = {
  name: 'sync',
  promise: 'what a write made is on the disk before the write is acknowledged',
  async run(trust: Trust): Promise<readonly Figure[]> {
    if (spawnSync('strace', ['-V']).status !== 0) return [info('skipped', 'strace is not on this machine')];
    const count = trust.size(1000, 60);
    const server = await trust.startServer();
    await requireOk(server.admin.arrow('/v1/table/base/create', intRows([{ id: 0, a: 0 }])));
    const file = join(dirname(server.folder), 'trace.txt');
    const tracer = spawn(
      'strace',
      ['-f', '-y', '-ttt', '-s', '512', '-e', `trace=${CALLS}`, '-o', file, '-p', String(server.workerPid())],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    await isAttached(tracer);
    const writes = await writeMany(trust, server, count);
    await sleep(200);
    const ended = new Promise((resolve) => tracer.once('exit', resolve));
    if (tracer.exitCode === null && tracer.kill('SIGINT')) await ended;
    const events = readTrace(await readFile(file, 'utf8').catch(() => ''), server.folder);
    if (events.length === 0) return [info('skipped', 'strace may not attach on this machine')];
    const unsynced = findUnsynced(events, writes, existsSync);
    for (const { path, operation } of unsynced.slice(0, 3))
      trust.blame('not synced', `${operation}: ${path.slice(server.folder.length)}`);
    return [
      atLeast('traced writes', writes.length, count),
      info('files and folders that they made and that stayed', unsynced.made),
      none('writes answered before all of theirs was synced', new Set(unsynced.map(({ serial }) => serial)).size),
    ];
  },
};

/** Attached to all threads or not at all: earlier calls of a thread would be missing in the trace. */
async function isAttached(tracer: ChildProcessByStdio<null, null, Readable>): Promise<void> {
  await new Promise<void>((resolve) => {
    createInterface({ input: tracer.stderr }).on('line', (line) => {
      if (line.includes(' attached')) resolve();
    });
    tracer.once('exit', () => resolve());
  });
}

async function writeMany(trust: Trust, server: TrustServer, count: number): Promise<readonly TracedWrite[]> {
  const { admin } = server;
  const kinds = {
    insert: async (id: number) => admin.arrow('/v1/table/base/insert', intRows([{ id, a: id }])),
    update: async (id: number) =>
      admin.post('/v1/table/base/update', { updates: [['a', String(id)]], predicate: 'id = 0' }),
    merge: async (id: number) =>
      admin.arrow(
        '/v1/table/base/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true',
        intRows([{ id, a: id }]),
      ),
    delete: async (id: number) => admin.post('/v1/table/base/delete', { predicate: `id = ${id - 4}` }),
    create: async (id: number) => admin.arrow(`/v1/table/made-${id}/create`, intRows([{ id }])),
    tag: async (id: number) => admin.post('/v1/table/base/tags/create', { tag: `t${id}`, version: 1 }),
  };
  const writes: TracedWrite[] = [];
  for (let serial = 1; serial <= count; serial += 1) {
    trust.progress(serial, count);
    const [operation, send] = Object.entries(kinds)[serial % Object.keys(kinds).length] ?? ['insert', kinds.insert];
    const startedAt = now();
    const { status, text, json } = await send(serial);
    if (status !== 200) throw new Error(`${operation}: ${status} ${text}`);
    const table = operation === 'create' ? `made-${serial}` : 'base';
    const version: number | undefined = operation === 'tag' ? undefined : json.version;
    if (operation !== 'tag' && version === undefined) throw new Error(`${operation}: a reply without a version`);
    writes.push({ serial, operation, table, startedAt, endedAt: now(), version });
  }
  return writes;
}

/** In seconds, as in the tracer's output. */
function now(): number {
  return (performance.timeOrigin + performance.now()) / 1000;
}
