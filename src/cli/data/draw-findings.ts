import type { TablePath } from '../../model/identifier.ts';
import type { Finding, Remedy, Severity } from '../../plans/advice.ts';
import { describeRemedy } from '../../plans/advice.ts';
import { showPath } from '../client-command.ts';
import type { Canvas } from '../show/draw-table.ts';
import { visibleText, wrapText } from '../show/text.ts';

const MARKS: Readonly<Record<Severity, string>> = { serious: '●', notable: '◐', hint: '○' };

/** What was found, why it matters, and the command that mends it. */
export function drawFindings(findings: readonly Finding[], table: TablePath, { paint, width }: Canvas): string {
  if (findings.length === 0) return `\n${paint.green('Nothing to improve was found.')}\n`;
  const lines = findings.flatMap(({ severity, title, seen, why, remedy }) => {
    const colour = severity === 'serious' ? paint.red : severity === 'notable' ? paint.yellow : paint.cyan;
    const text = wrapText(visibleText(`${seen} ${why}`), Math.min(width, 100) - 2).map((line) => `  ${line}`);
    const command = remedy === undefined ? undefined : remedyText(remedy, showPath(table));
    const cure = command === undefined ? [] : cureLines(command, Math.min(width, 100), paint);
    return ['', `${colour(MARKS[severity])} ${paint.bold(visibleText(title))}`, ...text, ...cure];
  });
  return `${lines.join('\n')}\n`;
}

/** A command stays in one piece, to be copied. */
function cureLines(text: string, width: number, paint: Canvas['paint']): readonly string[] {
  const lines = text.startsWith('tiltyard ') ? [text] : wrapText(text, width - 4);
  return lines.map((line, index) => `  ${index === 0 ? paint.dim('→') : ' '} ${line}`);
}

/** As a command where there is one, else in words. */
function remedyText(remedy: Remedy, table: string): string {
  switch (remedy.kind) {
    case 'create-index': {
      const distance = remedy.distanceType === undefined ? '' : ` --distance ${remedy.distanceType}`;
      return `tiltyard index create ${table} ${remedy.column} --type ${remedy.indexType}${distance}`;
    }
    case 'refresh-index':
    case 'merge-fragments':
      return `tiltyard optimize ${table}`;
    case 'prewarm-index':
    case 'set':
      return describeRemedy(remedy);
  }
}
