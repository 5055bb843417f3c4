import { invalidInput } from '../../errors/service-error.ts';
import type { CommitFilter } from '../../model/events/commit.ts';
import { COMMIT_OPERATIONS } from '../../model/events/commit-operations.ts';
import { nearestName } from '../../model/field-path.ts';
import { belowPrefix, parseNamespacePath, parseTablePath, quoteForMessage } from '../../model/identifier.ts';
import type { DatabaseRequest } from '../operation.ts';

const VALUES_MAX = 100;

export function readEventFilter({ queryLists, delimiter, prefix }: DatabaseRequest): CommitFilter {
  const list = (name: string): readonly string[] => {
    const values = queryLists[name] ?? [];
    if (values.length > VALUES_MAX) throw invalidInput(`${name} is given more than ${VALUES_MAX} times.`);
    return values;
  };
  return {
    tables: list('table').map((text) => belowPrefix(prefix, parseTablePath(text, delimiter))),
    namespaces: list('namespace').map((text) => [...prefix, ...parseNamespacePath(text, delimiter)]),
    operations: list('operation').map(requireOperation),
  };
}

export function readEventId(text: string | undefined, hint: string): string | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^[0-9a-z]{26}$/.test(text)) return text;
  throw invalidInput('The cursor must be the id of an event.', hint);
}

/** Refuses a name that no commit has: a filter with a misspelled name would never match. */
export function requireOperation(text: string): string {
  if (COMMIT_OPERATIONS.includes(text)) return text;
  const near = nearestName(text, COMMIT_OPERATIONS);
  const advice = near === undefined ? `The operations are ${COMMIT_OPERATIONS.join(', ')}.` : `Did you mean ${near}?`;
  throw invalidInput(`No commit has the operation ${quoteForMessage(text)}.`, advice);
}
