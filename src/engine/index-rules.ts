import { quoteForMessage } from '../model/identifier.ts';
import type { ErrorRule } from './error-rule.ts';

/** Of indexes. */
export const INDEX_RULES: readonly ErrorRule[] = [
  {
    name: 'index-missing',
    blames: 'caller',
    pattern: /^(?:lance error: )?Lance index not found: name=(.*?), \//,
    kind: 'TableIndexNotFound',
    sentence: (name) => indexNotFound(name ?? ''),
  },
  {
    name: 'index-name-taken',
    blames: 'caller',
    pattern: /^(?:lance error: )?LanceError\(Index\): Index name '(.*)' already exists/,
    kind: 'TableIndexAlreadyExists',
    sentence: (name) => `The index ${quoteForMessage(name ?? '')} already exists, on another column.`,
    hint: 'Give another name, or drop that index first.',
  },
  {
    name: 'index-column-type',
    blames: 'caller',
    pattern: /^Schema Error: A ([\w ]+) index cannot be created on the field/,
    kind: 'InvalidInput',
    sentence: (type) => `A ${type} index cannot be made on a column of this type.`,
  },
  {
    name: 'index-rows-missing',
    blames: 'caller',
    pattern: /Not enough rows to train PQ\. Requires (\d+) rows but only (\d+) available/,
    kind: 'InvalidInput',
    sentence: (wanted, given) => `The index learns from at least ${wanted} vectors, and the table has ${given}.`,
    hint: 'Insert more rows, or use IVF_FLAT or IVF_HNSW_SQ.',
  },
  {
    name: 'index-vectors-missing',
    blames: 'caller',
    pattern: /KMeans cannot train (\d+) centroids with (\d+) vectors/,
    kind: 'InvalidInput',
    sentence: (partitions, vectors) =>
      `The index cannot have ${partitions} partitions: the table has ${vectors} vectors to learn from.`,
    hint: 'Vectors that are null or not finite do not count, nor do zero vectors with the distance type cosine.',
  },
];

export function indexNotFound(name: string): string {
  return `The table has no index ${quoteForMessage(name)}.`;
}
