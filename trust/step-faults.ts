import { openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { getSystemErrorName } from 'node:util';
import { COUNTER_BYTES } from '../test/support/faults.ts';

interface Rule {
  readonly id: number;
  readonly action: string;
  readonly calls: readonly string[];
  readonly error: number;
  readonly skip: number;
  readonly count: number;
  readonly paths: readonly string[];
}

/** Applies the rules of `test/support/faults.ts` that concern the worker itself: pipeline steps and the disk port. */
export class StepFaults {
  readonly #folder: string;
  readonly #state: number;
  #generation = 0n;
  #rules: readonly Rule[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    this.#state = openSync(join(folder, 'state'), 'r+');
  }

  /** Call it when a step starts, or before a path is synced. Throws the error of a rule, or kills the process. */
  reach(call: string, path = ''): void {
    this.#reload();
    let acting: Rule | undefined;
    for (const rule of this.#rules) {
      if (!rule.calls.includes(call) || !matchesPath(rule, path)) continue;
      const number = this.#count(rule.id);
      if (number >= rule.skip && number < rule.skip + rule.count) acting ??= rule;
    }
    if (acting?.action === 'kill') process.kill(process.pid, 'SIGKILL');
    if (acting?.action === 'fail') throw toError(acting.error, call);
  }

  #reload(): void {
    const generation = this.#read(0);
    if (generation === this.#generation) return;
    this.#generation = generation;
    const lines = readFileSync(join(this.#folder, 'rules'), 'utf8').split('\n').slice(0, -1);
    this.#rules = lines.map(readRule);
  }

  /**
   * How often the rule has matched before. The library counts with an atomic add, so rules for both would be
   * miscounted.
   */
  #count(id: number): number {
    const before = this.#read(id);
    const bytes = Buffer.alloc(COUNTER_BYTES);
    bytes.writeBigUInt64LE(before + 1n);
    writeSync(this.#state, bytes, 0, COUNTER_BYTES, id * COUNTER_BYTES);
    return Number(before);
  }

  #read(index: number): bigint {
    const bytes = Buffer.alloc(COUNTER_BYTES);
    readSync(this.#state, bytes, 0, COUNTER_BYTES, index * COUNTER_BYTES);
    return bytes.readBigUInt64LE();
  }
}

function readRule(line: string): Rule {
  const [id, action = '', calls = '', error, skip, count, ...paths] = line.split(' ');
  return {
    id: Number(id),
    action,
    calls: calls.split(','),
    error: Number(error),
    skip: Number(skip),
    count: Number(count),
    paths: paths.join(' ').split('|'),
  };
}

function matchesPath({ paths }: Rule, path: string): boolean {
  return paths.some(
    (part) => part === '*' || (part.endsWith('$') ? path.endsWith(part.slice(0, -1)) : path.includes(part)),
  );
}

function toError(error: number, call: string): NodeJS.ErrnoException {
  const code = getSystemErrorName(-error);
  return Object.assign(new Error(`${code}: injected, ${call}`), { code, errno: -error, syscall: call });
}
