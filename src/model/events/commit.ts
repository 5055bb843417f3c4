import type { NamespacePath } from '../identifier.ts';

/** A committed write, as far as others are told of it. */
export interface Commit {
  readonly id: string;
  readonly operation: string;
  /** Of the table or namespace. */
  readonly path: NamespacePath;
  /** 0 for a change of names only. */
  readonly version: number;
  readonly branch?: string | undefined;
  readonly caller: string;
  readonly requestId: string;
  /** Milliseconds since 1970. */
  readonly committedAt: number;
}

/** As lists, events and webhooks show it, with the names of callers by their ids. */
export function toCommitFields(commit: Commit, names: ReadonlyMap<string, string>) {
  return {
    transaction_id: commit.id,
    operation: commit.operation,
    id: [...commit.path],
    version: commit.version === 0 ? undefined : commit.version,
    branch: commit.branch,
    caller: commit.caller,
    caller_name: names.get(commit.caller),
    request_id: commit.requestId,
    committed_at: new Date(commit.committedAt).toISOString(),
  };
}

/** Which commits are wanted: of one of the tables or below one of the namespaces, and of one of the operations. */
export interface CommitFilter {
  /** With no namespaces either: all. */
  readonly tables: readonly NamespacePath[];
  readonly namespaces: readonly NamespacePath[];
  /** Empty: all. */
  readonly operations: readonly string[];
}

export function isWanted({ path, operation }: Pick<Commit, 'path' | 'operation'>, filter: CommitFilter): boolean {
  const { tables, namespaces, operations } = filter;
  if (operations.length > 0 && !operations.includes(operation)) return false;
  if (tables.length === 0 && namespaces.length === 0) return true;
  return (
    tables.some((table) => table.length === path.length && isWithin(table, path)) ||
    namespaces.some((namespace) => isWithin(namespace, path))
  );
}

function isWithin(namespace: NamespacePath, path: NamespacePath): boolean {
  return namespace.length <= path.length && namespace.every((name, index) => name === path[index]);
}
