import { invalidInput } from '../errors/service-error.ts';
import { NO_DELIMITER, checkName, quoteForMessage } from '../model/identifier.ts';

/** Names become file names, with a suffix and the marks of an unfinished write. */
const NAME_BYTES_MAX = 200;

/** ASCII only: the engine accepts letters of every script, and then cannot list the tags of the table. */
const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** The engine's own folders in that of a branch: a branch below another must not use one of them. */
const ENGINE_FOLDERS = new Set('_deletions _indices _refs _transactions _versions data tree'.split(' '));

export function guardTagName(name: string): string {
  if (isSegment(name) && name.length <= NAME_BYTES_MAX) return name;
  throw invalidInput(
    `${quoteForMessage(name)} is not a valid tag name.`,
    `A tag name has up to ${NAME_BYTES_MAX} letters, digits, ".", "-" and "_". It must not start or end with a dot, contain two dots in a row, or end with ".lock".`,
  );
}

/** The engine writes the files of a new branch before it checks the name, at worst outside the folder of branches. */
export function guardNewBranchName(name: string): string {
  if (isBranchName(name)) return name;
  throw invalidInput(
    `${quoteForMessage(name)} is not a valid branch name.`,
    `A branch name has up to ${NAME_BYTES_MAX} letters, digits, ".", "-" and "_", in parts separated by "/". A part must not start or end with a dot, contain two dots in a row, end with ".lock", or be a folder of the storage format, such as "data".`,
  );
}

/** Only such a name may become part of a path. */
function isBranchName(name: string): boolean {
  const segments = name.split('/');
  const isUsable = segments.every((segment) => isSegment(segment) && !ENGINE_FOLDERS.has(segment));
  return isUsable && name.length <= NAME_BYTES_MAX;
}

function isSegment(text: string): boolean {
  return SEGMENT.test(text) && !text.includes('..') && !text.endsWith('.') && !text.endsWith('.lock');
}

/** The engine's internal indexes have such names; one of a user would make the table unreadable. */
const ENGINE_PREFIX = '__lance';

/** Names of indexes are part of URLs like those of tables, but no delimiter divides them. */
export function checkIndexName(name: string): void {
  checkName(name, NO_DELIMITER);
  if (!name.startsWith(ENGINE_PREFIX)) return;
  const hint = `Names that start with ${ENGINE_PREFIX} are reserved for the storage engine.`;
  throw invalidInput(`The index name ${quoteForMessage(name)} is reserved.`, hint);
}
