import { quoteForMessage } from '../../model/identifier.ts';
import { isObject } from '../../model/strict-json.ts';
import { addGiven, nearNameHint } from './names.ts';
import type { Source } from './names.ts';
import { SETTINGS } from '../settings/settings.ts';

/** Reads a JSON file of nested objects: `{"arrow": {"columnsMax": 100}}` sets `arrow.columnsMax`. */
export function readConfigFile(file: string, readFile: (path: string) => string): Source {
  const source: Source = { given: [], faults: [] };
  const read = readText(file, readFile);
  if ('fault' in read) source.faults.push(`The config file ${file} ${read.fault}`);
  const tree = 'text' in read ? parseTree(file, read.text, source) : undefined;
  if (tree !== undefined) walk(tree, '', { file, source });
  return source;
}

/** Reads a file that an operator named, or returns the rest of a sentence that says why it cannot be read. */
export function readText(
  file: string,
  readFile: (path: string) => string,
): { readonly text: string } | { readonly fault: string } {
  try {
    return { text: readFile(file) };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const reason = error instanceof Error ? error.message : 'unknown reason';
    return { fault: `cannot be read: ${isMissing ? 'it does not exist' : reason}.` };
  }
}

/** Reports only the line of a mistake: the parser's message quotes the text, which may contain a secret. */
function parseTree(file: string, text: string, source: Source): object | undefined {
  try {
    const tree: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    if (isObject(tree)) return tree;
    source.faults.push(`The config file ${file} must contain a JSON object.`);
  } catch (error) {
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    const line = position === undefined ? '' : ` (line ${text.slice(0, Number(position)).split('\n').length})`;
    source.faults.push(`The config file ${file} is not valid JSON${line}.`);
  }
  return undefined;
}

/** Nesting is limited to that of setting names. */
function walk(
  tree: object,
  prefix: string,
  { file, source }: { readonly file: string; readonly source: Source },
): void {
  for (const [key, raw] of Object.entries(tree)) {
    const name = prefix + key;
    if (FILE_NAMES.includes(name)) addGiven(source, { name, origin: `${file}: ${name}`, raw });
    else if (isObject(raw) && GROUPS.has(name)) walk(raw, `${name}.`, { file, source });
    else source.faults.push(unknownKey(name, file));
  }
}

/** A file cannot name itself. */
const FILE_NAMES: readonly string[] = [...SETTINGS.keys()].filter((name) => name !== 'config');

const GROUPS: ReadonlySet<string> = new Set(FILE_NAMES.flatMap((name) => name.split('.').slice(0, -1)));

function unknownKey(name: string, file: string): string {
  if (GROUPS.has(name)) return `${file}: ${name} must be an object.`;
  const hint = nearNameHint(name, [...FILE_NAMES, ...GROUPS]);
  return `${file}: the setting ${quoteForMessage(name)} does not exist.${hint}`;
}
