import type { VectorIndexType } from '../model/index-spec.ts';
import { ALL_PROBES } from '../model/tuning/search-tuning.ts';
import type { MeasuredSearch, SearchSettings } from '../model/tuning/search-tuning.ts';

type Effort = Pick<SearchSettings, 'refineFactor' | 'ef'>;

/** The settings to try, cheapest first: how many partitions to search, and how thoroughly. */
export interface Ladders {
  readonly probes: readonly number[];
  readonly efforts: readonly Effort[];
}

/** A rung on each ladder. */
export interface Position {
  readonly probes: number;
  readonly efforts: number;
}

const PROBES = [2, 5, 10, 20, 40, 80, 160, 320, ALL_PROBES];

/** Where the first search of an index starts: the middle of what usually suffices. */
export const START: Position = { probes: 2, efforts: 2 };

const REFINE_FACTORS = [4, 10, 25, 60, 120, 200, 400];
const PLAIN: Effort = {};
const REFINED: readonly Effort[] = [PLAIN, ...REFINE_FACTORS.map((refineFactor) => ({ refineFactor }))];
/** A graph returns no more candidates than `ef`. */
const REFINED_GRAPH: readonly Effort[] = [
  PLAIN,
  ...REFINE_FACTORS.map((refineFactor) => ({ refineFactor, ef: refineFactor * 15 })),
];
const GRAPH: readonly Effort[] = [
  PLAIN,
  { refineFactor: 2 },
  { refineFactor: 2, ef: 50 },
  { refineFactor: 4, ef: 100 },
  { refineFactor: 5, ef: 200 },
  { refineFactor: 10, ef: 400 },
  { refineFactor: 20, ef: 1000 },
];

export const LADDERS: Readonly<Record<VectorIndexType, Ladders>> = {
  IVF_FLAT: { probes: PROBES, efforts: [PLAIN] },
  IVF_PQ: { probes: PROBES, efforts: REFINED },
  IVF_RQ: { probes: PROBES, efforts: REFINED },
  IVF_HNSW_SQ: { probes: PROBES, efforts: GRAPH },
  IVF_HNSW_PQ: { probes: PROBES, efforts: REFINED_GRAPH },
};

interface Climb {
  readonly ladders: Ladders;
  readonly start: Position;
  readonly goal: number;
  /** `undefined` when time is up. */
  readonly measure: (settings: SearchSettings) => Promise<MeasuredSearch | undefined>;
}

interface Rung extends MeasuredSearch {
  readonly position: Position;
}

type Axis = keyof Position;

/** A step that adds less recall than this is not what the search lacks. */
const GAIN_MIN = 0.01;

/**
 * Climbs the ladder that adds recall until the goal is reached, then goes down both as far as the goal allows. Returns
 * all measurements, and where to start for a narrower filter; `undefined` if there was no time at all.
 */
export async function climb({ ladders, start, goal, measure }: Climb) {
  const rungs = new Map<string, Rung>();
  const visit = async (position: Position | undefined): Promise<Rung | undefined> => {
    const settings = position && findSettings(ladders, position);
    if (position === undefined || settings === undefined) return undefined;
    const key = `${position.probes} ${position.efforts}`;
    const known = rungs.get(key);
    if (known !== undefined) return known;
    const measured = await measure(settings);
    if (measured === undefined) return undefined;
    const rung = { ...measured, position };
    rungs.set(key, rung);
    return rung;
  };
  const first = await visit(fitStart(ladders, start));
  if (first === undefined) return undefined;
  let top = first;
  while (top.recall < goal) {
    const higher = await findHigher(top, visit);
    if (higher === undefined) break;
    top = higher;
  }
  for (const axis of ['probes', 'efforts'] as const) top = await descend(top, axis, goal, visit);
  const measured = [...rungs.values()].toSorted(compareCost).map(({ position: _unused, ...search }) => search);
  return { measured, position: top.position, recall: top.recall };
}

type Visit = (position: Position) => Promise<Rung | undefined>;

/** It is unknown which ladder is too low, so tries each, and then both at once. */
async function findHigher(from: Rung, visit: Visit): Promise<Rung | undefined> {
  for (const axis of ['efforts', 'probes'] as const) {
    const next = await visit(move(from.position, axis, 1));
    if (next !== undefined && next.recall - from.recall >= GAIN_MIN) return next;
  }
  const both = await visit(move(move(from.position, 'efforts', 1), 'probes', 1));
  if (both !== undefined) return both;
  return (await visit(move(from.position, 'probes', 1))) ?? visit(move(from.position, 'efforts', 1));
}

async function descend(from: Rung, axis: Axis, goal: number, visit: Visit): Promise<Rung> {
  if (from.recall < goal) return from;
  const lower = await visit(move(from.position, axis, -1));
  return lower === undefined || lower.recall < goal ? from : descend(lower, axis, goal, visit);
}

function move(position: Position, axis: Axis, by: number): Position {
  return { ...position, [axis]: position[axis] + by };
}

/** Compares rungs: measured times would make the choice a matter of chance. */
function compareCost(one: Rung, other: Rung): number {
  const height = ({ position }: Rung): number => position.probes + position.efforts;
  return height(one) - height(other) || one.milliseconds - other.milliseconds;
}

function fitStart({ probes, efforts }: Ladders, start: Position): Position {
  return { probes: Math.min(start.probes, probes.length - 1), efforts: Math.min(start.efforts, efforts.length - 1) };
}

function findSettings(ladders: Ladders, position: Position): SearchSettings | undefined {
  const probes = ladders.probes[position.probes];
  const effort = ladders.efforts[position.efforts];
  return probes === undefined || effort === undefined ? undefined : { probes, ...effort };
}
