import type { CreateIndexBody } from '../../../../src/wire/indexes.ts';
import { isNumber, isText, isVector } from '../../parts/grid/field-type.ts';
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

const isScalar = ({ type }: FieldShape): boolean =>
  isNumber(type) || isText(type) || type.type === 'bool' || /^(?:date|time|timestamp|duration)/.test(type.type);
const isList = ({ type }: FieldShape): boolean => type.type === 'list' || type.type === 'large_list';
const isTexts = (field: FieldShape): boolean =>
  isText(field.type) || (isList(field) && field.type.fields?.[0] !== undefined && isText(field.type.fields[0].type));
const isVectors = ({ type }: FieldShape): boolean => isVector(type);

const INDEX_KINDS: readonly IndexKind[] = [
  {
    type: 'IVF_PQ',
    label: 'IVF_PQ: vectors, compact',
    meaning: 'Small and fast. Distances are estimates; a refine factor makes them exact.',
    fits: isVectors,
    parameters: [DISTANCE, PARTITIONS, SUB_VECTORS, number('num_bits', 'Bits', '4 or 8.')],
  },
  {
    type: 'IVF_FLAT',
    label: 'IVF_FLAT: vectors, exact in each partition',
    meaning: 'As large as the vectors; works with few rows.',
    fits: isVectors,
    parameters: [DISTANCE, PARTITIONS],
  },
  {
    type: 'IVF_HNSW_SQ',
    label: 'IVF_HNSW_SQ: vectors, graph',
    meaning: 'Fast, with good recall; larger than IVF_PQ.',
    fits: isVectors,
    parameters: [DISTANCE, PARTITIONS, ...GRAPH],
  },
  {
    type: 'IVF_HNSW_PQ',
    label: 'IVF_HNSW_PQ: vectors, graph, compact',
    meaning: 'A graph over compact vectors.',
    fits: isVectors,
    parameters: [DISTANCE, PARTITIONS, SUB_VECTORS, ...GRAPH],
  },
  {
    type: 'IVF_RQ',
    label: 'IVF_RQ: vectors, one bit or more per dimension',
    meaning: 'The most compact.',
    fits: isVectors,
    parameters: [DISTANCE, PARTITIONS, number('num_bits', 'Bits', '1 to 9.')],
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
    fits: isScalar,
    parameters: [],
  },
  {
    type: 'BITMAP',
    label: 'BITMAP: few distinct values',
    meaning: 'For booleans and categories.',
    fits: isScalar,
    parameters: [],
  },
  {
    type: 'LABEL_LIST',
    label: 'LABEL_LIST: labels in a list',
    meaning: 'For array_has and similar filters.',
    fits: isList,
    parameters: [],
  },
];

export function kindsFor(field: FieldShape): readonly IndexKind[] {
  return INDEX_KINDS.filter(({ fits }) => fits(field));
}
