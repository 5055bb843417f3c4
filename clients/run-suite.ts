import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { endProgram } from './client.ts';
import type { ClientSuite, Program, ServiceKind, Skipped } from './client.ts';
import { brokenProgram, readOutcome } from './outcome.ts';
import type { Outcome, Result } from './outcome.ts';
import { startClientService, whyNoService } from './service.ts';

export interface Order {
  readonly suite: ClientSuite;
  readonly release: string;
  readonly kind: ServiceKind;
  readonly isShort: boolean;
  /** Told as they arrive. */
  readonly onOutcome: (outcome: Outcome) => void;
}

const PROGRAM_MILLISECONDS_MAX = 15 * 60_000;
const SAID_MAX = 20_000;

/** Installs a release, starts a service for it alone, and collects what its methods did. */
export async function runSuite({ suite, release, kind, isShort, onOutcome }: Order): Promise<Result | Skipped> {
  const folder = resolve('build/clients', suite.name, release);
  await mkdir(folder, { recursive: true });
  const prepared = whyNoService(kind) ?? (await suite.prepare(release, folder));
  if ('skipped' in prepared) return prepared;
  const service = await startClientService(kind, isShort);
  const startedAt = performance.now();
  const program = suite.run(prepared, service);
  const endEarly = (): void => endProgram(program);
  process.once('exit', endEarly);
  try {
    const outcomes = await collect(program, onOutcome);
    const { name: client, language, packageName } = suite;
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const date = new Date().toISOString().slice(0, 10);
    return { client, language, packageName, release, service: kind, date, seconds, outcomes };
  } finally {
    process.removeListener('exit', endEarly);
    await service.close();
  }
}

async function collect(program: Program, onOutcome: Order['onOutcome']): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  let said = '';
  const say = (text: string): void => {
    said = `${said}${text}`.slice(-SAID_MAX);
  };
  const add = (outcome: Outcome): void => {
    outcomes.push(outcome);
    onOutcome(outcome);
  };
  createInterface({ input: program.stdout }).on('line', (line) => {
    const outcome = readOutcome(line);
    if (outcome === undefined) say(`${line}\n`);
    else add(outcome);
  });
  program.stderr.on('data', (data: Buffer) => say(data.toString()));
  const end = await ended(program);
  if (end !== undefined) add(brokenProgram(end, said));
  else if (outcomes.length === 0) add(brokenProgram('it tried nothing', said));
  return outcomes;
}

/** Why it did not run to its end. */
async function ended(program: Program): Promise<string | undefined> {
  return new Promise((resolveEnd) => {
    const timer = setTimeout(() => endProgram(program), PROGRAM_MILLISECONDS_MAX);
    program.once('error', (error) => {
      clearTimeout(timer);
      resolveEnd(error.message);
    });
    program.once('close', (code, killedBy) => {
      clearTimeout(timer);
      resolveEnd(code === 0 ? undefined : `it ended with ${killedBy ?? code}`);
    });
  });
}
