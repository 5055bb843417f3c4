import { COMPUTED_KEY } from '../../model/schema.ts';
import { formatBytes, formatCount, formatShare } from '../../plans/format-figure.ts';
import type { IndexContent } from '../../wire/indexes.ts';
import type { SchemaJson, TypeJson } from '../../wire/schema/schema-json.ts';
import { drawTable } from './draw-table.ts';
import type { Canvas } from './draw-table.ts';
import { cutText, padText, textWidth, treeLines, visibleText } from './text.ts';

const WIDTH_MAX = 40;

/** The fields as a tree: name, type, nullability, and metadata. */
export function drawSchema({ fields }: SchemaJson, { paint, width }: Canvas): string {
  const lines = fields
    .flatMap((field) => treeLines(field, ({ type }) => childrenOf(type)))
    .map(({ node, prefix }) => ({ prefix, name: visibleText(node.name), type: typeText(node.type), node }));
  const first = Math.min(WIDTH_MAX, Math.max(0, ...lines.map(({ prefix, name }) => textWidth(prefix + name))));
  const second = Math.min(WIDTH_MAX, Math.max(0, ...lines.map(({ type }) => textWidth(type))));
  return lines
    .map(({ prefix, name, type, node }) => {
      const nameWidth = first - prefix.length;
      const label = paint.dim(prefix) + padText(cutText(name, nameWidth), nameWidth);
      const rest = cutText(notesOf(node), Math.max(4, width - first - second - 4));
      return `${label}  ${paint.cyan(padText(type, second))}  ${paint.dim(rest)}`.trimEnd() + '\n';
    })
    .join('');
}

type FieldJson = SchemaJson['fields'][number];

/** The item of a list of plain values is already part of its type. */
function childrenOf(type: TypeJson): readonly FieldJson[] {
  if (type.type === 'struct') return type.fields ?? [];
  const [item] = type.fields ?? [];
  return item === undefined ? [] : childrenOf(item.type);
}

function typeText(type: TypeJson): string {
  const [item] = type.fields ?? [];
  if (type.type === 'struct' || item === undefined) {
    // Lance writes a dash if a timestamp has no zone.
    const name = type.type.replace(/:-$/, '');
    return type.length === undefined ? name : `${name}[${type.length}]`;
  }
  if (type.type === 'fixed_size_list') return `${typeText(item.type)}[${type.length ?? ''}]`;
  return type.type === 'map' ? 'map' : `${typeText(item.type)}[]`;
}

function notesOf({ nullable, metadata }: FieldJson): string {
  const { [COMPUTED_KEY]: computed, ...others } = metadata ?? {};
  const pairs = Object.entries(others).map(([name, value]) => `${visibleText(name)}=${visibleText(value)}`);
  const definition = computed === undefined ? [] : [`computed: ${visibleText(computed)}`];
  return [...(nullable ? [] : ['not null']), ...definition, ...pairs].join('  ');
}

const INDEX_HEADS = [
  'index',
  'type',
  'columns',
  { number: 'rows' },
  { number: 'not indexed' },
  { number: 'size' },
  { number: 'recall' },
];

export function drawIndexes(indexes: readonly IndexContent[], canvas: Canvas): string {
  const rows = indexes.map((index) => [
    visibleText(index.index_name),
    index.index_type,
    visibleText(index.columns.join(', ')),
    index.num_indexed_rows === undefined ? '' : formatCount(index.num_indexed_rows),
    index.num_unindexed_rows === undefined ? '' : formatCount(index.num_unindexed_rows),
    index.size_bytes === undefined ? '' : formatBytes(index.size_bytes),
    index.search === undefined ? '' : formatShare(index.search.recall),
  ]);
  return rows.length === 0 ? '' : drawTable(INDEX_HEADS, rows, canvas);
}
