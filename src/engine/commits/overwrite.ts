import { randomUUID } from 'node:crypto';
import type { ArrowChunk } from '../../arrow/stream/checked-stream.ts';
import type { Schema } from '../../model/schema.ts';
import { isMaintenance } from '../../model/table.ts';
import { engineCall, retryConflicts, RowsMissing } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { versionConflict } from '../tables/open-tables.ts';
import { readVersion } from '../tables/table-handle.ts';
import { createTable, withStorageVersion, writeStream } from '../tables/write-table.ts';
import type { TableData, WriteOutcome } from '../tables/write-table.ts';
import type { AppendedRows } from './append.ts';
import type { CommitPlan, Committed, MultiCommitPlan } from './commit-plan.ts';
import { requireFit } from './schema-fit.ts';

export interface OverwriteData extends TableData {
  /** The main branch if absent. */
  readonly branch?: string | undefined;
}

export interface LongOverwriteData extends OverwriteData {
  /** The schemas of later streams, if the rows arrived in several. */
  readonly laterSchemas?: readonly Schema[];
}

/** Replaces rows and schema with those of one chunk. */
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
            // Version 0 is a name without data, so create the table.
            if (base === 0) return toCommitted(await createTable(parts.connections, data));
            return toCommitted(await overwriteChunk(parts, data));
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

async function overwriteChunk(parts: EngineParts, data: OverwriteData): Promise<WriteOutcome> {
  return writeStream(data.source, async ({ file }) =>
    retryConflicts(parts.limits.writeAttemptsMax, async () => overwrite(parts, data, file)),
  );
}

async function overwrite(
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

/**
 * Replaces rows and schema with those of a long stream. The service itself commits the first version, which has no
 * rows, right after the base or not at all. The rest are appends, which a fence stops too. An overwrite by the engine
 * would pass a fence and expose a part of the stream.
 */
export function planLongOverwrite(parts: EngineParts, data: LongOverwriteData): MultiCommitPlan<AppendedRows> {
  const { location, branch } = data;
  let base = 0;
  const transactionId = randomUUID();
  return {
    async prepare() {
      for (const schema of data.laterSchemas ?? []) requireFit(schema, data.schema);
      base = (await parts.tables.findLatestVersion({ location, branch })) ?? 0;
      return { baseVersion: base, ...(base > 0 && { transactionId }) };
    },
    write: async () =>
      toCommitted(
        await writeStream(data.source, async (chunk) => beginVersion(parts, data, chunk, { base, transactionId })),
      ),
    close: () => {},
  };
}

interface BegunVersion {
  /** The version that the write follows. */
  readonly base: number;
  readonly transactionId: string;
}

async function beginVersion(
  parts: EngineParts,
  data: OverwriteData,
  { file, batches }: ArrowChunk,
  begun: BegunVersion,
): Promise<NativeTable> {
  const { location, branch } = data;
  if (begun.base === 0) {
    return parts.connections.writeTable(location, file, { mode: 'create', storageOptions: withStorageVersion(data) });
  }
  const version = await commitEmpty(parts, data, file, begun);
  const native = await parts.tables.openPrivate({ location, branch });
  try {
    // A later commit may have undone it.
    if ((await readVersion(native)) !== version) throw versionConflict(version);
    if (batches > 0) await engineCall(async () => native.add(file, 'append'));
    return native;
  } catch (error) {
    native.close();
    throw error;
  }
}

/** Returns its version. Concurrent compactions and indexes may be committed before it. */
async function commitEmpty(
  { storages, stagedSchemas, limits }: EngineParts,
  data: OverwriteData,
  file: Buffer,
  begun: BegunVersion,
): Promise<number> {
  const { location, branch } = data;
  const storage = storages.of(location.root);
  const options = withStorageVersion(data);
  const schemaManifest = await stagedSchemas.write(file, options);
  const empty = {
    schemaManifest,
    replacesFormat: options['new_table_data_storage_version'] !== undefined,
    transactionId: begun.transactionId,
  };
  let { base } = begun;
  for (let attempts = 0; attempts < limits.writeAttemptsMax; attempts += 1) {
    const next = { ...empty, baseVersion: base };
    if (await engineCall(async () => storage.commitEmpty(location, branch, next))) return base + 1;
    const commits = (await storage.readCommits(location, branch, base)) ?? [];
    if (!commits.every(({ kind }) => isMaintenance(kind))) break;
    base = commits.at(-1)?.version ?? base;
  }
  throw versionConflict(begun.base);
}

function toCommitted({ version, rows }: WriteOutcome): Committed<AppendedRows> {
  return { version, outcome: { rows } };
}
