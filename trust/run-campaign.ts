import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Figure } from './campaign.ts';
import type { Planned } from './campaigns.ts';
import type { Scanned } from './leak-scanner.ts';
import type { Message, Order } from './messages.ts';
import type { Result } from './report.ts';

export interface Running {
  readonly name: string;
  /** The progress, as reported by the campaign. */
  howFar(): string;
  /** Never rejects: whatever happens to the campaign becomes a row of the scoreboard. */
  readonly ended: Promise<{ readonly result: Result; readonly scanned: Scanned | undefined }>;
  /** Kills the campaign and all processes that it started. */
  kill(): void;
}

export interface RunOptions {
  readonly order: Omit<Order, 'name' | 'folder'>;
  readonly report: (line: string) => void;
}

export async function startCampaign({ name }: Planned, options: RunOptions): Promise<Running> {
  const { order, report } = options;
  const { minutesMax } = order;
  const folder = await mkdtemp(join(tmpdir(), `tiltyard-trust-${name}-`));
  const startedAt = performance.now();
  const program = fileURLToPath(new URL('campaign-process.js', import.meta.url));
  const child = fork(program, [JSON.stringify({ ...order, name, folder })], { detached: true });
  const heard: Heard = { details: [], howFar: 'starting', promise: '', figures: undefined, scanned: undefined };
  child.on('message', (message) => listen(message as Message, heard, report));
  let isOverdue = false;
  const overdue = setTimeout(() => {
    isOverdue = true;
    killGroup(child);
  }, minutesMax * 60_000);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  }).then(async (how) => {
    clearTimeout(overdue);
    // Also ends servers that a campaign left running.
    killGroup(child);
    // A process that was just killed may still write.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const figures = heard.figures ?? didNotEnd(isOverdue ? `no, ended after ${minutesMax} min` : `no, ${how}`);
    const result: Result = { campaign: name, promise: heard.promise, seconds, figures, details: heard.details };
    return { result, scanned: heard.scanned };
  });
  return { name, howFar: () => heard.howFar, ended, kill: () => killGroup(child) };
}

interface Heard {
  readonly details: string[];
  howFar: string;
  promise: string;
  figures: readonly Figure[] | undefined;
  scanned: Scanned | undefined;
}

const DETAIL_SHOWN_LENGTH = 600;

function listen(message: Message, heard: Heard, report: (line: string) => void): void {
  switch (message.kind) {
    case 'line':
      report(message.text);
      return;
    case 'detail':
      heard.details.push(message.text);
      report(message.text.slice(0, DETAIL_SHOWN_LENGTH));
      return;
    case 'progress':
      heard.howFar = message.text;
      return;
    case 'scanned':
      heard.scanned = message.scanned;
      return;
    case 'end':
      heard.promise = message.promise;
      heard.figures = message.figures;
      return;
  }
}

function didNotEnd(value: string): readonly Figure[] {
  return [{ name: 'ran to its end', value, goal: 'yes', isMet: false }];
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}
