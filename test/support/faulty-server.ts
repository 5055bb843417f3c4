import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Int32, toStream } from './arrow-tables.ts';
import { Client } from './client.ts';
import type { Answer } from './client.ts';
import { Faults } from './faults.ts';
import { startServerProcess } from './server-process.ts';
import type { ServerProcess } from './server-process.ts';

/** The file of response marks beside the catalog. */
export const MARKS_FILE = ['.db-marks'] as const;
/** The catalog's log: a transaction is one sync of it. */
export const CATALOG_LOG = ['.db-wal'] as const;
/** The link that makes an engine commit visible. */
export const MANIFEST = ['.manifest$'] as const;

/** A server in separate processes whose file system calls can be made to fail. */
export class FaultyServer {
  readonly faults: Faults;
  readonly folder: string;
  readonly #flags: readonly string[];
  #server: ServerProcess;

  private constructor(faults: Faults, folder: string, flags: readonly string[], server: ServerProcess) {
    this.faults = faults;
    this.folder = folder;
    this.#flags = flags;
    this.#server = server;
  }

  /** Skips the test where faults cannot be injected. */
  static async start(t: TestContext, flags: readonly string[] = []): Promise<FaultyServer | undefined> {
    const faults = Faults.open();
    if (!faults.hasLibrary) {
      await faults.close();
      t.skip('needs Linux and a C compiler, to preload a library that makes file system calls fail');
      return undefined;
    }
    const folder = await mkdtemp(join(tmpdir(), 'tiltyard-faulty-'));
    const server = await startServerProcess(folder, flags, faults.env);
    const faulty = new FaultyServer(faults, folder, flags, server);
    t.after(async () => {
      faults.clear();
      await faulty.#server.stop();
      await faults.close();
      await rm(folder, { recursive: true, force: true });
    });
    return faulty;
  }

  get client(): Client {
    return new Client(this.#server.url);
  }

  get server(): ServerProcess {
    return this.#server;
  }

  /** Stops the server gracefully and starts it again. */
  async restart(): Promise<void> {
    assert.equal(await this.#server.stop(), 0);
    this.#server = await startServerProcess(this.folder, this.#flags, this.faults.env);
  }

  /** Resolves when a worker serves that is not this one. */
  async workerReplaced(pid: number): Promise<void> {
    while (this.#server.workerPid() === pid) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async create(table: string, rows: readonly Row[], query = ''): Promise<Answer> {
    const answer = await this.client.arrow(`/v1/table/${table}/create${query}`, rowStream(rows));
    assert.equal(answer.status, 200, answer.text);
    return answer;
  }

  async rows(table: string, query: object = {}): Promise<readonly Row[]> {
    const json = { accept: 'application/json' };
    const answer = await this.client.post(`/v1/table/${table}/query`, { k: 1_000_000, ...query }, json);
    assert.equal(answer.status, 200, answer.text);
    return answer.json.rows;
  }

  async version(table: string): Promise<number> {
    const answer = await this.client.post(`/v1/table/${table}/describe`, {});
    assert.equal(answer.status, 200, answer.text);
    return answer.json.version;
  }
}

export type Row = Readonly<Record<string, number>>;

/** An Arrow stream of whole numbers; the columns are those of the first row. */
export function rowStream(rows: readonly Row[]): Uint8Array {
  const names = Object.keys(rows[0] ?? { id: 0 });
  const columns = names.map((name) => [name, [new Int32(), (row: number) => rows[row]?.[name]] as const] as const);
  return toStream(Object.fromEntries(columns), rows.length);
}

/** `undefined` when the connection broke before the answer. */
export async function attempt(answer: Promise<Answer>): Promise<Answer | undefined> {
  return answer.catch(() => undefined);
}
