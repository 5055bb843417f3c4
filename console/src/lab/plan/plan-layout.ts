import type { PlanStep } from '../../../../src/model/query.ts';
import { figureOf, isFrameStep, ownTimes, timeShares } from '../../../../src/plans/plan-steps.ts';

export interface DrawnStep {
  readonly step: PlanStep;
  readonly share: number;
  readonly nanoseconds: number;
  readonly isSmall: boolean;
  readonly level: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly parent: DrawnStep | undefined;
  readonly children: readonly DrawnStep[];
}

interface PlanLayout {
  readonly steps: readonly DrawnStep[];
  readonly width: number;
  readonly height: number;
}

const GAP_X = 24;
const GAP_Y = 30;
const MARGIN = 12;
const WIDTH = { small: 196, least: 216, more: 90 };
const HEIGHT = { small: 30, large: 76 };
/** Steps without reads and with a smaller share of the time are drawn compactly. */
const SMALL_SHARE = 0.03;

/** The root is at the top, and each parent is centered above its children. */
export function layOutPlan(root: PlanStep): PlanLayout {
  const times = ownTimes(root);
  const shares = timeShares(root);
  const steps: DrawnStep[] = [];
  const sizeOf = (step: PlanStep): { isSmall: boolean; width: number; height: number } => {
    const share = shares.get(step) ?? 0;
    const isSmall = share < SMALL_SHARE && figureOf(step, 'bytes_read') === 0;
    const width = isSmall ? WIDTH.small : Math.round(WIDTH.least + WIDTH.more * Math.sqrt(share));
    return { isSmall, width, height: isSmall ? HEIGHT.small : HEIGHT.large };
  };
  const spanOf = (step: PlanStep): number => {
    const below = visibleChildren(step).map(spanOf);
    return Math.max(
      sizeOf(step).width,
      below.reduce((sum, span) => sum + span, 0) + GAP_X * Math.max(0, below.length - 1),
    );
  };
  const place = (step: PlanStep, left: number, y: number, parent: DrawnStep | undefined): DrawnStep => {
    const { isSmall, width, height } = sizeOf(step);
    const span = spanOf(step);
    const children: DrawnStep[] = [];
    const drawn: DrawnStep = {
      step,
      share: shares.get(step) ?? 0,
      nanoseconds: times.get(step) ?? 0,
      isSmall,
      level: (parent?.level ?? 0) + 1,
      x: left + (span - width) / 2,
      y,
      width,
      height,
      parent,
      children,
    };
    steps.push(drawn);
    const below = visibleChildren(step);
    const total = below.reduce((sum, child) => sum + spanOf(child), 0) + GAP_X * Math.max(0, below.length - 1);
    let at = left + (span - total) / 2;
    for (const child of below) {
      children.push(place(child, at, y + height + GAP_Y, drawn));
      at += spanOf(child) + GAP_X;
    }
    return drawn;
  };
  const shown = skipFrames(root);
  place(shown, MARGIN, MARGIN, undefined);
  return {
    steps,
    width: spanOf(shown) + 2 * MARGIN,
    height: Math.max(...steps.map(({ y, height }) => y + height)) + MARGIN,
  };
}

function visibleChildren(step: PlanStep): readonly PlanStep[] {
  return step.children.map(skipFrames);
}

/** Wrapper steps carry no information about the query. */
function skipFrames(step: PlanStep): PlanStep {
  const [only] = step.children;
  return isFrameStep(step) && only !== undefined ? skipFrames(only) : step;
}
