import { invalidInput } from '../../errors/service-error.ts';
import type { CommitFilter } from '../../model/events/commit.ts';
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

export function requireOperation(text: string): string {
  if (/^[a-z_]{1,64}$/.test(text)) return text;
  throw invalidInput(`The operation ${quoteForMessage(text)} is not valid: give a name such as insert_into_table.`);
}
