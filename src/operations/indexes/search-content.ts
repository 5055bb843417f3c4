import { isVectorIndexType } from '../../model/index-spec.ts';
import type { VectorIndexType } from '../../model/index-spec.ts';
import { ALL_PROBES, chooseMeasured, toRecallGoal } from '../../model/tuning/search-tuning.ts';
import type { IndexTuning, MeasuredSearch, TunedClass } from '../../model/tuning/search-tuning.ts';
import type { IndexSearch, MeasuredSearchContent } from '../../wire/indexes.ts';
import type { Sent } from '../../wire/shapes.ts';

/** The parameters that searches without parameters use, and their recall. */
export function toSearchContent(tuning: IndexTuning): Sent<IndexSearch> {
  const { target, classes, tunedAt, milliseconds } = tuning;
  const goal = toRecallGoal(tuning, target);
  const [unfiltered, ...filtered] = classes.map((each) => toMeasuredContent(each, goal));
  return {
    recall_target: target,
    ...(unfiltered ?? { share: 1, recall: 0, latency_ms: 0 }),
    filtered,
    tuned_at: new Date(tunedAt).toISOString(),
    tuning_ms: milliseconds,
    advice: findAdvice(tuning),
  };
}

function toMeasuredContent(tuned: TunedClass, goal: number): Sent<MeasuredSearchContent> {
  const { settings, recall, milliseconds }: MeasuredSearch = chooseMeasured(tuned, goal) ?? NOTHING;
  const isAll = settings.probes === ALL_PROBES;
  return {
    share: tuned.share,
    recall,
    latency_ms: milliseconds,
    nprobes: isAll ? undefined : settings.probes,
    all_partitions: isAll ? true : undefined,
    exact: settings.isExact,
    refine_factor: settings.refineFactor,
    ef: settings.ef,
  };
}

const NOTHING: MeasuredSearch = { settings: {}, recall: 0, milliseconds: 0 };

function findAdvice(tuning: IndexTuning): string | undefined {
  const { classes, target, indexType } = tuning;
  const goal = toRecallGoal(tuning, target);
  const missed = classes.find((each) => {
    const { recall, settings } = chooseMeasured(each, goal) ?? NOTHING;
    return recall < target || settings.isExact === true;
  });
  if (missed === undefined) return undefined;
  const { recall, settings } = chooseMeasured(missed, goal) ?? NOTHING;
  const filter = missed.share === 1 ? '' : ` with a filter that ${missed.share * 100}% of the rows match`;
  const wanted = `${Math.round(target * 100)}%`;
  const fact =
    settings.isExact === true
      ? `Searches${filter} compare every row, because the index does not find ${wanted} of the exact neighbours.`
      : `Searches${filter} find ${Math.round(recall * 100)}% of the exact neighbours; the target is ${wanted}.`;
  return `${fact} ${isVectorIndexType(indexType) ? REMEDIES[indexType] : 'Build the index again with another type.'}`;
}

const REMEDIES: Readonly<Record<VectorIndexType, string>> = {
  IVF_FLAT: 'Rebuild the index with fewer partitions (num_partitions).',
  IVF_PQ: 'Rebuild the index with more sub-vectors (num_sub_vectors), or as IVF_HNSW_SQ.',
  IVF_RQ: 'Rebuild the index with more bits (num_bits), or as IVF_HNSW_SQ.',
  IVF_HNSW_SQ: 'Rebuild the index with more neighbours (m) and a larger ef_construction.',
  IVF_HNSW_PQ: 'Rebuild the index as IVF_HNSW_SQ, or with more sub-vectors (num_sub_vectors).',
};
