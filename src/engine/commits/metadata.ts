import { metadataFile } from '../../arrow/format/metadata-file.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { isReservedKey } from '../../guard/metadata.ts';
import { formatFieldPath, requireField, resolveField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { Schema } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { EngineRelease } from '../native/engine-release.ts';
import { readSchema } from '../tables/table-handle.ts';
import type { CommitPlan } from './commit-plan.ts';

export interface FieldMetadataEntry {
  readonly path: FieldPath;
  /** `null` deletes a key. */
  readonly metadata: Readonly<Record<string, string | null>>;
  readonly replace: boolean;
}

type Metadata = Readonly<Record<string, string>>;

/** Applies all entries in order, or none. The outcome has the metadata of each field, by canonical path. */
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
          // The commit is made: a failure to read it back must not become an error.
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

/** By canonical path, one whole map for each field: given several entries for a field, the engine loses keys. */
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

/** Callers cannot set reserved keys, so a replacement keeps them: without them the column loses its type. */
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
 * Replaces the metadata of the schema. The engine adds keys, by a schema that adds no column, but removes none, and since
 * 0.39.0 does not change their values either: what it cannot do is refused. Keys of the storage format, which callers
 * cannot set, stay.
 */
export function planSchemaMetadata(
  { isFallback }: EngineRelease,
  metadata: Metadata,
): CommitPlan<{ readonly metadata: Metadata }> {
  return {
    kinds: ['merge', 'project', 'config'],
    async prepare(table) {
      const present = (await table.schema()).metadata;
      const missing = [...present.keys()].filter((key) => !Object.hasOwn(metadata, key) && !isReservedKey(key));
      if (missing.length > 0) throw cannotRemove(missing);
      const changed = Object.keys(metadata).filter((key) => present.has(key) && present.get(key) !== metadata[key]);
      if (changed.length > 0 && !isFallback) throw cannotChange(changed);
      const file = metadataFile(Object.entries(metadata));
      return {
        expected: { metadata: { ...Object.fromEntries(present), ...metadata } },
        async commit() {
          const { version } = await engineCall(async () => table.native.addColumnsWithSchema(file));
          table.forget();
          const written = await readSchema(table.native).catch(() => undefined);
          return { version, outcome: { metadata: Object.fromEntries(written?.metadata ?? Object.entries(metadata)) } };
        },
      };
    },
  };
}

const NAMED_KEYS_MAX = 5;

function cannotRemove(keys: readonly string[]): ServiceError {
  return new ServiceError(
    'Unsupported',
    `The schema metadata has keys that were not given, and the storage engine cannot remove any: ${nameKeys(keys)}.`,
    { hint: 'Give these keys too, with the values that they have.' },
  );
}

function cannotChange(keys: readonly string[]): ServiceError {
  return new ServiceError(
    'Unsupported',
    `The schema metadata has other values for these keys, and the storage engine cannot change them: ${nameKeys(keys)}.`,
    { hint: 'Add a key of another name, or use the properties of the table.' },
  );
}

function nameKeys(keys: readonly string[]): string {
  return keys.slice(0, NAMED_KEYS_MAX).map(quoteForMessage).join(', ');
}
