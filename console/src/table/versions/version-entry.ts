import type { TagShape } from '../../../../src/wire/history/refs.ts';
import type { Transaction } from '../../../../src/wire/history/transactions.ts';
import type { TableVersionShape } from '../../../../src/wire/history/versions.ts';
import type { DescribedTable } from '../described-table.ts';

export interface VersionEntry {
  readonly version: number;
  readonly milliseconds: number;
  readonly rows: number | undefined;
  readonly bytes: number | undefined;
  readonly fragments: number | undefined;
  /** Compared with the previous version. */
  readonly change: number | undefined;
  readonly commit: Transaction | undefined;
  readonly tags: readonly string[];
  /** Branches created from this version. */
  readonly branches: readonly string[];
}

export function toEntries(
  versions: readonly TableVersionShape[],
  commits: ReadonlyMap<number, Transaction>,
  table: DescribedTable,
): readonly VersionEntry[] {
  return versions.map((shape, index) => {
    const rows = numberIn(shape, 'total_rows');
    const older = versions[index + 1];
    const before = older === undefined ? undefined : numberIn(older, 'total_rows');
    return {
      version: shape.version,
      milliseconds: shape.timestamp_millis,
      rows,
      bytes: numberIn(shape, 'total_files_size'),
      fragments: numberIn(shape, 'total_fragments'),
      change: rows === undefined || before === undefined ? undefined : rows - before,
      commit: commits.get(shape.version),
      tags: namesAt(table.tags, shape.version, table.at.branch),
      branches: Object.entries(table.branches)
        .filter(
          ([, { parentVersion, parentBranch }]) => parentVersion === shape.version && parentBranch === table.at.branch,
        )
        .map(([name]) => name),
    };
  });
}

function namesAt(
  tags: Readonly<Record<string, TagShape>>,
  version: number,
  branch: string | undefined,
): readonly string[] {
  return Object.entries(tags)
    .filter(([, tag]) => tag.version === version && tag.branch === branch)
    .map(([name]) => name);
}

function numberIn({ metadata }: TableVersionShape, name: string): number | undefined {
  const text = metadata[name];
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
}
