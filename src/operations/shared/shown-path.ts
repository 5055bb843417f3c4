import { formatPath } from '../../model/identifier.ts';
import type { NamespacePath } from '../../model/identifier.ts';
import type { RequestFacts } from '../operation.ts';

type Prefixed = Pick<RequestFacts, 'prefix'>;

/** A path as the caller writes it: from the prefix of its request on. */
export function toShownPath({ prefix }: Prefixed, path: NamespacePath): string[] {
  return path.slice(prefix.length);
}

export function formatShown(request: Prefixed & Pick<RequestFacts, 'delimiter'>, path: NamespacePath): string {
  return formatPath(toShownPath(request, path), request.delimiter);
}
