import { invalidInput } from '../errors/service-error.ts';
import { NO_DELIMITER, checkName, quoteForMessage } from '../model/identifier.ts';

/** Names become file names, with a suffix and the marks of an unfinished write. */
const NAME_BYTES_MAX = 200;

/** ASCII only: the engine accepts letters of every script, but then cannot list the table's tags. */
const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** Folders that the engine uses inside a branch's folder: a nested branch must not use one of them. */
const ENGINE_FOLDERS = new Set('_deletions _indices _refs _transactions _versions data tree'.split(' '));

export function guardTagName(name: string): string {
  if (isSegment(name) && name.length <= NAME_BYTES_MAX) return name;
  throw invalidInput(
    `${quoteForMessage(name)} is not a valid tag name.`,
    `A tag name has up to ${NAME_BYTES_MAX} letters, digits, ".", "-" and "_". It must not start or end with a dot, contain two dots in a row, or end with ".lock".`,
  );
}

/**
 * The engine writes the files of a new branch before it validates the name, in the worst case outside the folder of
 * branches.
 */
export function guardNewBranchName(name: string): string {
  if (isBranchName(name)) return name;
  throw invalidInput(
    `${quoteForMessage(name)} is not a valid branch name.`,
    `A branch name has up to ${NAME_BYTES_MAX} letters, digits, ".", "-" and "_", in parts separated by "/". A part must not start or end with a dot, contain two dots in a row, end with ".lock", or be a folder of the storage format, such as "data".`,
  );
}

/** Only names that satisfy this may become part of a path. */
function isBranchName(name: string): boolean {
  const segments = name.split('/');
  const isUsable = segments.every((segment) => isSegment(segment) && !ENGINE_FOLDERS.has(segment));
  return isUsable && name.length <= NAME_BYTES_MAX;
}

function isSegment(text: string): boolean {
  return SEGMENT.test(text) && !text.includes('..') && !text.endsWith('.') && !text.endsWith('.lock');
}

/** The engine's internal indexes have this prefix; a user's index with it would make the table unreadable. */
const ENGINE_PREFIX = '__lance';

/** Index names are part of URLs like table names, but no delimiter separates them. */
export function checkIndexName(name: string): void {
  checkName(name, NO_DELIMITER);
  if (!name.startsWith(ENGINE_PREFIX)) return;
  const hint = `Names that start with ${ENGINE_PREFIX} are reserved for the storage engine.`;
  throw invalidInput(`The index name ${quoteForMessage(name)} is reserved.`, hint);
}
