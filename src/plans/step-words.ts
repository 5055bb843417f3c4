import type { PlanStep } from '../model/plan.ts';

const WORDS: Readonly<Record<string, string>> = {
  AnalyzeExec: 'Analysis',
  TracedExec: 'Query',
  ANNIvfPartition: 'Choose partitions',
  ANNSubIndex: 'Search the vector index',
  CoalesceBatchesExec: 'Join batches',
  CoalescePartitionsExec: 'Gather from threads',
  FilterExec: 'Filter',
  FlatMatchQuery: 'Look through texts',
  GlobalLimitExec: 'Limit',
  HybridFusionExec: 'Fuse both rankings',
  KNNVectorDistance: 'Compare vectors',
  LanceRead: 'Read rows',
  LanceScan: 'Read rows',
  MatchQuery: 'Search the text index',
  PhraseQuery: 'Search the text index',
  ProjectionExec: 'Choose columns',
  RepartitionExec: 'Spread over threads',
  ScalarIndexQuery: 'Look up in the index',
  SortExec: 'Sort',
  Take: 'Fetch columns',
  UnionExec: 'Put together',
};

/** What a step does, in words for people who do not know the engine; its own name when it has none here. */
export function wordsOfStep({ operator, details }: PlanStep): string {
  if (operator === 'SortExec' && /TopK\(fetch=\d+\), expr=\[_distance/.test(details)) return 'Keep the nearest';
  if (operator === 'SortExec' && details.startsWith('TopK')) return 'Keep the first';
  return WORDS[operator] ?? operator;
}

/** Steps that hold the plan together and neither read nor compute anything of note. */
export function isFrameStep({ operator }: PlanStep): boolean {
  return operator === 'AnalyzeExec' || operator === 'TracedExec';
}
