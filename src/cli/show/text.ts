import { styleText } from 'node:util';
import { formatCount } from '../../plans/format-figure.ts';
import type { Terminal } from '../command.ts';

/** Its tables take as long to load as the rest of the CLI, so only commands that draw load them. */
let measureText: ((text: string) => number) | undefined;

export async function loadTextWidth(): Promise<void> {
  measureText ??= (await import('string-width')).default;
}

/** How many terminal cells a text takes. Before `loadTextWidth`, one per character. */
export function textWidth(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
  return measureText?.(text) ?? Array.from(text).length;
}

let graphemes: Intl.Segmenter | undefined;

/** Cuts a text to a width, ending with an ellipsis. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  let kept = '';
  let cells = 0;
  for (const { segment } of graphemes.segment(text)) {
    cells += textWidth(segment);
    if (cells > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

export function padText(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const padding = ' '.repeat(Math.max(0, width - textWidth(text)));
  return align === 'left' ? text + padding : padding + text;
}

/** Lines of whole words, none wider than the width, except single words. */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && textWidth(line) + 1 + textWidth(word) > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/**
 * Control characters could move the cursor or reverse the text, so they are shown as text, never sent to a terminal.
 */
export function visibleText(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu,
    (character) => SHORT[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

interface TreeLine<Node> {
  readonly node: Node;
  readonly prefix: string;
  /** The prefix of further lines about the node. */
  readonly continuation: string;
}

/** A node and all nodes below it, in order, each with its branch prefix. */
export function treeLines<Node>(
  node: Node,
  childrenOf: (node: Node) => readonly Node[],
  [prefix, below]: readonly [string, string] = ['', ''],
): readonly TreeLine<Node>[] {
  const children = childrenOf(node);
  const nested = children.flatMap((child, index) => {
    const isLast = index === children.length - 1;
    return treeLines(child, childrenOf, [`${below}${isLast ? '└ ' : '├ '}`, `${below}${isLast ? '  ' : '│ '}`]);
  });
  return [{ node, prefix, continuation: `${below}${children.length > 0 ? '│ ' : '  '}` }, ...nested];
}

/** `1 row`, `2,000 rows`. */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** `2026-01-31 12:00:00Z` */
export function formatMoment(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Terminal styles, or none. */
export type Paint = Readonly<Record<Style, (text: string) => string>>;

/** For the output: colors only on a terminal, unless disabled (https://no-color.org). */
export function paintFor(terminal: Terminal): Paint {
  return toPaint(terminal, terminal.columns !== undefined);
}

/** The same for the error output. */
export function paintForErrors(terminal: Terminal): Paint {
  return toPaint(terminal, terminal.status !== undefined);
}

function toPaint({ env }: Terminal, isTerminal: boolean): Paint {
  const hasColours = isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  // Decided here, for the given terminal, not by `styleText`.
  const style = (name: Style) => (text: string) =>
    hasColours && text !== '' ? styleText(name, text, { validateStream: false }) : text;
  return {
    bold: style('bold'),
    dim: style('dim'),
    red: style('red'),
    green: style('green'),
    yellow: style('yellow'),
    cyan: style('cyan'),
  };
}
