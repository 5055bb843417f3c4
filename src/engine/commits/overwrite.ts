import type { CommitPlan, Committed, MultiCommitPlan } from './commit-plan.ts';
import { findLatestVersion, retryConflicts } from './commit-target.ts';
import { createTable, withStorageVersion, RowsMissing, writeStream } from '../tables/write-table.ts';
import type { TableData } from '../tables/write-table.ts';
import type { AppendedRows } from './append.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';

export type OverwriteParts = Pick<EngineParts, 'connections' | 'tables' | 'limits' | 'bulk'>;

export interface OverwriteData extends TableData {
  /** The main branch when absent. */
  readonly branch?: string | undefined;
}

/** Replaces rows and schema by those of one chunk. */
export function planOverwrite(parts: OverwriteParts, data: OverwriteData): CommitPlan<AppendedRows> {
  const rows = data.source.pulled.reduce((sum, chunk) => sum + chunk.rows, 0);
  return {
    kinds: ['overwrite'],
    mayBeMissing: true,
    async prepare(table) {
      const base = await table.version();
      return {
        addedRows: rows,
        expected: { rows },
        async commit() {
          try {
            return base === 0 ? await createMissing(parts, data) : await overwriteOnce(parts, data, rows);
          } finally {
            table.forget();
          }
        },
      };
    },
  };
}

/** Replaces rows and schema by those of a long stream. */
export function planLongOverwrite(parts: OverwriteParts, data: OverwriteData): MultiCommitPlan<AppendedRows> {
  return {
    prepare: async () => ({ baseVersion: (await findLatestVersion(parts.tables, toTarget(data))) ?? 0 }),
    write: async () => overwriteStream(parts, data),
    close: () => {},
  };
}

/** The name is there, but no data: it is written as if it were new. */
async function createMissing({ connections }: OverwriteParts, data: OverwriteData): Promise<Committed<AppendedRows>> {
  const { version, rows } = await createTable(connections, data);
  return { version, outcome: { rows } };
}

async function overwriteOnce(
  parts: OverwriteParts,
  data: OverwriteData,
  rows: number,
): Promise<Committed<AppendedRows>> {
  try {
    return await overwriteStream(parts, data);
  } catch (error) {
    if (!(error instanceof RowsMissing)) throw error;
    return { version: error.version, outcome: { rows }, fault: error };
  }
}

async function overwriteStream(parts: OverwriteParts, data: OverwriteData): Promise<Committed<AppendedRows>> {
  const { version, rows } = await writeStream(data.source, async (file) =>
    retryConflicts(parts.limits.writeAttemptsMax, async () => beginVersion(parts, data, file)),
  );
  return { version, outcome: { rows } };
}

async function beginVersion(
  { connections, tables }: OverwriteParts,
  data: OverwriteData,
  file: Buffer,
): Promise<NativeTable> {
  const { location, branch } = data;
  if (branch === undefined) {
    return connections.writeTable(location, file, { mode: 'overwrite', storageOptions: withStorageVersion(data) });
  }
  const native = await tables.openPrivate({ location, branch, version: undefined });
  try {
    await engineCall(async () => native.add(file, 'overwrite'));
    return native;
  } catch (error) {
    native.close();
    throw error;
  }
}

function toTarget({ location, branch }: OverwriteData) {
  return { location, branch };
}
