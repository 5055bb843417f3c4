import { engineCall, retryConflicts, RowsMissing } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { createTable, withStorageVersion, writeStream } from '../tables/write-table.ts';
import type { TableData, WriteOutcome } from '../tables/write-table.ts';
import type { AppendedRows } from './append.ts';
import type { CommitPlan, Committed, MultiCommitPlan } from './commit-plan.ts';

export interface OverwriteData extends TableData {
  /** The main branch when absent. */
  readonly branch?: string | undefined;
}

/** Replaces rows and schema by those of one chunk. */
export function planOverwrite(parts: EngineParts, data: OverwriteData): CommitPlan<AppendedRows> {
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
            // Version 0 is a name without data: the table is created.
            if (base === 0) return toCommitted(await createTable(parts.connections, data));
            return toCommitted(await overwriteStream(parts, data));
          } catch (error) {
            if (base === 0 || !(error instanceof RowsMissing)) throw error;
            return { version: error.version, outcome: { rows }, fault: error };
          } finally {
            table.forget();
          }
        },
      };
    },
  };
}

/** Replaces rows and schema by those of a long stream. */
export function planLongOverwrite(parts: EngineParts, data: OverwriteData): MultiCommitPlan<AppendedRows> {
  const { location, branch } = data;
  return {
    prepare: async () => ({ baseVersion: (await parts.tables.findLatestVersion({ location, branch })) ?? 0 }),
    write: async () => toCommitted(await overwriteStream(parts, data)),
    close: () => {},
  };
}

async function overwriteStream(parts: EngineParts, data: OverwriteData): Promise<WriteOutcome> {
  return writeStream(data.source, async (file) =>
    retryConflicts(parts.limits.writeAttemptsMax, async () => beginVersion(parts, data, file)),
  );
}

async function beginVersion(
  { connections, tables }: EngineParts,
  data: OverwriteData,
  file: Buffer,
): Promise<NativeTable> {
  const { location, branch } = data;
  if (branch === undefined) {
    return connections.writeTable(location, file, { mode: 'overwrite', storageOptions: withStorageVersion(data) });
  }
  const native = await tables.openPrivate({ location, branch });
  try {
    await engineCall(async () => native.add(file, 'overwrite'));
    return native;
  } catch (error) {
    native.close();
    throw error;
  }
}

function toCommitted({ version, rows }: WriteOutcome): Committed<AppendedRows> {
  return { version, outcome: { rows } };
}
