import type { SchemaJson, TypeJson } from '../../wire/schema/schema-json.ts';
import type { Canvas } from './draw-table.ts';
import { cutText, padText, textWidth, visibleText } from './text.ts';
import type { IndexContent } from '../../wire/indexes.ts';
import { formatBytes, formatCount } from '../../plans/format-figure.ts';
import { drawTable } from './draw-table.ts';

interface Line {
  readonly tree: string;
  readonly name: string;
  readonly type: string;
  readonly notes: string;
}

/** The fields as a tree: name, type, and what else is to say. */
export function drawSchema(schema: object, { paint, width }: Canvas): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The server describes a schema in this form.
  const { fields } = schema as SchemaJson;
  const lines = fields.flatMap((field) => linesOf(field, { own: '', below: '' }));
  const first = Math.min(40, Math.max(0, ...lines.map(({ tree, name }) => textWidth(tree + name))));
  const second = Math.min(40, Math.max(0, ...lines.map(({ type }) => textWidth(type))));
  return lines
    .map(({ tree, name, type, notes }) => {
      const label = paint.dim(tree) + padText(cutText(name, first - tree.length), first - tree.length);
      const rest = cutText(notes, Math.max(4, width - first - second - 4));
      return `${label}  ${paint.cyan(padText(type, second))}  ${paint.dim(rest)}`.trimEnd() + '\n';
    })
    .join('');
}

type FieldJson = SchemaJson['fields'][number];

interface Branches {
  readonly own: string;
  readonly below: string;
}

function linesOf(field: FieldJson, { own, below }: Branches): readonly Line[] {
  const children = childrenOf(field.type);
  const line = { tree: own, name: visibleText(field.name), type: typeText(field.type), notes: notesOf(field) };
  const nested = children.flatMap((child, index) => {
    const isLast = index === children.length - 1;
    return linesOf(child, {
      own: `${below}${isLast ? '└ ' : '├ '}`,
      below: `${below}${isLast ? '  ' : '│ '}`,
    });
  });
  return [line, ...nested];
}

/** Of a list of plain values, the item says nothing that the type does not. */
function childrenOf(type: TypeJson): readonly FieldJson[] {
  if (type.type === 'struct') return type.fields ?? [];
  const [item] = type.fields ?? [];
  return item === undefined ? [] : childrenOf(item.type);
}

function typeText(type: TypeJson): string {
  const [item] = type.fields ?? [];
  if (type.type === 'struct' || item === undefined) {
    // Lance writes a dash where a timestamp has no zone.
    const name = type.type.replace(/:-$/, '');
    return type.length === undefined ? name : `${name}[${type.length}]`;
  }
  if (type.type === 'fixed_size_list') return `${typeText(item.type)}[${type.length ?? ''}]`;
  return type.type === 'map' ? 'map' : `${typeText(item.type)}[]`;
}

function notesOf({ nullable, metadata }: FieldJson): string {
  const pairs = Object.entries(metadata ?? {}).map(([name, value]) => `${visibleText(name)}=${visibleText(value)}`);
  return [...(nullable ? [] : ['not null']), ...pairs].join('  ');
}

const HEADS = [
  { title: 'index' },
  { title: 'type' },
  { title: 'columns' },
  { title: 'rows', align: 'right' },
  { title: 'not yet in it', align: 'right' },
  { title: 'size', align: 'right' },
] as const;

export function drawIndexes(indexes: readonly IndexContent[], canvas: Canvas): string {
  const rows = indexes.map((index) => [
    visibleText(index.index_name),
    index.index_type,
    visibleText(index.columns.join(', ')),
    index.num_indexed_rows === undefined ? '' : formatCount(index.num_indexed_rows),
    index.num_unindexed_rows === undefined ? '' : formatCount(index.num_unindexed_rows),
    index.size_bytes === undefined ? '' : formatBytes(index.size_bytes),
  ]);
  return drawTable(HEADS, rows, canvas);
}
