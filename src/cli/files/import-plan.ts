import type { Column } from '../../formats/open-reader.ts';
import { formatPath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import { showPath } from '../session.ts';
import type { Result, Session } from '../session.ts';
import { drawTable } from '../show/draw-table.ts';
import { countOf } from '../show/text.ts';
import type { PartOptions, PlannedFile } from './import-parts.ts';
import type { InputFile } from './local-files.ts';

interface Import {
  readonly table: TablePath;
  readonly mode: string;
  readonly files: readonly InputFile[];
  readonly options: PartOptions;
}

/** Shows what an import would do, based on its first file, which decides the schema. */
export async function showPlan({ canvas }: Session, { table, mode, files, options }: Import): Promise<Result> {
  const [first] = files;
  if (first === undefined) throw new TypeError('an import without files');
  const { withPlan } = await import('./import-parts.ts');
  const { format, rowCount, columns } = await withPlan(first, options, async (plan) => plan);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const rows = rowCount === undefined || files.length > 1 ? '' : `${countOf(rowCount, 'row')}, `;
  const head = `Would import ${countOf(files.length, 'file')} (${rows}${formatBytes(bytes)}, ${format}) into ${showPath(table)}, mode ${mode}.\n\n`;
  const lines = columns.map(({ source, name, type, reason }) => [nameOf(source, name), type, reason]);
  const plan =
    lines.length === 0 ? 'The file is sent as it is.\n' : drawTable(['column', 'type', 'why'], lines, canvas);
  const reply = {
    table: formatPath(table),
    mode,
    format,
    rows: rowCount,
    files: files.map(({ path }) => path),
    columns,
  };
  return { reply, text: `${head}${plan}` };
}

function nameOf(source: string, name: string): string {
  return source === name ? name : `${source} → ${name}`;
}

/** Names the lists that become vectors, and how to keep them. */
export function describeVectors({ columns, sourceColumns }: PlannedFile): string {
  const lists = new Set(sourceColumns.filter(({ type }) => type.startsWith('list<')).map(({ source }) => source));
  return columns
    .filter(({ source, type, reason }) => lists.has(source) && !type.startsWith('list<') && isDetected(reason))
    .map(({ source, type, reason }) => `${source} becomes ${type} (${reason}). --no-vector ${source} keeps lists.\n`)
    .join('');
}

function isDetected(reason: Column['reason']): boolean {
  return reason !== 'chosen' && reason !== 'as in the table';
}
