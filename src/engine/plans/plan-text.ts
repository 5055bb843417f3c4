import type { Analysis, Metric, PlanStep } from '../../model/query.ts';
import { locationUri } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';

export function toAnalysis(text: string, readRoot: () => PlanStep): Analysis {
  return {
    text,
    get root() {
      return readRoot();
    },
  };
}

/**
 * Parses the engine's analysis into a tree. Each step is one line, indented by two more spaces than its parent: `Name:
 * elapsed=…, details, metrics=[name=figure, …]`. Any other text becomes a single step: the plan quotes the caller's
 * literals unescaped, and no literal may turn an analysis into an error.
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

/** Parses a plan that was not run: it has no lists of metrics, which otherwise end a step. */
export function parseExplanation(text: string): PlanStep {
  const lines = text.trimEnd().split('\n');
  const ended = lines.map((line, index) => {
    const next = lines[index + 1];
    return next === undefined || STEP_LINE.test(next) ? `${line}, metrics=[]` : line;
  });
  return parsePlan(ended.join('\n'));
}

/** A step's line as the engine would write it. */
export function formatStepLine(operator: string, details: string, metrics: Readonly<Record<string, Metric>>): string {
  const { elapsed, ...others } = metrics;
  const figures = Object.entries(others).map(([name, metric]) => `${name}=${metric.text}`);
  const parts = [...(elapsed === undefined ? [] : [`elapsed=${elapsed.text}`]), ...(details === '' ? [] : [details])];
  return `${operator}: ${[...parts, `metrics=[${figures.join(', ')}]`].join(', ')}`;
}

/** Indents every step line by one level; line breaks inside a quoted literal are unchanged. */
export function indentPlan(text: string): string {
  const lines = toStepLines(text).map(({ depth, content }) => `${'  '.repeat(depth + 1)}${content}`);
  return lines.join('\n');
}

interface OpenStep extends PlanStep {
  readonly children: OpenStep[];
}

const STEP_LINE = /^((?: {2})*)([A-Z]\w*(?:[:, ].*)?)$/s;
const STEP_END = /metrics=\[[^\n]*\]$/;

/** Joins lines that were split by a line break inside a literal. */
function toStepLines(text: string) {
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

function parseFigures(text: string) {
  const metrics: Record<string, Metric> = {};
  // Added to the details, so that nothing of the engine's line is lost.
  const unread: string[] = [];
  for (const part of text === '' ? [] : text.split(/, (?=\w+=)/)) {
    const [, name = '', figure = ''] = /^(\w+)=(.*)$/s.exec(part) ?? [];
    const metric = parseMetric(name, figure);
    if (metric === undefined) unread.push(part);
    else metrics[name] = metric;
  }
  return { metrics, unread };
}

/** The elapsed time comes first, except after the only setting of the outermost step. */
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

/** Parses a metric in the engine's rounded, human-readable form; `undefined` if it is none. */
export function parseMetric(name: string, text: string): Metric | undefined {
  const [, digits, gap, unit] = /^(\d+(?:\.\d+)?)( ?)([a-zA-Zµμ]*)$/.exec(text) ?? [];
  if (digits === undefined || gap === undefined || unit === undefined) return undefined;
  const number = Number(digits);
  const nanoseconds = gap === '' ? NANOSECONDS[unit] : undefined;
  if (nanoseconds !== undefined) return { value: Math.round(number * nanoseconds), unit: 'nanoseconds', text };
  // `1.00 B` with two decimals means a billion; byte sizes have one decimal.
  const bytes = gap === ' ' && !(unit === 'B' && /\.\d\d$/.test(digits)) ? BYTES[unit] : undefined;
  if (bytes !== undefined) return { value: Math.round(number * bytes), unit: 'bytes', text };
  const count = COUNTS[gap + unit];
  if (count === undefined) return undefined;
  return { value: Math.round(number * count), unit: countsBytes(name) ? 'bytes' : 'count', text };
}

const NANOSECONDS: Readonly<Record<string, number>> = { ns: 1, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9 };
const BYTES: Readonly<Record<string, number>> = { B: 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30, TB: 2 ** 40 };
const COUNTS: Readonly<Record<string, number>> = { '': 1, ' K': 1e3, ' M': 1e6, ' B': 1e9, ' T': 1e12 };

function countsBytes(name: string): boolean {
  return name.startsWith('bytes_') || name.endsWith('_bytes');
}

const HIDDEN = '[hidden]';

/** Ends at what follows in the engine's line, because a path may contain commas. */
const ADDRESS = /^( *Lance\w+: (?:elapsed=[^,]*, )?uri=).*?(?=, (?:projection|row_id|range)\b|, metrics=\[|$)/gm;

/** Hides file paths: the address in steps that read, and the path of the table. */
export function redactPlan(text: string, location: TableLocation): string {
  const path = locationUri(location)
    .replace(/^[a-z0-9+.-]+:\/\//i, '')
    .replace(/^\/+/, '');
  return text.replaceAll(path, HIDDEN).replaceAll(encodeURI(path), HIDDEN).replace(ADDRESS, `$1${HIDDEN}`);
}
