import { invalidInput } from '../../errors/service-error.ts';

export interface CsvRow {
  /** The line on which the row begins. */
  readonly line: number;
  /** An empty cell without quotes is null, one with quotes an empty text. */
  readonly cells: readonly (string | null)[];
}

/** A longer row must have a quote that was never closed. */
const ROW_CHARACTERS_MAX = 16 * 1024 * 1024;
const QUOTE = '"';

/** Splits the text of a CSV file (RFC 4180) into rows, as it arrives. See docs/decisions/0003-hand-written-code.md. */
export class CsvRows {
  private readonly delimiter: string;
  private rest = '';
  private line = 1;
  /** The position of the next delimiter, for searches that start before it. */
  private nextDelimiter = 0;

  constructor(delimiter: string) {
    this.delimiter = delimiter;
  }

  push(text: string): readonly CsvRow[] {
    this.rest += text;
    const rows = this.take(false);
    if (this.rest.length > ROW_CHARACTERS_MAX) this.refuse('is longer than 16 MiB; a quote may not be closed');
    return rows;
  }

  finish(): readonly CsvRow[] {
    const rows = this.take(true);
    if (this.rest !== '') this.refuse('has a quote that is not closed');
    return rows;
  }

  private take(isLast: boolean): readonly CsvRow[] {
    const rows: CsvRow[] = [];
    let start = 0;
    this.nextDelimiter = 0;
    while (start < this.rest.length) {
      const row = this.readRow(start, isLast);
      if (row === undefined) break;
      rows.push({ line: this.line, cells: row.cells });
      this.line += row.lines;
      start = row.end;
    }
    this.rest = this.rest.slice(start);
    return rows;
  }

  /** `undefined` if the row has not arrived completely. */
  private readRow(start: number, isLast: boolean) {
    const text = this.rest;
    const cells: (string | null)[] = [];
    let at = start;
    let lines = 1;
    let newline = text.indexOf('\n', at);
    for (;;) {
      let end: number;
      if (text.startsWith(QUOTE, at)) {
        const close = this.closingQuote(at);
        if (close === undefined) return undefined;
        const cell = text.slice(at + 1, close).replaceAll('""', QUOTE);
        cells.push(cell);
        lines += cell.split('\n').length - 1;
        if (newline !== -1 && newline < close) newline = text.indexOf('\n', close);
        end = close + 1;
        if (!isLast && newline === -1) return undefined;
        if (text.startsWith('\r\n', end)) end += 1;
        if (end < text.length && text[end] !== '\n' && !text.startsWith(this.delimiter, end)) {
          this.refuse('has text after a closing quote');
        }
      } else {
        if (newline === -1 && !isLast) return undefined;
        const limit = newline === -1 ? text.length : newline;
        end = Math.min(limit, this.findDelimiter(at));
        const cell = text.slice(at, end === limit && text[end - 1] === '\r' && end > at ? end - 1 : end);
        cells.push(cell === '' ? null : cell);
      }
      if (end >= text.length) return { cells, end, lines };
      if (text[end] === '\n') return { cells, end: end + 1, lines };
      at = end + this.delimiter.length;
    }
  }

  private findDelimiter(from: number): number {
    if (this.nextDelimiter < from || this.nextDelimiter === 0) {
      const found = this.rest.indexOf(this.delimiter, from);
      this.nextDelimiter = found === -1 ? this.rest.length : found;
    }
    return this.nextDelimiter;
  }

  private closingQuote(open: number): number | undefined {
    let at = this.rest.indexOf(QUOTE, open + 1);
    while (at !== -1 && this.rest[at + 1] === QUOTE) at = this.rest.indexOf(QUOTE, at + 2);
    return at === -1 ? undefined : at;
  }

  private refuse(what: string): never {
    const hint = 'Quote cells that contain the delimiter, a quote or a line break, and double the quotes inside them.';
    throw invalidInput(`The row on line ${this.line} ${what}.`, hint);
  }
}

const DELIMITERS = [',', '\t', ';', '|'] as const;
const GUESS_ROWS = 20;

/** The delimiter that splits the first rows into the same number of cells, and into the most cells. */
export function guessDelimiter(sample: string): string {
  const widths = DELIMITERS.map((delimiter) => ({ delimiter, width: commonWidth(sample, delimiter) }));
  return widths.reduce((best, each) => (each.width > best.width ? each : best)).delimiter;
}

function commonWidth(sample: string, delimiter: string): number {
  try {
    const rows = new CsvRows(delimiter).push(sample.endsWith('\n') ? sample : `${sample}\n`);
    const widths = rows.slice(0, GUESS_ROWS).map(({ cells }) => cells.length);
    const [first = 1] = widths;
    return widths.every((width, index) => width === first || index === rows.length - 1) ? first : 1;
  } catch {
    return 0;
  }
}
