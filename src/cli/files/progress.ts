import { formatBytes, formatCount } from '../../plans/format-figure.ts';
import type { Terminal } from '../command.ts';
import { visibleText } from '../show/text.ts';

const DRAW_MILLISECONDS = 100;
const LINE_MILLISECONDS = 10_000;
const BAR_WIDTH = 24;

/** Shows the progress of a long task: a bar on a terminal, otherwise a line from time to time. */
export class Progress {
  /** Of the last counted stream. */
  bytes = 0;
  readonly #terminal: Terminal;
  readonly #title: string;
  readonly #totalBytes: number | undefined;
  readonly #startedAt = Date.now();
  #shownAt = Date.now();

  constructor(terminal: Terminal, title: string, totalBytes?: number) {
    this.#terminal = terminal;
    this.#title = title;
    this.#totalBytes = totalBytes;
  }

  /** With millisecond precision. */
  get seconds(): number {
    return (Date.now() - this.#startedAt) / 1000;
  }

  show(bytes: number, rows?: number): void {
    const { status, err } = this.#terminal;
    const now = Date.now();
    if (now - this.#shownAt < (status === undefined ? LINE_MILLISECONDS : DRAW_MILLISECONDS)) return;
    this.#shownAt = now;
    if (status === undefined) err(`${this.#line(bytes, rows)}\n`);
    else status(this.#line(bytes, rows));
  }

  /** Passes the pieces on, and shows how many bytes they have. */
  async *count(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.bytes = 0;
    for await (const piece of pieces) {
      this.bytes += piece.length;
      this.show(this.bytes);
      yield piece;
    }
  }

  /** Replaces the bar while the remaining work cannot be measured. */
  note(words: string): void {
    this.#terminal.status?.(`${this.#title}  ${words}`);
  }

  /** Shows a wait until the server can continue. */
  readonly wait = (seconds: number, reason: string): void => {
    const { status, err } = this.#terminal;
    const line = `${this.#title}  waiting ${formatSeconds(seconds)}: ${visibleText(reason)}`;
    if (status === undefined) err(`${line}\n`);
    else status(line);
  };

  end(): void {
    this.#terminal.status?.('');
  }

  #line(bytes: number, rows: number | undefined): string {
    const perSecond = bytes / Math.max(this.seconds, 0.001);
    const counted = rows === undefined ? '' : `${formatCount(rows)} rows, `;
    const rate = `${counted}${formatBytes(bytes)}, ${formatBytes(perSecond)}/s`;
    if (this.#totalBytes === undefined) return `${this.#title}  ${rate}`;
    const share = this.#totalBytes === 0 ? 1 : Math.min(1, bytes / this.#totalBytes);
    const filled = Math.round(share * BAR_WIDTH);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`;
    const remaining = share === 0 ? '' : `, ${formatSeconds((this.seconds * (1 - share)) / share)} left`;
    return `${this.#title}  ${bar} ${Math.floor(share * 100)}%  ${rate}${remaining}`;
  }
}

/** `1.3 s` */
export function showSeconds(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}

function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  return seconds < 3600 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
