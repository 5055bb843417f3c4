import { execFileSync, spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { eventually } from './eventually.ts';
import { findFreePort } from './free-port.ts';

/** A PostgreSQL server of the test's, on a free port of the loopback interface. */
export interface TestPostgres {
  readonly port: number;
  /** The address of a new, empty database. */
  createDatabase(): Promise<string>;
  query(sql: string): Promise<readonly unknown[]>;
  /** As a crash of the machine, and the start after it; connections break. */
  restart(): Promise<void>;
}

const DEBIAN = '/usr/lib/postgresql';

/** The folder of the server's programs. */
export function findPostgres(): string | undefined {
  const releases = existsSync(DEBIAN) ? readdirSync(DEBIAN) : [];
  const folders = [
    ...releases.toSorted((one, other) => Number(other) - Number(one)).map((release) => join(DEBIAN, release, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ];
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

/** For the option `skip` of a test. */
export const withoutPostgres = findPostgres() === undefined ? 'PostgreSQL is not installed' : false;

let running: Promise<TestPostgres> | undefined;

/** The one server of this process, with which it ends: what starts one takes longer than most tests. */
export async function startPostgres(): Promise<TestPostgres> {
  running ??= startServer();
  return running;
}

async function startServer(): Promise<TestPostgres> {
  const programs = findPostgres();
  if (programs === undefined) throw new Error('PostgreSQL is not installed.');
  const folder = mkdtempSync(join(tmpdir(), 'tiltyard-postgres-'));
  const user = findUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(join(programs, 'initdb'), initdb, { ...user, cwd: folder, stdio: 'ignore' });
  const port = await findFreePort();
  const start = async (): Promise<ChildProcess> => {
    // Only the processes are killed here, never the machine.
    const settings = ['max_connections=200', 'fsync=off'].flatMap((setting) => ['-c', setting]);
    const options = ['-D', data, '-p', String(port), '-k', folder, '-h', '127.0.0.1', ...settings];
    const server = spawn(join(programs, 'postgres'), options, { ...user, cwd: folder, stdio: 'ignore' });
    server.unref();
    await eventually(async () =>
      query(port, 'select 1').then(
        () => true,
        () => false,
      ),
    );
    return server;
  };
  let server = await start();
  let databases = 0;
  process.once('exit', () => {
    spawnSync(join(programs, 'pg_ctl'), ['-D', data, '-m', 'immediate', '-w', 'stop'], { ...user, cwd: folder });
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    port,
    async createDatabase() {
      databases += 1;
      const name = `test_${databases}`;
      await query(port, `create database ${name}`);
      return toUrl(port, name);
    },
    query: async (sql) => query(port, sql),
    async restart() {
      const exited = once(server, 'exit');
      server.ref();
      server.kill('SIGQUIT');
      await exited;
      server = await start();
    },
  };
}

function toUrl(port: number, database: string): string {
  return `postgres://postgres@127.0.0.1:${port}/${database}`;
}

async function query(port: number, sql: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: toUrl(port, 'postgres') });
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

/** PostgreSQL refuses to run as root. */
function findUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string): number => {
    const name = ['postgres', 'nobody'].find((each) => canFind(each)) ?? 'nobody';
    return Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  };
  return { uid: idOf('-u'), gid: idOf('-g') };
}

function canFind(user: string): boolean {
  try {
    execFileSync('id', ['-u', user], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
