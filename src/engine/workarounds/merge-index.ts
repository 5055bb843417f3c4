import type { ArrowChunk } from '../../arrow/stream/checked-stream.ts';
import type { Field, Schema } from '../../model/schema.ts';

export interface MergeSource {
  readonly schema: Schema;
  readonly chunk: ArrowChunk;
}

/**
 * Seen in @lancedb/lancedb 0.31.0 and 0.39.0: a merge that uses an index on its key loses new rows with a null key,
 * miscounts if the columns come in another order, and panics at a filter if some are omitted. Without the index it is
 * correct, only slower. Can be removed when such merges work with an index; the tests of merge show it.
 */
export function canUseIndex(keys: readonly Field[], { schema, chunk }: MergeSource, table: Schema): boolean {
  const isWhole = schema.fields.length === table.fields.length;
  const isInOrder = schema.fields.every(({ name }, index) => name === table.fields[index]?.name);
  const hasPlainKeys = keys.every(({ name, type }) => type.kind !== 'dictionary' && !chunk.nullColumns.has(name));
  return isWhole && isInOrder && hasPlainKeys;
}
