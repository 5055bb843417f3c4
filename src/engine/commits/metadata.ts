import { randomUUID } from 'node:crypto';
import { isReservedKey } from '../../guard/metadata.ts';
import { formatFieldPath, requireField, resolveField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { Schema } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import { versionConflict } from '../tables/open-tables.ts';
import { readSchema } from '../tables/table-handle.ts';
import type { WriteTarget } from '../tables/table-handle.ts';
import type { CommitPlan } from './commit-plan.ts';

export interface FieldMetadataEntry {
  readonly path: FieldPath;
  /** `null` deletes a key. */
  readonly metadata: Readonly<Record<string, string | null>>;
  readonly replace: boolean;
}

type Metadata = Readonly<Record<string, string>>;

/** Applies all entries in order, or none. The outcome is the metadata of each field, by canonical path. */
export function planFieldMetadata(
  entries: readonly FieldMetadataEntry[],
): CommitPlan<{ readonly fields: ReadonlyMap<string, Metadata> }> {
  return {
    kinds: ['config', 'project', 'merge'],
    async prepare(table) {
      const wanted = applyEntries(entries, await table.schema());
      const updates = [...wanted].map(([path, { metadata }]) => ({
        path,
        metadata: Object.fromEntries(metadata),
        replace: true,
      }));
      return {
        expected: { fields: new Map(updates.map(({ path, metadata }) => [path, metadata])) },
        async commit() {
          const { version } = await engineCall(async () => table.native.updateFieldMetadata(updates));
          table.forget();
          // The commit succeeded: a failure to read it back must not fail the request.
          const schema = await readSchema(table.native).catch(() => undefined);
          const fields = [...wanted].map(([canonical, { path, metadata }]) => {
            const field = schema === undefined ? undefined : resolveField(schema, path);
            return [canonical, Object.fromEntries(field?.metadata ?? metadata)] as const;
          });
          return { version, outcome: { fields: new Map(fields) } };
        },
      };
    },
  };
}

interface WantedMetadata {
  readonly path: FieldPath;
  readonly metadata: Map<string, string>;
}

/** One complete map for each field, by canonical path: given several entries for a field, the engine loses keys. */
function applyEntries(entries: readonly FieldMetadataEntry[], schema: Schema): Map<string, WantedMetadata> {
  const wanted = new Map<string, WantedMetadata>();
  for (const entry of entries) {
    const canonical = formatFieldPath(entry.path);
    const field = requireField(schema, entry.path);
    const present = wanted.get(canonical) ?? { path: entry.path, metadata: new Map(field.metadata) };
    wanted.set(canonical, present);
    applyEntry(present.metadata, entry);
  }
  return wanted;
}

/** Callers cannot set reserved keys, so a replacement keeps them; without them the column would lose its type. */
function applyEntry(metadata: Map<string, string>, entry: FieldMetadataEntry): void {
  if (entry.replace) {
    for (const key of metadata.keys()) if (!isReservedKey(key)) metadata.delete(key);
  }
  for (const [key, value] of Object.entries(entry.metadata)) {
    if (value === null) metadata.delete(key);
    else metadata.set(key, value);
  }
}

/**
 * Replaces the metadata of the schema. The engine can only add keys, so the service writes the manifest itself, as the
 * version right after the base, or not at all. Keys of the storage format, which callers cannot set, are kept.
 */
export function planSchemaMetadata(
  { storages }: EngineParts,
  { location, branch }: WriteTarget,
  metadata: Metadata,
): CommitPlan<{ readonly metadata: Metadata }> {
  // The same for every attempt, because the journal contains the first one's.
  const transactionId = randomUUID();
  return {
    kinds: ['config'],
    async prepare(table) {
      const baseVersion = await table.version();
      const present = [...(await table.schema()).metadata];
      const wanted = { ...Object.fromEntries(present.filter(([key]) => isReservedKey(key))), ...metadata };
      return {
        transactionId,
        expected: { metadata: wanted },
        async commit() {
          const update = { baseVersion, metadata: wanted, transactionId };
          const storage = storages.of(location.root);
          const isCommitted = await engineCall(async () => storage.replaceSchemaMetadata(location, branch, update));
          if (!isCommitted) throw versionConflict(baseVersion);
          table.forget();
          return { version: baseVersion + 1, outcome: { metadata: wanted } };
        },
      };
    },
  };
}
