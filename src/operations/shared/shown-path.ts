import type { NamespacePath } from '../../model/identifier.ts';
import type { RequestFacts } from '../operation.ts';

/** A path as the caller writes it: below the prefix of its request. */
export function toShownPath({ prefix }: Pick<RequestFacts, 'prefix'>, path: NamespacePath): string[] {
  return path.slice(prefix.length);
}
