import { ServiceError } from '../../errors/service-error.ts';
import type { FullTextIndexSpec } from '../../model/index-spec.ts';
import type { EngineRelease } from './engine-release.ts';
import type { NativeIndex, NativeIndexFactory, NativeTable } from './native.ts';

/**
 * Compacts, removes versions committed before `cutoff`, and refreshes indexes. 0.31.0 takes their age, 0.39.0 the time.
 */
export async function optimizeTable(
  native: NativeTable,
  { isFallback }: EngineRelease,
  cutoff = 0,
): ReturnType<NativeTable['optimize']> {
  const now = Date.now();
  const time = Math.min(Math.floor(cutoff), now);
  // Unreferenced files are kept for a week: another process may be writing them.
  return native.optimize(isFallback ? now - time : time, false);
}

const FALLBACK_HINT = 'The server runs on its fallback engine, which does not support them.';

/**
 * 0.39.0 has two more arguments than 0.31.0, one in the middle and one at the end. The engine crashes the process if it
 * does not know the language.
 */
export function toFullTextIndex(
  factory: NativeIndexFactory,
  { isFallback }: EngineRelease,
  spec: FullTextIndexSpec,
): NativeIndex {
  const words = [
    spec.withPosition,
    spec.baseTokenizer,
    spec.language,
    spec.maxTokenLength,
    spec.lowerCase,
    spec.stem,
    spec.removeStopWords,
  ] as const;
  const grams = [spec.asciiFolding, spec.ngramMinLength, spec.ngramMaxLength, spec.prefixOnly] as const;
  // LanceDB clients always send a block size; 128 is what 0.31.0 has.
  if (isFallback && (spec.customStopWords !== undefined || spec.blockSize === 256)) {
    throw new ServiceError('Unsupported', 'custom_stop_words and block_size are not offered.', { hint: FALLBACK_HINT });
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The declarations are those of 0.39.0.
  if (isFallback) return (factory.fts as unknown as (...given: readonly unknown[]) => NativeIndex)(...words, ...grams);
  return factory.fts(...words, spec.customStopWords && [...spec.customStopWords], ...grams, spec.blockSize);
}
