import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * `fail`: the call is not made and fails. `lose`: the call is made and reported as failed (a lost reply). `kill`: SIGKILL
 * before the call; `kill-after`: after it. `log`: the call is only logged.
 */
export type FaultAction = 'fail' | 'lose' | 'kill' | 'kill-after' | 'log';

/** Groups of libc calls that the preloaded library intercepts: `write` is write, pwrite, writev …; `sync` both syncs. */
export type FaultCall =
  | 'open'
  | 'write'
  | 'sync'
  | 'rename'
  | 'link'
  | 'unlink'
  | 'mkdir'
  | 'truncate'
  | 'allocate'
  /** A step of the write pipeline, or a sync through the disk port: these act in `trust/fault-worker.ts` only. */
  | `step.${string}`
  | 'disk';

export interface FaultRule {
  readonly action: FaultAction;
  readonly calls: readonly FaultCall[];
  /** Parts of a path, any of which matches; one that ends with `$` matches the end. Without paths, every path matches. */
  readonly paths?: readonly string[];
  readonly error?: 'EIO' | 'ENOSPC' | 'EMFILE';
  /** Matching calls to let pass first. */
  readonly skip?: number;
  /** Matching calls to act on; 1 if not given. */
  readonly count?: number;
}

export interface SetFault {
  /** Calls that matched so far, whether they were let pass or acted on. */
  matched(): number;
  /** Calls that the rule acted on so far. */
  acted(): number;
}

export interface LoggedCall {
  readonly id: number;
  readonly action: string;
  readonly call: string;
  readonly result: number;
  readonly path: string;
}

export const FAULTS_VARIABLE = 'FAULT_INJECTION';
export const COUNTER_BYTES = 8;
const COUNTERS = 65_536;

/** Makes file system calls of a running server fail, one rule or several at a time. */
export class Faults {
  /** For the environment of the server. */
  readonly env: Readonly<Record<string, string>>;
  readonly #folder: string;
  readonly #state: number;
  #lastId = 0;
  #generation = 0n;
  #rules: readonly string[] = [];

  private constructor(folder: string, library: string | undefined) {
    this.#folder = folder;
    writeFileSync(join(folder, 'state'), Buffer.alloc(COUNTERS * COUNTER_BYTES));
    writeFileSync(join(folder, 'rules'), '');
    writeFileSync(join(folder, 'log'), '');
    this.#state = openSync(join(folder, 'state'), 'r+');
    // File system calls through io_uring would pass the library by.
    const preload = library === undefined ? {} : { LD_PRELOAD: library, UV_USE_IO_URING: '0' };
    this.env = { [FAULTS_VARIABLE]: folder, ...preload };
  }

  /** Compiles the library; without a C compiler or on another system than Linux, only rules for the worker act. */
  static open(): Faults {
    const folder = mkdtempSync(join(tmpdir(), 'tiltyard-faults-'));
    return new Faults(folder, findLibrary());
  }

  get hasLibrary(): boolean {
    return 'LD_PRELOAD' in this.env;
  }

  /** Replaces all rules. */
  set(rule: FaultRule): SetFault {
    this.clear();
    return this.add(rule);
  }

  /** The first rule that acts on a call wins; all that match it count it. */
  add(rule: FaultRule): SetFault {
    this.#lastId += 1;
    const id = this.#lastId;
    const { skip = 0, count = 1 } = rule;
    this.#write([...this.#rules, toLine(id, rule)]);
    const matched = (): number => this.#readCounter(id);
    return { matched, acted: () => Math.max(0, Math.min(matched() - skip, count)) };
  }

  clear(): void {
    this.#write([]);
  }

  /** The calls that rules acted on, from the first on. */
  log(): readonly LoggedCall[] {
    const lines = readFileSync(join(this.#folder, 'log'), 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [, id, action = '', call = '', result, path = ''] = /^(\d+) (\S+) (\S+) (-?\d+) (.*)$/.exec(line) ?? [];
      return { id: Number(id), action, call, result: Number(result), path };
    });
  }

  async close(): Promise<void> {
    closeSync(this.#state);
    await rm(this.#folder, { recursive: true, force: true });
  }

  #write(rules: readonly string[]): void {
    this.#rules = rules;
    const next = join(this.#folder, 'rules.next');
    writeFileSync(next, rules.join(''));
    renameSync(next, join(this.#folder, 'rules'));
    this.#generation += 1n;
    const bytes = Buffer.alloc(COUNTER_BYTES);
    bytes.writeBigUInt64LE(this.#generation);
    writeSync(this.#state, bytes, 0, COUNTER_BYTES, 0);
  }

  #readCounter(id: number): number {
    const bytes = Buffer.alloc(COUNTER_BYTES);
    readSync(this.#state, bytes, 0, COUNTER_BYTES, id * COUNTER_BYTES);
    return Number(bytes.readBigUInt64LE());
  }
}

function toLine(id: number, { action, calls, paths = ['*'], error = 'EIO', skip = 0, count = 1 }: FaultRule): string {
  const counted = Math.min(count, Number.MAX_SAFE_INTEGER);
  return `${id} ${action} ${calls.join(',')} ${constants.errno[error]} ${skip} ${counted} ${paths.join('|')}\n`;
}

const SOURCE = fileURLToPath(new URL('../../../test/support/preload/faults.c', import.meta.url));

let compiled: { readonly library: string | undefined } | undefined;

/** Once per process. */
function findLibrary(): string | undefined {
  compiled ??= { library: compileLibrary() };
  return compiled.library;
}

function compileLibrary(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'tiltyard-preload-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const library = join(folder, 'faults.so');
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE, '-ldl', '-lpthread'], { stdio: 'ignore' });
    return library;
  } catch {
    return undefined;
  }
}
