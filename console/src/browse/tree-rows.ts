import type { NamespacePath } from '../../../src/model/identifier.ts';
import { keyOf } from './tree-store.ts';
import type { TreeStore } from './tree-store.ts';

export interface TreeRow {
  readonly kind: 'namespace' | 'table' | 'more' | 'note';
  readonly key: string;
  /** The namespace or table; for other kinds the parent namespace. */
  readonly path: readonly string[];
  readonly label: string;
  readonly level: number;
  readonly isOpen: boolean;
}

export function listRows(store: TreeStore, inside: NamespacePath = []): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  addRows(store, inside, rows);
  return rows;
}

function addRows(store: TreeStore, inside: NamespacePath, rows: TreeRow[]): void {
  const known = store.inside(inside);
  for (const name of known.namespaces) {
    const path = [...inside, name];
    const isOpen = store.isOpen(path);
    rows.push(toRow('namespace', path, { label: name, isOpen }));
    if (isOpen) addRows(store, path, rows);
  }
  for (const name of known.tables) rows.push(toRow('table', [...inside, name], { label: name }));
  const note = noteOf(known);
  if (note !== undefined)
    rows.push({ ...note, key: `${note.kind}:${keyOf(inside)}`, path: inside, level: inside.length + 1, isOpen: false });
}

interface RowDetails {
  readonly label: string;
  readonly isOpen?: boolean;
}

function toRow(kind: 'namespace' | 'table', path: readonly string[], { label, isOpen = false }: RowDetails): TreeRow {
  return { kind, key: `${kind}:${keyOf(path)}`, path, label, level: path.length, isOpen };
}

function noteOf(known: ReturnType<TreeStore['inside']>): Pick<TreeRow, 'kind' | 'label'> | undefined {
  if (known.error !== undefined) return { kind: 'note', label: 'Cannot be read' };
  if (known.nextNamespace !== undefined || known.nextTable !== undefined)
    return { kind: 'more', label: 'Loading more …' };
  if (known.namespaces.length + known.tables.length > 0) return undefined;
  return { kind: 'note', label: known.isLoading ? 'Loading …' : 'No tables yet' };
}
