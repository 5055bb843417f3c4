import { invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';

/**
 * Between the names of a stored path. No name holds it, and it sorts before every character of a name, so the binary
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
 * The path and everything below it, however deep: texts from `from`, before `before`. Nothing else sorts in between. The
 * root has no such range: everything is below it.
 */
export function rangeFrom(path: NamespacePath): { readonly from: string; readonly before: string } | undefined {
  if (path.length === 0) return undefined;
  const text = toPathText(path);
  return { from: text, before: text + NEXT_AFTER_SEPARATOR };
}

/** One text for a path of one database, as a key of caches. */
export function pathKey(databaseId: string, path: NamespacePath): string {
  return databaseId + SEPARATOR + toPathText(path);
}
