import { invalidInput } from '../errors/service-error.ts';

/** Valid names below a database. The empty path is the root namespace. */
export type NamespacePath = readonly string[];

/** Valid names, the last of which is the table's. */
export type TablePath = readonly [string, ...string[]];

export const DEFAULT_DELIMITER = '$';

/** For names that no delimiter separates: no name contains it. */
export const NO_DELIMITER = '\u0000';

const NAME_BYTES_MAX = 255;
const PATH_NAMES_MAX = 32;
const DELIMITER_CHARACTERS_MAX = 8;

/** Control, format (invisible), surrogate, line and paragraph separator, and what cannot be part of a URL path. */
const FORBIDDEN_CHARACTER = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}/\\?#%]/u;

export function parseNamespacePath(text: string, delimiter: string): NamespacePath {
  checkDelimiter(delimiter);
  if (text === delimiter) return [];
  return checkNames(text.split(delimiter), delimiter);
}

export function parseTablePath(text: string, delimiter: string): TablePath {
  return toTablePath(parseNamespacePath(text, delimiter), delimiter);
}

export function toTablePath(names: readonly string[], delimiter: string): TablePath {
  const [first, ...rest] = checkNames(names, delimiter);
  if (first === undefined) {
    const hint = 'Give the path of a table, such as "orders" or "sales$orders".';
    throw invalidInput('The identifier is that of the root namespace, not of a table.', hint);
  }
  return [first, ...rest];
}

export function checkNames(names: readonly string[], delimiter: string): readonly string[] {
  if (names.length > PATH_NAMES_MAX) {
    throw invalidInput(`The identifier has ${names.length} names; at most ${PATH_NAMES_MAX} are allowed.`);
  }
  for (const name of names) checkName(name, delimiter);
  return names;
}

export function checkName(name: string, delimiter: string): void {
  const fault = nameFault(name, delimiter);
  if (fault === undefined) return;
  const hint =
    'A name must have 1 to 255 bytes of UTF-8, without control or invisible characters and without / \\ ? # %.';
  throw invalidInput(`The name ${quoteForMessage(name)} ${fault}.`, hint);
}

export function formatPath(path: NamespacePath, delimiter: string = DEFAULT_DELIMITER): string {
  return path.length === 0 ? delimiter : path.join(delimiter);
}

/** A caller's text as one segment of a URL's path; URL parsers would remove `.` and `..`, even if encoded. */
export function pathSegment(text: string): string {
  if (['', '.', '..'].includes(text) || /\p{Cs}/u.test(text)) {
    const hint = 'A name or id is valid Unicode, and not empty, "." or "..".';
    throw invalidInput(`Nothing can have the name ${quoteForMessage(text)}.`, hint);
  }
  return encodeURIComponent(text);
}

export function belowPrefix(prefix: NamespacePath, [first, ...rest]: TablePath): TablePath {
  const [top, ...below] = [...prefix, first, ...rest];
  return [top ?? first, ...below];
}

export function namespaceOf(path: TablePath): NamespacePath {
  return path.slice(0, -1);
}

export function nameOf(path: TablePath): string {
  return path[path.length - 1] ?? path[0];
}

/** Whether a path equals or is below the other one: names are compared as a whole. */
export function isWithin(path: NamespacePath, outer: NamespacePath): boolean {
  return path.length >= outer.length && outer.every((name, index) => name === path[index]);
}

/** By the UTF-8 bytes of each name, which is the order of listings in the catalog. */
export function comparePaths(one: NamespacePath, other: NamespacePath): number {
  // No name contains a NUL, which sorts before every other character.
  return Buffer.compare(Buffer.from(one.join('\u0000')), Buffer.from(other.join('\u0000')));
}

/** Quotes a caller's text as JSON, truncated, with invisible characters escaped. */
export function quoteForMessage(text: string): string {
  return escapeInvisible(JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text));
}

/** Control, format, surrogate, line and paragraph separators, which could move a terminal's cursor or hide text. */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

export function escapeInvisible(text: string): string {
  return text.replace(EVERY_INVISIBLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

const EVERY_INVISIBLE = new RegExp(INVISIBLE, 'gu');

function checkDelimiter(delimiter: string): void {
  const tooLong = delimiter.length === 0 || delimiter.length > DELIMITER_CHARACTERS_MAX;
  if (tooLong || /[\p{Cc}\p{Cf}\p{Cs}]/u.test(delimiter)) {
    throw invalidInput(
      `The delimiter ${quoteForMessage(delimiter)} is not valid.`,
      `A delimiter must have 1 to ${DELIMITER_CHARACTERS_MAX} visible characters; the default is "${DEFAULT_DELIMITER}".`,
    );
  }
}

function nameFault(name: string, delimiter: string): string | undefined {
  if (name.length === 0) return 'is empty';
  if (name === '.' || name === '..') return 'is reserved';
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) return `is longer than ${NAME_BYTES_MAX} bytes`;
  if (name.includes(delimiter)) return `contains the delimiter ${quoteForMessage(delimiter)}`;
  // Joined with "::", the name "a:" would be read back as "a".
  if (`${name}${delimiter}`.indexOf(delimiter) < name.length) {
    return `ends with the start of the delimiter ${quoteForMessage(delimiter)}`;
  }
  const match = FORBIDDEN_CHARACTER.exec(name);
  if (match !== null) return `contains the character ${quoteForMessage(match[0])}`;
  return undefined;
}
