import { formatCount } from '../../plans/format-figure.ts';

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Letters that terminals draw over two cells: East Asian wide forms and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;

const PLAIN = /^[\u0020-\u007e]*$/;

/** How many cells of a terminal a text takes. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += cellsOf(segment);
  return width;
}

function cellsOf(grapheme: string): number {
  return WIDE.test(grapheme) ? 2 : 1;
}

/** Cut to a width, with an ellipsis where something is left out. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = '';
  let cells = 0;
  for (const { segment } of GRAPHEMES.segment(text)) {
    cells += cellsOf(segment);
    if (cells > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

export function padText(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const room = ' '.repeat(Math.max(0, width - textWidth(text)));
  return align === 'left' ? text + room : room + text;
}

/** Controls could move the cursor or turn the direction of the text: they are shown, never sent to a terminal. */
export function visibleText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, showCharacter);
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function showCharacter(character: string): string {
  return SHORT[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** `1 row`, `2 000 rows`. */
export function countOf(count: number, noun: string, plural: string = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/** `1 row is`, `2 000 rows are`. */
export function countIs(count: number, noun: string): string {
  return `${countOf(count, noun)} ${count === 1 ? 'is' : 'are'}`;
}

/** A moment as people read it, in the time of the world. */
export function formatMoment(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

/** Lines of whole words, none wider than the width unless a single word is. */
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
