import { invalidInput } from '../errors/service-error.ts';
import { quoteForMessage, checkName } from '../model/identifier.ts';

/** Names become file names, with an ending and the marks of an unfinished write behind them. */
const NAME_BYTES_MAX = 200;

/**
 * The engine takes letters of every script, but cannot list the tags of a table that has one with such a name; so only
 * these are accepted.
 */
const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** What the engine keeps in the folder of a branch. A branch below another must not get one of these for its own. */
const ENGINE_FOLDERS: ReadonlySet<string> = new Set([
  '_deletions',
  '_indices',
  '_refs',
  '_transactions',
  '_versions',
  'data',
  'tree',
]);

export function guardTagName(name: string): string {
  if (isSegment(name) && name.length <= NAME_BYTES_MAX) return name;
  throw invalidInput(
    `${quoteForMessage(name)} is not a name for a tag.`,
    `A tag has up to ${NAME_BYTES_MAX} letters, digits, ".", "-" and "_"; it has no dot at either end, no two dots in a row, and does not end with ".lock".`,
  );
}

/**
 * For a branch that is to be made. The engine writes the branch's files before it looks at the name, and so leaves litter,
 * outside of the branches' own folder at worst.
 */
export function guardNewBranchName(name: string): string {
  if (isBranchName(name)) return name;
  throw invalidInput(
    `${quoteForMessage(name)} is not a name for a branch.`,
    `A branch has up to ${NAME_BYTES_MAX} letters, digits, ".", "-" and "_", in parts divided by "/"; a part has no dot at either end, no two dots in a row, does not end with ".lock", and is none of the storage's own folders, such as "data".`,
  );
}

/** Only such a name may become part of a path. */
export function isBranchName(name: string): boolean {
  const segments = name.split('/');
  const isUsable = segments.every((segment) => isSegment(segment) && !ENGINE_FOLDERS.has(segment));
  return isUsable && name.length <= NAME_BYTES_MAX;
}

function isSegment(text: string): boolean {
  return SEGMENT.test(text) && !text.includes('..') && !text.endsWith('.') && !text.endsWith('.lock');
}

/** Names of indexes stand in addresses, as names of tables do. No delimiter ever divides them. */
const NO_DELIMITER = '\u0000';

/** The engine keeps notes of its own as indexes with such names; one of ours would make the table unreadable. */
const ENGINE_PREFIX = '__lance';

export function checkIndexName(name: string): void {
  checkName(name, NO_DELIMITER);
  if (!name.startsWith(ENGINE_PREFIX)) return;
  throw invalidInput(
    `The index name ${quoteForMessage(name)} is reserved.`,
    `Names that start with ${ENGINE_PREFIX} belong to the storage engine.`,
  );
}
