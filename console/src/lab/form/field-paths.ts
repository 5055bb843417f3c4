import { formatFieldPath, parseFieldPath } from '../../../../src/model/field-path.ts';

/** Field paths in one text, as people enter them: a comma inside backticks is part of a name. */
export function joinPaths(paths: readonly string[]): string {
  return paths.map((path) => (path.includes(',') ? quoteCommas(path) : path)).join(', ');
}

export function splitPaths(text: string): string[] {
  return splitList(text).map(toUsualForm);
}

/** Splits at commas outside backticks. */
export function splitList(text: string): string[] {
  const parts: readonly string[] = text.match(/(?:`(?:[^`]|``)*`|[^,])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function quoteCommas(path: string): string {
  const names = parseFieldPath(path);
  return names
    .map((name) => (name.includes(',') ? `\`${name.replaceAll('`', '``')}\`` : formatFieldPath([name])))
    .join('.');
}

/** The server refuses what is not a path. */
function toUsualForm(text: string): string {
  try {
    return formatFieldPath(parseFieldPath(text));
  } catch {
    return text;
  }
}
