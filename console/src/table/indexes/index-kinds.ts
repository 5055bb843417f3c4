import { findDimension } from '../../../../src/plans/table-facts.ts';
import type { CreateIndexBody } from '../../../../src/wire/indexes.ts';
import { isText, typeText } from '../../parts/grid/field-type.ts';
import type { FieldShape } from '../../parts/grid/field-type.ts';

export interface IndexKind {
  readonly type: string;
  readonly label: string;
  readonly meaning: string;
  readonly fits: (field: FieldShape) => boolean;
  readonly parameters: readonly Parameter[];
}

export interface Parameter {
  readonly name: Exclude<keyof CreateIndexBody, 'column' | 'index_type' | 'identity' | 'context' | 'id'>;
  readonly label: string;
  readonly kind: 'number' | 'choice' | 'flag';
  readonly hint?: string;
  readonly choices?: readonly string[];
  readonly isUsual?: boolean;
}

const number = (name: Parameter['name'], label: string, hint?: string): Parameter => ({
  name,
  label,
  kind: 'number',
  ...(hint === undefined ? {} : { hint }),
});

const DISTANCE: Parameter = {
  name: 'distance_type',
  label: 'Distance',
  kind: 'choice',
  choices: ['l2', 'cosine', 'dot'],
};
const PARTITIONS = number('num_partitions', 'Partitions', 'If empty, the engine chooses by the number of rows.');
const SUB_VECTORS = number('num_sub_vectors', 'Sub-vectors', 'Must divide the dimension.');
const GRAPH = [number('m', 'Neighbours (m)'), number('ef_construction', 'Candidates while building (ef)')];

const isOrdered = ({ type }: FieldShape): boolean =>
  /^(?:u?int\d+|float\d+|bool|utf8|date\d+|fixed_size_binary|(?:time\d+|timestamp):.*)$/.test(type.type);
const isLabel = ({ type }: FieldShape): boolean => /^(?:u?int\d+|bool|(?:large_)?(?:utf8|binary))$/.test(type.type);
const itemOf = ({ type }: FieldShape): FieldShape | undefined =>
  type.type === 'list' || type.type === 'large_list' ? type.fields?.[0] : undefined;
const isLabels = (field: FieldShape): boolean => {
  const item = itemOf(field);
  return item !== undefined && isLabel(item);
};
const isTexts = (field: FieldShape): boolean => isText((itemOf(field) ?? field).type);
const isBytes = ({ type }: FieldShape): boolean => type.fields?.[0]?.type.type === 'uint8';
const isVectors = (field: FieldShape): boolean =>
  field.type.type === 'fixed_size_list' && findDimension(field.type) !== undefined;
const isFloats = (field: FieldShape): boolean => isVectors(field) && !isBytes(field);

const INDEX_KINDS: readonly IndexKind[] = [
  {
    type: 'IVF_PQ',
    label: 'IVF_PQ: vectors, compact',
    meaning: 'Small and fast. Distances are estimates; a refine factor makes them exact.',
    fits: isFloats,
    parameters: [DISTANCE, PARTITIONS, SUB_VECTORS, number('num_bits', 'Bits', '4 or 8.')],
  },
  {
    type: 'IVF_FLAT',
    label: 'IVF_FLAT: vectors, exact in each partition',
    meaning: 'As large as the vectors; works with few rows.',
    fits: isFloats,
    parameters: [DISTANCE, PARTITIONS],
  },
  {
    type: 'IVF_HNSW_SQ',
    label: 'IVF_HNSW_SQ: vectors, graph',
    meaning: 'Fast, with good recall; larger than IVF_PQ.',
    fits: isFloats,
    parameters: [DISTANCE, PARTITIONS, ...GRAPH],
  },
  {
    type: 'IVF_HNSW_PQ',
    label: 'IVF_HNSW_PQ: vectors, graph, compact',
    meaning: 'A graph over compact vectors.',
    fits: isFloats,
    parameters: [DISTANCE, PARTITIONS, SUB_VECTORS, ...GRAPH],
  },
  {
    type: 'IVF_RQ',
    label: 'IVF_RQ: vectors, one bit or more per dimension',
    meaning: 'The most compact.',
    fits: (field) => isFloats(field) && (field.type.length ?? 0) % 8 === 0,
    parameters: [DISTANCE, PARTITIONS, number('num_bits', 'Bits', '1 to 9.')],
  },
  {
    type: 'IVF_FLAT',
    label: 'IVF_FLAT: vectors of bytes',
    meaning: 'Compares bits.',
    fits: (field) => isVectors(field) && isBytes(field),
    parameters: [PARTITIONS],
  },
  {
    type: 'IVF_PQ',
    label: 'IVF_PQ: several vectors per row',
    meaning: 'Compares by the cosine.',
    fits: ({ type }) => type.type !== 'fixed_size_list' && findDimension(type) !== undefined,
    parameters: [PARTITIONS, SUB_VECTORS],
  },
  {
    type: 'FTS',
    label: 'FTS: words in text',
    meaning: 'Finds words and, with positions, phrases.',
    fits: isTexts,
    parameters: [
      {
        name: 'base_tokenizer',
        label: 'Tokenizer',
        kind: 'choice',
        choices: ['simple', 'whitespace', 'raw', 'ngram', 'icu'],
      },
      { name: 'with_position', label: 'Keep positions, for phrases', kind: 'flag', isUsual: false },
      { name: 'stem', label: 'Reduce words to their stems', kind: 'flag', isUsual: true },
      { name: 'remove_stop_words', label: 'Leave out stop words', kind: 'flag', isUsual: true },
      { name: 'ascii_folding', label: 'Fold accented letters', kind: 'flag', isUsual: true },
      { name: 'lower_case', label: 'Ignore case', kind: 'flag', isUsual: true },
    ],
  },
  {
    type: 'BTREE',
    label: 'BTREE: ranges and equality',
    meaning: 'For numbers, text and times with many distinct values.',
    fits: isOrdered,
    parameters: [],
  },
  {
    type: 'BITMAP',
    label: 'BITMAP: few distinct values',
    meaning: 'For booleans and categories.',
    fits: isLabel,
    parameters: [],
  },
  {
    type: 'LABEL_LIST',
    label: 'LABEL_LIST: labels in a list',
    meaning: 'For array_has and similar filters.',
    fits: isLabels,
    parameters: [],
  },
];

export function kindsFor(field: FieldShape): readonly IndexKind[] {
  return INDEX_KINDS.filter(({ fits }) => fits(field));
}

/** Explains why a column has no index types. */
export function explainNone({ type }: FieldShape): string {
  if (type.type.startsWith('dictionary')) {
    return 'Dictionary-encoded columns cannot be indexed. First change the type to that of the values.';
  }
  return `Columns of the type ${typeText(type)} cannot be indexed.`;
}
