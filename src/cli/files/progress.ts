import { formatBytes, formatCount } from '../../plans/format-figure.ts';
import type { Terminal } from '../command.ts';

const DRAW_MILLISECONDS = 100;
const LINE_MILLISECONDS = 10_000;
const BAR_WIDTH = 24;

export interface Done {
  readonly rows: number | undefined;
  readonly bytes: number;
}

/** How far a long work is: a bar at a terminal, a line now and then elsewhere. */
export class Progress {
  private readonly terminal: Terminal;
  private readonly what: string;
  private readonly totalBytes: number | undefined;
  private readonly startedAt = Date.now();
  private shownAt = Date.now();

  constructor(terminal: Terminal, what: string, totalBytes?: number) {
    this.terminal = terminal;
    this.what = what;
    this.totalBytes = totalBytes;
  }

  get seconds(): number {
    return (Date.now() - this.startedAt) / 1000;
  }

  show(done: Done): void {
    const { status, err } = this.terminal;
    const now = Date.now();
    if (now - this.shownAt < (status === undefined ? LINE_MILLISECONDS : DRAW_MILLISECONDS)) return;
    this.shownAt = now;
    if (status === undefined) err(`${this.line(done)}\n`);
    else status(this.line(done));
  }

  end(): void {
    this.terminal.status?.('');
  }

  private line({ rows, bytes }: Done): string {
    const perSecond = bytes / Math.max(this.seconds, 0.001);
    const counted = rows === undefined ? '' : `${formatCount(rows)} rows, `;
    const rate = `${counted}${formatBytes(bytes)}, ${formatBytes(perSecond)}/s`;
    if (this.totalBytes === undefined) return `${this.what}  ${rate}`;
    const share = this.totalBytes === 0 ? 1 : Math.min(1, bytes / this.totalBytes);
    const filled = Math.round(share * BAR_WIDTH);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`;
    const left = share === 0 ? '' : `, ${formatLeft((this.seconds * (1 - share)) / share)} left`;
    return `${this.what}  ${bar} ${Math.floor(share * 100)} %  ${rate}${left}`;
  }
}

function formatLeft(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  return seconds < 3600 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
