import { isWithin } from '../identifier.ts';
import type { NamespacePath } from '../identifier.ts';

/** A committed write, as shown to others. */
export interface Commit {
  readonly id: string;
  readonly operation: string;
  /** The path of the table or namespace. */
  readonly path: NamespacePath;
  /** For a rename: the previous path. */
  readonly formerPath?: NamespacePath | undefined;
  /** 0 if only names changed. */
  readonly version: number;
  readonly branch?: string | undefined;
  readonly caller: string;
  readonly requestId: string;
  /** Milliseconds since 1970. */
  readonly committedAt: number;
}

/** The form in lists, events and webhooks, with callers' names by their ids. */
export function toCommitFields(commit: Commit, names: ReadonlyMap<string, string>) {
  return {
    transaction_id: commit.id,
    operation: commit.operation,
    id: [...commit.path],
    renamed_from: commit.formerPath && [...commit.formerPath],
    version: commit.version === 0 ? undefined : commit.version,
    branch: commit.branch,
    caller: commit.caller,
    caller_name: names.get(commit.caller),
    request_id: commit.requestId,
    committed_at: new Date(commit.committedAt).toISOString(),
  };
}

/** Selects commits: of one of the tables or below one of the namespaces, and of one of the operations. */
export interface CommitFilter {
  /** If there are no namespaces either: all. */
  readonly tables: readonly NamespacePath[];
  readonly namespaces: readonly NamespacePath[];
  /** Empty for all. */
  readonly operations: readonly string[];
}

/** The selected commits as a reader of some paths sees them: a hidden path does not match the filter either. */
export function selectCommits(
  commits: readonly Commit[],
  filter: CommitFilter,
  mayRead: (path: NamespacePath) => boolean,
): readonly Commit[] {
  return commits
    .filter((commit) => isWanted(commit, filter))
    .flatMap((commit) => showCommit(commit, mayRead) ?? [])
    .filter((commit) => isWanted(commit, filter));
}

/** A rename is shown to readers of either path, with only the paths that they may read. `undefined` if hidden. */
export function showCommit(commit: Commit, mayRead: (path: NamespacePath) => boolean): Commit | undefined {
  const { path, formerPath } = commit;
  const isFormerShown = formerPath !== undefined && mayRead(formerPath);
  if (!mayRead(path)) return isFormerShown ? { ...commit, path: formerPath } : undefined;
  return formerPath === undefined || isFormerShown ? commit : { ...commit, formerPath: undefined };
}

export function isWanted(
  { path, formerPath, operation }: Pick<Commit, 'path' | 'formerPath' | 'operation'>,
  filter: CommitFilter,
): boolean {
  const { tables, namespaces, operations } = filter;
  if (operations.length > 0 && !operations.includes(operation)) return false;
  if (tables.length === 0 && namespaces.length === 0) return true;
  return [path, ...(formerPath === undefined ? [] : [formerPath])].some(
    (each) =>
      tables.some((table) => table.length === each.length && isWithin(each, table)) ||
      namespaces.some((namespace) => isWithin(each, namespace)),
  );
}
