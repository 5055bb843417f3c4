import type { PlanStep } from '../model/query.ts';
import type { IndexContent, MeasuredSearchContent } from '../wire/indexes.ts';
import type { Evidence, Finding, PlanContext, Remedy, Settings, StepRules } from './advice.ts';
import { formatBytes, formatCount, formatRows, formatShare } from './format-figure.ts';
import { figureOf, findBelow, isFetch, listSteps, namesOf, settingOf } from './plan-steps.ts';
import { findDimension, findIndex, listColumns } from './table-facts.ts';

/** With fewer rows, an index is not faster. */
const COMPARED_ROWS_MIN = 10_000;
const PARTITIONS_MIN = 8;
const REFINE_FACTOR_MANY = 10;
const RECALL_GOOD = 0.9;

export const SEARCH_RULES: StepRules = {
  KNNVectorDistance: [findFullComparison, findRefinement],
  UnionExec: [findUnindexedRows],
  ANNSubIndex: [findColdIndex, findEveryPartition, findLowRecall, findMeasuredRecall],
};

export const TEXT_RULES: StepRules = { FlatMatchQuery: [findFlatTextSearch] };

function findFullComparison(step: PlanStep, evidence: Evidence): Finding | undefined {
  // Several vectors are compared in one step, which then outputs only the nearest.
  const compared = Math.max(figureOf(step, 'output_rows'), figureOf(findRead(step), 'output_rows'));
  const isPartOfIndexSearch = evidence.steps.some((each) => each.operator === 'ANNSubIndex');
  if (isPartOfIndexSearch || compared < COMPARED_ROWS_MIN) return undefined;
  const column = searchedColumn(step, evidence);
  const index = column === undefined ? undefined : findIndex(evidence.context.indexes, column, 'vector');
  const seen =
    `The vector was compared with ${formatRows(compared)}` +
    `${column === undefined ? '' : ` of ${column}`}, which took ${formatShare(evidence.shareOfTree(step))} of the time.`;
  if (evidence.context.query.bypass_vector_index === true) {
    return {
      kind: 'index-bypassed',
      severity: 'hint',
      title: 'The search bypasses the index',
      seen,
      why: 'An exact search is useful to measure the recall of an index. In production, the index finds nearly the same rows in a fraction of the time.',
      step,
      remedy: index === undefined ? undefined : { kind: 'set', settings: { bypass_vector_index: false } },
    };
  }
  if (index !== undefined) return toOtherDistance(step, seen, index);
  return {
    kind: 'no-vector-index',
    severity: 'serious',
    title: 'No vector index was used',
    seen,
    why: 'Without an index, every search reads all vectors, so its time grows with the table.',
    step,
    remedy: column === undefined ? undefined : toVectorIndex(column, step, evidence),
  };
}

function toOtherDistance(step: PlanStep, seen: string, index: IndexContent): Finding {
  const [, metric] = /"metric_type":"(\w+)"/.exec(index.index_details ?? '') ?? [];
  const asked = settingOf(step, 'metric');
  return {
    kind: 'other-distance',
    severity: 'serious',
    title: `The index ${index.index_name} was not used`,
    seen:
      metric === undefined || asked === undefined
        ? seen
        : `${seen} The index was built for the distance ${metric.toLowerCase()}, but the query uses ${asked}.`,
    why: 'A vector index only supports the distance that it was built for.',
    step,
    remedy: metric === undefined ? undefined : { kind: 'set', settings: { distance_type: metric.toLowerCase() } },
  };
}

function findRefinement(step: PlanStep, { context, share }: Evidence): Finding | undefined {
  const factor = context.query.refine_factor ?? 0;
  const fetch = listSteps(step).find(isFetch);
  const ann = findBelow(step, 'ANNSubIndex');
  const measured = ann && findMeasured(ann, context);
  if (measured !== undefined && factor <= (measured.refine_factor ?? 0)) return undefined;
  if (factor < 2 || fetch === undefined || ann === undefined) return undefined;
  const spent = share(step) + share(fetch);
  if (factor <= REFINE_FACTOR_MANY && spent < 0.5) return undefined;
  return {
    kind: 'refine-too-high',
    severity: spent >= 0.5 ? 'serious' : 'notable',
    title: 'Refining reads many candidates',
    seen:
      `${formatCount(figureOf(fetch, 'output_rows'))} candidates were read and compared again ` +
      `(${formatBytes(figureOf(fetch, 'bytes_read'))}), which took ${formatShare(spent)} of the time, with a refine_factor of ${factor}.`,
    why: 'Refining reads k × refine_factor exact vectors to correct the rounded distances of the index. A smaller factor often finds the same rows: compare the recall.',
    step: fetch,
    remedy: { kind: 'set', settings: { refine_factor: Math.max(1, Math.round(factor / 5)) } },
  };
}

function findUnindexedRows(step: PlanStep, evidence: Evidence): Finding | undefined {
  const ann = findBelow(step, 'ANNSubIndex');
  const beside = findRead(step);
  if (ann === undefined || beside === undefined) return undefined;
  const index = settingOf(ann, 'name');
  const listed = evidence.context.indexes?.find(({ index_name: name }) => name === index);
  const rows = figureOf(beside, 'output_rows');
  const all = listed === undefined ? undefined : (listed.num_indexed_rows ?? 0) + (listed.num_unindexed_rows ?? 0);
  const branch = step.children.find((child) => listSteps(child).includes(beside)) ?? beside;
  const spent = evidence.shareOfTree(branch);
  return {
    kind: 'unindexed-rows',
    severity: spent >= 0.25 || rows >= COMPARED_ROWS_MIN ? 'serious' : 'notable',
    title: 'Some rows are not in the index',
    seen:
      `${formatRows(rows)}${all === undefined || all === 0 ? '' : ` of ${formatCount(all)}`} ` +
      `were added after the index was built; comparing them one by one took ${formatShare(spent)} of the time.`,
    why: 'Rows that were added or changed later are searched without the index, which takes longer.',
    step: beside,
    remedy: index === undefined ? undefined : { kind: 'refresh-index', index },
  };
}

function findColdIndex(step: PlanStep): Finding | undefined {
  const partition = findBelow(step, 'ANNIvfPartition');
  const parts = figureOf(step, 'parts_loaded');
  if (parts + figureOf(partition, 'indices_loaded') === 0) return undefined;
  const index = settingOf(step, 'name');
  const bytes = figureOf(step, 'bytes_read') + figureOf(partition, 'bytes_read');
  const requests = figureOf(step, 'iops') + figureOf(partition, 'iops');
  return {
    kind: 'cold-index',
    severity: 'hint',
    title: 'The index was read from storage',
    seen: `Partitions loaded: ${formatCount(parts)}, ${formatBytes(bytes)} in ${formatCount(requests)} reads.`,
    why: 'Only the first search after a start or an index build does this. Run the query again to see the cost of the search itself.',
    step,
    remedy: index === undefined ? undefined : { kind: 'prewarm-index', index },
  };
}

function findEveryPartition(step: PlanStep, { context }: Evidence): Finding | undefined {
  const { searched, ranked } = partitionsOf(step);
  const isLowRecall = context.recall !== undefined && context.recall < RECALL_GOOD;
  // With a filter, the engine searches partitions until it has enough rows.
  const isChosen = context.query.nprobes === undefined && findMeasured(step, context) !== undefined;
  if (isChosen || ranked < PARTITIONS_MIN || searched < ranked || isLowRecall || context.query.filter !== undefined)
    return undefined;
  return {
    kind: 'every-partition',
    severity: 'notable',
    title: 'Every partition of the index was searched',
    seen: `${formatCount(searched)} of ${formatCount(ranked)} partitions, ${formatCount(figureOf(step, 'index_comparisons'))} comparisons.`,
    why: 'An index saves time by skipping partitions. Fewer probes are faster; compare the recall.',
    step,
    remedy: { kind: 'set', settings: { nprobes: Math.max(1, Math.ceil(ranked / 4)) } },
  };
}

function findLowRecall(step: PlanStep, { context }: Evidence): Finding | undefined {
  const { recall } = context;
  if (recall === undefined || recall >= RECALL_GOOD) return undefined;
  const { searched, ranked } = partitionsOf(step);
  return {
    kind: 'low-recall',
    severity: recall < 0.5 ? 'serious' : 'notable',
    title: 'The index misses rows that an exact search finds',
    seen: `The search found ${formatShare(recall)} of the rows of the exact search, in ${formatCount(searched)} of ${formatCount(ranked)} partitions.`,
    why:
      searched < ranked
        ? 'The missing rows are in partitions that were skipped: more probes find them, but take longer.'
        : 'All partitions were searched, so the compressed vectors of the index are too imprecise: comparing more candidates exactly finds more rows.',
    step,
    remedy: {
      kind: 'set',
      settings: searched < ranked ? { nprobes: Math.min(ranked, Math.max(2, searched * 4)) } : toEffort(step, context),
    },
  };
}

const NEIGHBOURS_DEFAULT = 10;

/**
 * A graph search ends early and needs a larger `ef`; other indexes round vectors and need more candidates to refine.
 */
function toEffort(step: PlanStep, context: PlanContext): Settings {
  const { query } = context;
  const isGraph = findListed(step, context)?.index_type.includes('HNSW') === true;
  if (isGraph) return { ef: Math.max(64, 4 * (query.ef ?? 2 * (query.k ?? NEIGHBOURS_DEFAULT))) };
  return { refine_factor: Math.max(2, (query.refine_factor ?? 1) * 4) };
}

const MEASURED_ROWS_MIN = 1000;

/** Without a comparison with an exact search, the server's measurements show whether rows are missed. */
function findMeasuredRecall(step: PlanStep, { context }: Evidence): Finding | undefined {
  if (context.recall !== undefined) return undefined;
  const { query } = context;
  const index = findListed(step, context);
  if (index === undefined) return undefined;
  const measured = findMeasured(step, context);
  if (index.search === undefined || measured === undefined) {
    return (index.num_indexed_rows ?? 0) < MEASURED_ROWS_MIN ? undefined : toUnknownRecall(step, index);
  }
  const { recall_target: target, advice } = index.search;
  const isExplicit = query.nprobes !== undefined || query.refine_factor !== undefined || query.ef !== undefined;
  const lacking = isExplicit ? findLacking(step, measured, query) : {};
  if (Object.keys(lacking).length > 0) {
    return {
      kind: 'low-recall',
      severity: 'notable',
      title: 'The search parameters are too low for the index',
      seen: `They are below the measured parameters, which find ${formatShare(measured.recall)} of the exact neighbours.`,
      why: 'Without parameters, a search uses those that the server measured for the index.',
      step,
      remedy: { kind: 'set', settings: lacking },
    };
  }
  if (measured.recall >= (query.recall_target ?? target)) return undefined;
  return {
    kind: 'low-recall',
    severity: measured.recall < 0.5 ? 'serious' : 'notable',
    title: 'The index misses rows that an exact search finds',
    seen: `The measured recall of the index is ${formatShare(measured.recall)}; the target is ${formatShare(query.recall_target ?? target)}.`,
    why: advice ?? 'None of the parameters that were measured reach the target.',
    step,
    remedy: undefined,
  };
}

function toUnknownRecall(step: PlanStep, { index_name: index }: IndexContent): Finding {
  return {
    kind: 'unknown-recall',
    severity: 'hint',
    title: 'The recall of the index is unknown',
    seen: `The recall of ${index} was not measured.`,
    why: 'Maintenance measures the recall of an index. Searches without parameters then use parameters that reach the target.',
    step,
    remedy: { kind: 'refresh-index', index },
  };
}

/** Explicit parameters that are below the measured ones. */
function findLacking(step: PlanStep, measured: MeasuredSearchContent, query: PlanContext['query']): Settings {
  const { nprobes = 0, refine_factor: refine = 0 } = measured;
  const { searched, ranked } = partitionsOf(step);
  return {
    ...(searched < Math.min(nprobes, ranked) ? { nprobes } : {}),
    ...((query.refine_factor ?? 0) < refine ? { refine_factor: refine } : {}),
  };
}

/** With a filter, the parameters measured for the narrowest one. */
function findMeasured(step: PlanStep, context: PlanContext): MeasuredSearchContent | undefined {
  const search = findListed(step, context)?.search;
  return context.query.filter === undefined ? search : (search?.filtered.at(-1) ?? search);
}

function findListed(step: PlanStep, { indexes }: PlanContext): IndexContent | undefined {
  const name = settingOf(step, 'name');
  return indexes?.find((index) => index.index_name === name);
}

function partitionsOf(step: PlanStep): { readonly searched: number; readonly ranked: number } {
  const ranked = figureOf(findBelow(step, 'ANNIvfPartition'), 'partitions_ranked');
  return { searched: figureOf(step, 'partitions_searched'), ranked };
}

function findRead(step: PlanStep): PlanStep | undefined {
  const below = step.children.flatMap(listSteps);
  return below.find((each) => (each.operator === 'LanceScan' || each.operator === 'LanceRead') && !isFetch(each));
}

function searchedColumn(step: PlanStep, { context }: Evidence): string | undefined {
  const { query, schema } = context;
  if (query.vector_column !== undefined) return query.vector_column;
  const read = new Set(listSteps(step).flatMap((each) => namesOf(each, 'projection')));
  const vectors = listColumns(schema).filter(({ type }) => findDimension(type) !== undefined);
  const searched = vectors.filter(({ path }) => read.has(path.split('.', 1)[0] ?? ''));
  return (searched.length === 1 ? searched[0] : undefined)?.path;
}

function toVectorIndex(column: string, step: PlanStep, { context }: Evidence): Remedy {
  const type = listColumns(context.schema).find(({ path }) => path === column)?.type;
  const dimension = type === undefined ? undefined : findDimension(type);
  const metric = settingOf(step, 'metric');
  // Product quantization splits vectors into parts of equal length, and does not apply to byte vectors.
  const isDivisible = dimension !== undefined && dimension % 8 === 0 && metric !== 'hamming';
  const indexType = isDivisible ? 'IVF_PQ' : 'IVF_FLAT';
  return { kind: 'create-index', column, indexType, ...(metric === undefined ? {} : { distanceType: metric }) };
}

function findFlatTextSearch(step: PlanStep, evidence: Evidence): Finding | undefined {
  const column = settingOf(step, 'column');
  const read = findRead(step);
  if (column === undefined || read === undefined) return undefined;
  const rows = figureOf(read, 'output_rows');
  const spent = evidence.shareOfTree(step);
  const seen = `${formatRows(rows)} of ${column} were searched one by one, which took ${formatShare(spent)} of the time.`;
  const isBesideIndex = evidence.steps.some(
    (each) => each.operator === 'MatchQuery' && settingOf(each, 'column') === column,
  );
  if (!isBesideIndex) {
    return {
      kind: 'text-without-index',
      severity: 'serious',
      title: 'The full-text search used no index',
      seen,
      why: 'A full-text index finds words without reading the texts, and ranks results by how rare each word is in the table.',
      step,
      remedy: { kind: 'create-index', column, indexType: 'FTS' },
    };
  }
  const index = findIndex(evidence.context.indexes, column, 'text');
  return {
    kind: 'unindexed-rows',
    severity: spent >= 0.25 ? 'serious' : 'notable',
    title: 'Some rows are not in the full-text index',
    seen,
    why: 'Rows that were added or changed after the build are searched without the index: each text must be read.',
    step,
    remedy: index === undefined ? undefined : { kind: 'refresh-index', index: index.index_name },
  };
}
