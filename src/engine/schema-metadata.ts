import { metadataFile } from '../arrow/metadata-file.ts';
import { ServiceError } from '../errors/service-error.ts';
import { isReservedKey } from '../guard/metadata.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { CommitPlan } from './commit-plan.ts';
import { engineCall } from './engine-errors.ts';
import { readSchema } from './open-table.ts';

export interface SchemaMetadataOutcome {
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Makes these pairs the metadata of the schema. The engine sets keys, with a schema that adds no column, but removes none;
 * so a key that would have to go is refused. Keys of the storage format, which callers cannot set, stay.
 */
export function planSchemaMetadata(metadata: Readonly<Record<string, string>>): CommitPlan<SchemaMetadataOutcome> {
  return {
    kinds: ['merge', 'project', 'config'],
    async prepare(table) {
      const present = (await table.schema()).metadata;
      const left = [...present.keys()].filter((key) => !Object.hasOwn(metadata, key) && !isReservedKey(key));
      if (left.length > 0) throw cannotRemove(left);
      const file = metadataFile(Object.entries(metadata));
      return {
        expected: { metadata: { ...Object.fromEntries(present), ...metadata } },
        async commit() {
          const { version } = await engineCall(async () => table.native.addColumnsWithSchema(file));
          table.forget();
          // The commit is made: if it cannot be read back, what was written stands for it.
          const written = await readSchema(table.native).catch(() => undefined);
          return { version, outcome: { metadata: Object.fromEntries(written?.metadata ?? Object.entries(metadata)) } };
        },
      };
    },
  };
}

const NAMED_KEYS_MAX = 5;

function cannotRemove(keys: readonly string[]): ServiceError {
  const named = keys.slice(0, NAMED_KEYS_MAX).map(quoteForMessage).join(', ');
  return new ServiceError(
    'Unsupported',
    `The schema metadata has keys that were not given, and the storage engine cannot remove any: ${named}.`,
    { hint: 'Give these keys too, with the values that they are to have.' },
  );
}
