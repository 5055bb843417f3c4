import type { Metric, PlanStep } from '../model/plan.ts';
import { parseMetric } from './plan-metric.ts';

/**
 * Reads the engine's analysis into a tree. Each step is one line, two spaces deeper than its parent:
 * `Name: elapsed=…, details, metrics=[name=figure, …]`. A text that does not look so becomes a single step: the plan
 * quotes the caller's literals as they are, and no literal may turn an analysis into an error.
 */
export function parsePlan(text: string): PlanStep {
  const root: OpenStep = { operator: '', details: '', metrics: {}, children: [] };
  const open: OpenStep[] = [root];
  for (const { depth, content } of toStepLines(text)) {
    const step = parseStep(content);
    const parent = open[depth];
    if (step === undefined || parent === undefined) return toOneStep(text);
    parent.children.push(step);
    open.length = depth + 1;
    open.push(step);
  }
  const [only] = root.children;
  return only === undefined || root.children.length > 1 ? toOneStep(text) : only;
}

/** Reads a plan that was not run: its steps have no metrics, by whose list the end of a step is known otherwise. */
export function parseExplanation(text: string): PlanStep {
  const lines = text.trimEnd().split('\n');
  const ended = lines.map((line, index) => {
    const next = lines[index + 1];
    return next === undefined || STEP_LINE.test(next) ? `${line}, metrics=[]` : line;
  });
  return parsePlan(ended.join('\n'));
}

/** The opposite: a step's line as the engine would write it. */
export function formatStepLine(operator: string, details: string, metrics: Readonly<Record<string, Metric>>): string {
  const { elapsed, ...others } = metrics;
  const figures = Object.entries(others).map(([name, metric]) => `${name}=${metric.text}`);
  const parts = [...(elapsed === undefined ? [] : [`elapsed=${elapsed.text}`]), ...(details === '' ? [] : [details])];
  return `${operator}: ${[...parts, `metrics=[${figures.join(', ')}]`].join(', ')}`;
}

/** Indents every step line by one level; lines inside a quoted literal stay as they are. */
export function indentPlan(text: string): string {
  const lines = toStepLines(text).map(({ depth, content }) => `${'  '.repeat(depth + 1)}${content}`);
  return lines.join('\n');
}

interface OpenStep extends PlanStep {
  readonly children: OpenStep[];
}

interface StepLine {
  readonly depth: number;
  readonly content: string;
}

const STEP_LINE = /^((?: {2})*)([A-Z]\w*(?:[:, ].*)?)$/s;
const STEP_END = /metrics=\[[^\n]*\]$/;

/** Joins a line to the one before it when that one is not at its end, as happens where a literal holds a line break. */
function toStepLines(text: string): readonly StepLine[] {
  const lines: { depth: number; content: string }[] = [];
  for (const line of text.split('\n')) {
    const last = lines.at(-1);
    const [, indent = '', content] = STEP_LINE.exec(line) ?? [];
    const isOpen = last !== undefined && !STEP_END.test(last.content);
    const isTooDeep = last !== undefined && indent.length / 2 > last.depth + 1;
    if (content !== undefined && !isOpen && !isTooDeep) lines.push({ depth: indent.length / 2, content });
    else if (last !== undefined && (isOpen || line !== '')) last.content += `\n${line}`;
  }
  return lines;
}

function parseStep(content: string): OpenStep | undefined {
  const metricsAt = content.lastIndexOf('metrics=[');
  const [operator] = /^\w+/.exec(content) ?? [];
  if (metricsAt < 0 || operator === undefined || !content.endsWith(']')) return undefined;
  const figures = parseFigures(content.slice(metricsAt + 'metrics=['.length, -1));
  const stated = content
    .slice(operator.length, metricsAt)
    .replace(/^[:,]? /, '')
    .replace(/, $/, '');
  const { elapsed, details } = takeElapsed(stated);
  return {
    operator,
    details: [...(details === '' ? [] : [details]), ...figures.unread].join(', '),
    metrics: { ...elapsed, ...figures.metrics },
    children: [],
  };
}

interface Figures {
  readonly metrics: Readonly<Record<string, Metric>>;
  /** Kept in the details, so that nothing of the engine's line is lost. */
  readonly unread: readonly string[];
}

function parseFigures(text: string): Figures {
  const metrics: Record<string, Metric> = {};
  const unread: string[] = [];
  for (const part of text === '' ? [] : text.split(/, (?=\w+=)/)) {
    const [, name = '', figure = ''] = /^(\w+)=(.*)$/s.exec(part) ?? [];
    const metric = parseMetric(name, figure);
    if (metric === undefined) unread.push(part);
    else metrics[name] = metric;
  }
  return { metrics, unread };
}

/** It comes first, except behind the one setting of the outermost step. */
function takeElapsed(stated: string): { elapsed: Readonly<Record<string, Metric>>; details: string } {
  const [whole, before = '', text = ''] = /^(verbose=\w+)?(?:, )?elapsed=([^,\s]+)(?:, |$)/.exec(stated) ?? [];
  const metric = parseMetric('elapsed', text);
  if (whole === undefined || metric === undefined) return { elapsed: {}, details: stated };
  return { elapsed: { elapsed: metric }, details: before + stated.slice(whole.length) };
}

function toOneStep(text: string): PlanStep {
  const [operator = 'Plan'] = /^\w+/.exec(text) ?? [];
  return { operator, details: text.trim(), metrics: {}, children: [] };
}
