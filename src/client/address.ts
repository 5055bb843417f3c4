import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { DEFAULT_DELIMITER } from '../model/identifier.ts';

/** Where an operation is found: a path, and the delimiter when it is not the usual one. */
export interface Address {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

/** No name holds it, so that it joins names that hold the usual one. */
const SAFE_DELIMITER = '/';

export function tableAddress(table: TablePath, action: string): Address {
  return address('table', table, action);
}

export function namespaceAddress(namespace: NamespacePath, action: string): Address {
  return address('namespace', namespace, action);
}

function address(kind: 'table' | 'namespace', names: readonly string[], action: string): Address {
  const isPlain = names.every((name) => !name.includes(DEFAULT_DELIMITER));
  const delimiter = isPlain ? DEFAULT_DELIMITER : SAFE_DELIMITER;
  const identifier = names.length === 0 ? delimiter : names.join(delimiter);
  return {
    path: `/v1/${kind}/${encodeURIComponent(identifier)}/${action}`,
    query: isPlain ? {} : { delimiter },
  };
}
