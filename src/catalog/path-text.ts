import { invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';

/**
 * Separates the names of a stored path. No name contains it, and it sorts before every character of a name: the binary
 * order of the text is the order of the paths, name by name, and everything below a path is one range.
 */
const SEPARATOR = '\u001f';
const NEXT_AFTER_SEPARATOR = '\u0020';

export function toPathText(path: NamespacePath): string {
  for (const name of path) {
    if (name === '' || name.includes(SEPARATOR)) {
      throw invalidInput(`The name ${quoteForMessage(name)} cannot be stored in the catalog.`);
    }
  }
  return path.join(SEPARATOR);
}

export function fromPathText(text: string): NamespacePath {
  return text === '' ? [] : text.split(SEPARATOR);
}

export function toTablePath(text: string): TablePath {
  const [first = '', ...rest] = text.split(SEPARATOR);
  return [first, ...rest];
}

/**
 * The range of the path and everything below it, at any depth: texts from `from`, before `before`. No other path sorts
 * into it. The root has no such range: everything is below it.
 */
export function rangeFrom(path: NamespacePath): { readonly from: string; readonly before: string } | undefined {
  if (path.length === 0) return undefined;
  const text = toPathText(path);
  return { from: text, before: text + NEXT_AFTER_SEPARATOR };
}

/** A unique text for a path in a database, for cache keys. */
export function pathKey(databaseId: string, path: NamespacePath): string {
  return databaseId + SEPARATOR + toPathText(path);
}
