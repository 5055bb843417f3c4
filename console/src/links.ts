import type { NamespacePath, TablePath } from '../../src/model/identifier.ts';
import type { GridSort } from './parts/grid/grid-head.tsx';
import { toHash } from './router.ts';

export const TABS = ['rows', 'schema', 'versions', 'indexes', 'maintenance'] as const;
export type Tab = (typeof TABS)[number];

/** By default the latest version of the main branch. */
export interface At {
  readonly version?: number;
  readonly branch?: string;
}

/** As in the URL, where a tag may replace the version. */
export interface AskedAt extends At {
  readonly tag?: string;
}

/** By default the first page of all rows, unsorted. */
export interface RowsPage {
  readonly filter?: string;
  readonly sort?: GridSort | undefined;
  /** Counted from 1. */
  readonly page?: number;
}

export function namespaceHash(namespace: NamespacePath): string {
  return namespace.length === 0 ? toHash('') : toHash('namespace', namespace);
}

export function tableHash(table: TablePath, tab: Tab = 'rows', at: AskedAt = {}, rows: RowsPage = {}): string {
  const { filter, sort, page = 1 } = rows;
  return toHash('table', table, {
    ...(tab === 'rows' ? {} : { tab }),
    ...(at.version === undefined ? {} : { version: String(at.version) }),
    ...(at.branch === undefined ? {} : { branch: at.branch }),
    ...(at.tag === undefined ? {} : { tag: at.tag }),
    ...(filter === undefined || filter === '' ? {} : { filter }),
    ...(sort === undefined ? {} : { sort: sort.column, ...(sort.isAscending ? {} : { order: 'desc' }) }),
    ...(page === 1 ? {} : { page: String(page) }),
  });
}

export function readTab(query: URLSearchParams): Tab {
  return TABS.find((each) => each === query.get('tab')) ?? 'rows';
}

export function readAt(query: URLSearchParams): AskedAt {
  const version = readCount(query.get('version'));
  const branch = query.get('branch');
  const tag = query.get('tag');
  return {
    ...(version === undefined ? {} : { version }),
    ...(branch === null ? {} : { branch }),
    ...(tag === null ? {} : { tag }),
  };
}

export function readRowsPage(query: URLSearchParams): RowsPage {
  const column = query.get('sort');
  return {
    filter: query.get('filter') ?? '',
    ...(column === null ? {} : { sort: { column, isAscending: query.get('order') !== 'desc' } }),
    page: readCount(query.get('page')) ?? 1,
  };
}

function readCount(text: string | null): number | undefined {
  return text !== null && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/** A complete address for sharing. */
export function linkTo(hash: string): string {
  return new URL(hash, document.baseURI.split('#', 1)[0]).href;
}

export function tablePathOf([first, ...rest]: NamespacePath, name: string): TablePath {
  return first === undefined ? [name] : [first, ...rest, name];
}

/** The import view with its target filled in. */
export function loadHash(namespace: NamespacePath, table?: string): string {
  return toHash('load', namespace, table === undefined ? {} : { table });
}
