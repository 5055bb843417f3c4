import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import type { Figure } from './campaign.ts';

export interface Result {
  readonly campaign: string;
  readonly promise: string;
  readonly seconds: number;
  readonly figures: readonly Figure[];
  /** Violations, with the details needed to reproduce them. */
  readonly details: readonly string[];
}

/** The scoreboard as a table that is also Markdown. */
export function formatFigures(results: readonly Result[], { isShort }: { readonly isShort: boolean }): string {
  const rows = results.flatMap(({ campaign, seconds, figures }) =>
    figures.map((figure, index) => [
      index === 0 ? campaign : '',
      index === 0 ? `${seconds} s` : '',
      figure.name,
      `${figure.value}${figure.unit === undefined ? '' : ` ${figure.unit}`}`,
      figure.goal ?? '',
      judge(figure, isShort),
    ]),
  );
  const table = [['campaign', 'time', 'figure', 'value', 'goal', ''], ...rows];
  const widths = (table[0] ?? []).map((_unused, column) =>
    Math.max(3, ...table.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = table;
  const rule = widths.map((width) => '-'.repeat(width));
  const details = results.flatMap(({ campaign, details: found }) => found.map((detail) => `${campaign}: ${detail}`));
  return `${[head, rule, ...body].map(line).join('\n')}\n${details.map((detail) => `\n${detail}\n`).join('')}`;
}

function judge({ isMet, isOfTheMachine }: Figure, isShort: boolean): string {
  if (isMet === undefined) return '';
  if (isMet) return 'met';
  return isShort && isOfTheMachine === true ? 'missed, not judged here' : 'MISSED';
}

export interface RunFacts {
  readonly isShort: boolean;
  readonly seed: number;
  readonly part: number;
  readonly seconds: number;
}

export async function keepResults(
  results: readonly Result[],
  { isShort, seed, part, seconds }: RunFacts,
): Promise<void> {
  await mkdir('trust/results', { recursive: true });
  const machine = {
    node: process.version,
    platform: process.platform,
    arch: process.arch,
    cores: availableParallelism(),
    memoryGibibytes: Math.round(totalmem() / 1024 ** 3),
  };
  const form = isShort ? 'short' : part === 1 ? 'full' : `${part} of full`;
  const kept = { at: new Date().toISOString(), form, seed, seconds, machine, results };
  await writeFile('trust/results/latest.json', `${JSON.stringify(kept, undefined, 2)}\n`);
}
