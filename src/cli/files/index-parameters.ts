import { NGRAM_PARAMETERS, TEXT_PARAMETERS } from '../../model/index-spec.ts';
import type { CreateIndexBody, IndexContent } from '../../wire/indexes.ts';

/** What an index was built with, as far as the server tells, in the words that build it again. */
export type IndexParameters = Partial<CreateIndexBody>;

type Details = Readonly<Record<string, unknown>>;

export function readParameters({ index_type: type, index_details: text }: IndexContent): IndexParameters {
  const details = parse(text);
  return type === 'FTS' ? textParameters(details) : vectorParameters(type, details);
}

function textParameters(details: Details): IndexParameters {
  const names = [...TEXT_PARAMETERS, ...(details['base_tokenizer'] === 'ngram' ? NGRAM_PARAMETERS : [])];
  return Object.fromEntries(names.flatMap((name) => (isGiven(details[name]) ? [[name, details[name]]] : [])));
}

/** Types whose `num_bits` can be chosen; that of others is fixed. */
const WITH_BITS = new Set(['IVF_PQ', 'IVF_RQ']);

function vectorParameters(type: string, details: Details): IndexParameters {
  const [compression, hnsw, hints] = ['compression', 'hnsw', 'runtime_hints'].map((name) => objectOf(details[name]));
  return {
    ...number('num_sub_vectors', compression?.['num_sub_vectors']),
    ...(WITH_BITS.has(type) ? number('num_bits', compression?.['num_bits']) : {}),
    ...number('m', hnsw?.['max_connections']),
    ...number('ef_construction', hnsw?.['construction_ef']),
    ...number('max_iterations', hints?.['lance.ivf.max_iters']),
    ...number('sample_rate', hints?.['lance.ivf.sample_rate']),
  };
}

/** Counts stand there as numbers or as text. */
function number(name: keyof CreateIndexBody, value: unknown): IndexParameters {
  return /^[1-9]\d{0,8}$/.test(String(value)) ? { [name]: Number(value) } : {};
}

/** What the server does not tell, or takes no more: such an index will not be quite the same. */
export function missingParameters({ index_type: type, index_details: text }: IndexContent): readonly string[] {
  const details = parse(text);
  const isVector = type.startsWith('IVF_');
  return [
    ...(isVector ? ['its number of partitions follows from the number of rows'] : []),
    ...(isGiven(details['custom_stop_words']) ? ['it has the stop words of its language'] : []),
    ...(isGiven(details['lance_tokenizer']) ? ['it has the usual tokenizer'] : []),
  ];
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function parse(text: string | undefined): Details {
  try {
    return objectOf(JSON.parse(text ?? '{}')) ?? {};
  } catch {
    return {};
  }
}

function objectOf(value: unknown): Details | undefined {
  return typeof value === 'object' && value !== null ? { ...value } : undefined;
}
