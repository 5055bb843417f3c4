import type { NamespacePath, TablePath } from '../../src/model/identifier.ts';
import { toHash } from './router.ts';

export const TABS = ['rows', 'schema', 'versions', 'indexes', 'maintenance'] as const;
export type Tab = (typeof TABS)[number];

/** A state of a table's history: the latest of the main branch unless it says otherwise. */
export interface At {
  readonly version?: number;
  readonly branch?: string;
}

export function namespaceHash(namespace: NamespacePath): string {
  return namespace.length === 0 ? toHash('') : toHash('namespace', namespace);
}

export function tableHash(table: TablePath, tab: Tab = 'rows', at: At = {}): string {
  return toHash('table', table, {
    ...(tab === 'rows' ? {} : { tab }),
    ...(at.version === undefined ? {} : { version: String(at.version) }),
    ...(at.branch === undefined ? {} : { branch: at.branch }),
  });
}

/** Where a file is loaded, with the place it goes to filled in. */
export function loadHash(namespace: NamespacePath, table?: string): string {
  return toHash('load', namespace, table === undefined ? {} : { table });
}
