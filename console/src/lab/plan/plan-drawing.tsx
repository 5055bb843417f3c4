import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { PlanStep } from '../../../../src/model/query.ts';
import {
  formatBytes,
  formatCount,
  formatRows,
  formatShare,
  formatTime,
  formatFigure,
} from '../../../../src/plans/format-figure.ts';
import { figureOf, wordsOfStep } from '../../../../src/plans/plan-steps.ts';
import { layOutPlan } from './plan-layout.ts';
import type { DrawnStep } from './plan-layout.ts';

interface PlanDrawingProps {
  readonly label: string;
  readonly plan: PlanStep;
  /** Steps with findings. */
  readonly marked?: readonly PlanStep[];
  /** The initially selected step. */
  readonly first?: PlanStep | undefined;
}

/** Arrow keys move along the edges; the details of the focused or hovered step are below the tree. */
export function PlanDrawing({ label, plan, marked = [], first }: PlanDrawingProps): JSX.Element {
  const layout = useMemo(() => layOutPlan(plan), [plan]);
  const slowest = layout.steps.reduce<DrawnStep | undefined>(
    (most, step) => (most === undefined || step.share > most.share ? step : most),
    undefined,
  );
  const [chosen, setChosen] = useState<PlanStep | undefined>();
  const [hovered, setHovered] = useState<PlanStep | undefined>();
  const root = useRef<SVGSVGElement>(null);
  const find = (step: PlanStep | undefined): DrawnStep | undefined => layout.steps.find((each) => each.step === step);
  const active = find(chosen) ?? find(first) ?? slowest;
  const shown = find(hovered) ?? active;
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = active === undefined ? undefined : walk(event.key, active);
    if (next === undefined) return;
    event.preventDefault();
    setChosen(next.step);
    root.current?.querySelector<SVGGElement>(`[data-step="${layout.steps.indexOf(next)}"]`)?.focus();
  };
  return (
    <div class="plan">
      <div class="plan-frame">
        <svg
          ref={root}
          class="plan-drawing"
          width={layout.width}
          height={layout.height}
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          role="tree"
          aria-label={label}
          onKeyDown={onKeyDown}
          onPointerLeave={() => setHovered(undefined)}
        >
          {layout.steps.map((step) => (
            <Line key={layout.steps.indexOf(step)} step={step} />
          ))}
          {layout.steps.map((step, index) => (
            <Node
              key={index}
              index={index}
              step={step}
              isActive={step === active}
              isMarked={marked.includes(step.step)}
              onChoose={() => setChosen(step.step)}
              onHover={() => setHovered(step.step)}
            />
          ))}
        </svg>
      </div>
      {shown === undefined ? null : <StepDetails drawn={shown} />}
    </div>
  );
}

/** Up to the parent, down to the first child, sideways between siblings. */
function walk(key: string, { parent, children, step }: DrawnStep): DrawnStep | undefined {
  const siblings = parent?.children ?? [];
  const at = siblings.findIndex((each) => each.step === step);
  switch (key) {
    case 'ArrowUp':
      return parent;
    case 'ArrowDown':
      return children[0];
    case 'ArrowLeft':
      return siblings[at - 1];
    case 'ArrowRight':
      return siblings[at + 1];
    default:
      return undefined;
  }
}

/** The width grows with the number of rows. */
function Line({ step: { step, parent, x, y, width } }: { readonly step: DrawnStep }): JSX.Element | null {
  if (parent === undefined) return null;
  const rows = figureOf(step, 'output_rows');
  const [fromX, fromY] = [x + width / 2, y];
  const [toX, toY] = [parent.x + parent.width / 2, parent.y + parent.height];
  const middle = (fromY + toY) / 2;
  return (
    <g class="plan-line" aria-hidden="true">
      <path
        d={`M${fromX} ${fromY}C${fromX} ${middle} ${toX} ${middle} ${toX} ${toY}`}
        style={{ strokeWidth: `${(1 + Math.log10(rows + 1) * 0.9).toFixed(1)}px` }}
      />
      <text x={(fromX + toX) / 2 + 8} y={middle + 4}>
        {formatRows(rows)}
      </text>
    </g>
  );
}

interface NodeProps {
  readonly index: number;
  readonly step: DrawnStep;
  readonly isActive: boolean;
  readonly isMarked: boolean;
  readonly onChoose: () => void;
  readonly onHover: () => void;
}

function Node({ index, step: drawn, isActive, isMarked, onChoose, onHover }: NodeProps): JSX.Element {
  const { step, x, y, width, height, share, nanoseconds, isSmall, level } = drawn;
  const read = readOf(step);
  return (
    <g
      class={`plan-node${isSmall ? ' small' : ''}${isActive ? ' active' : ''}${isMarked ? ' marked' : ''}`}
      role="treeitem"
      aria-level={level}
      aria-selected={isActive}
      aria-label={toSentence(drawn)}
      // Preact would write `tabIndex`, which SVG does not support.
      {...{ tabindex: isActive ? 0 : -1 }}
      data-step={index}
      transform={`translate(${x} ${y})`}
      onFocus={onChoose}
      onClick={onChoose}
      onPointerEnter={onHover}
      style={{ '--heat': `${Math.round(Math.min(1, share * 1.15) * 100)}%` }}
    >
      <rect class="body" width={width} height={height} rx={isSmall ? 6 : 8} />
      {isSmall ? (
        <>
          <text class="name" x={10} y={19}>
            {wordsOfStep(step)}
          </text>
          <text class="figure" x={width - 10} y={19}>
            {formatTime(nanoseconds)}
          </text>
        </>
      ) : (
        <>
          <text class="name" x={12} y={22}>
            {wordsOfStep(step)}
          </text>
          <text class="figure strong" x={width - 12} y={22}>
            {formatShare(share)}
          </text>
          <text class="time" x={12} y={41}>
            {formatTime(nanoseconds)}
          </text>
          <text class="figure" x={width - 12} y={41}>
            {read}
          </text>
          <rect class="track" x={12} y={height - 20} width={width - 24} height={8} rx={4} />
          <rect class="bar" x={12} y={height - 20} width={Math.max(2, (width - 24) * share)} height={8} rx={4} />
        </>
      )}
      {isMarked ? <circle class="mark" cx={width} cy={0} r={6} /> : null}
    </g>
  );
}

function readOf(step: PlanStep): string {
  const [bytes, reads] = [figureOf(step, 'bytes_read'), figureOf(step, 'iops')];
  return bytes === 0 ? '' : `${formatBytes(bytes)} in ${formatCount(reads)} ${reads === 1 ? 'read' : 'reads'}`;
}

function toSentence({ step, share, nanoseconds }: DrawnStep): string {
  const read = readOf(step);
  const parts = [
    `${wordsOfStep(step)}, ${step.operator}`,
    `${formatTime(nanoseconds)}, ${formatShare(share)} of the time`,
    `${formatRows(figureOf(step, 'output_rows'))} out`,
    ...(read === '' ? [] : [`read ${read}`]),
  ];
  return parts.join('; ');
}

function StepDetails({ drawn }: { readonly drawn: DrawnStep }): JSX.Element {
  const { step, share, nanoseconds } = drawn;
  const figures = Object.entries(step.metrics).filter(([name]) => !/^expr_\d+/.test(name));
  return (
    <div class="step-details" role="group" aria-label="The step in full">
      <header>
        <h3>{wordsOfStep(step)}</h3>
        <code>{step.operator}</code>
        <span class="spring" />
        <strong>
          {formatTime(nanoseconds)} · {formatShare(share)}
        </strong>
      </header>
      {step.details === '' ? null : <p class="mono details">{step.details}</p>}
      <dl>
        {figures.map(([name, metric]) => (
          <div key={name}>
            <dt>{name.replaceAll('_', ' ')}</dt>
            <dd title={metric.text}>{formatFigure(metric.value, metric.unit)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
