import type { QueryTableBody } from '../wire/data.ts';
import type { TableOperation, TableRequest } from './table-request.ts';

/** LanceDB clients insert these names into URLs unescaped, and split a path at each `$`. */
const PLAIN_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;

/** Whether LanceDB's remote clients send the same request, so that a snippet can use one. */
export function isForLanceDb({ server, table, operation }: TableRequest): boolean {
  const hasPlainNames = [server.database, ...table].every((name) => PLAIN_NAME.test(name));
  // The clients send keys, but no tokens.
  return server.credential === 'key' && hasPlainNames && isExpressible(operation);
}

function isExpressible(operation: TableOperation): boolean {
  if (operation.body.branch !== undefined) return false;
  switch (operation.name) {
    case 'query':
      return isExpressibleQuery(operation.body);
    case 'update':
      return hasOnly(operation.body, ['updates', 'predicate']) && hasUniquePaths(operation.body.updates);
    case 'delete':
      return hasOnly(operation.body, ['predicate']);
    case 'create_index':
      return isExpressibleIndex(operation.body);
  }
}

const QUERY_FIELDS: readonly (keyof QueryTableBody)[] = [
  'k',
  'vector',
  'vector_column',
  'distance_type',
  'nprobes',
  'refine_factor',
  'ef',
  'bypass_vector_index',
  'fast_search',
  'full_text_query',
  'filter',
  'prefilter',
  'columns',
  'order_by',
  'offset',
  'with_row_id',
  'version',
];

/** Excludes hybrid searches, for which the clients send two queries and fuse the results themselves. */
function isExpressibleQuery(body: QueryTableBody): boolean {
  const { vector, full_text_query: text, columns, k } = body;
  const isHybrid = vector !== undefined && text !== undefined;
  const isPlainText = text === undefined || (text.string_query?.columns ?? []).length <= 1;
  const isPlainProjection = columns === undefined || (columns.column_names ?? []).length > 0;
  const hasStructure = text !== undefined && text.string_query === undefined;
  return (
    hasOnly(body, QUERY_FIELDS) && k !== undefined && !isHybrid && isPlainText && !hasStructure && isPlainProjection
  );
}

/** The calls that have the same name and arguments in both clients, in snake case. */
export function plainCalls(body: QueryTableBody): readonly (readonly [string, readonly unknown[]])[] {
  const calls: readonly (readonly [string, readonly unknown[] | undefined])[] = [
    ['distance_type', given(body.distance_type)],
    ['nprobes', given(body.nprobes)],
    ['refine_factor', given(body.refine_factor)],
    ['ef', given(body.ef)],
    ['bypass_vector_index', body.bypass_vector_index === true ? [] : undefined],
    ['fast_search', body.fast_search === true ? [] : undefined],
    ['select', given(body.columns?.column_names)],
    ['limit', given(body.k)],
    ['offset', given(body.offset)],
  ];
  return calls.flatMap(([name, values]) => (values === undefined ? [] : [[name, values] as const]));
}

export function vectorsOf({ vector }: QueryTableBody): readonly (readonly number[])[] {
  return vector?.multi_vector ?? (vector?.single_vector === undefined ? [] : [vector.single_vector]);
}

/** The clients' names of index types; other types are built with a plain request. */
export const INDEX_TYPES: Readonly<Record<string, { readonly typescript: string; readonly python: string }>> = {
  IVF_PQ: { typescript: 'ivfPq', python: 'IvfPq' },
  IVF_FLAT: { typescript: 'ivfFlat', python: 'IvfFlat' },
  IVF_HNSW_SQ: { typescript: 'hnswSq', python: 'HnswSq' },
  BTREE: { typescript: 'btree', python: 'BTree' },
  BITMAP: { typescript: 'bitmap', python: 'Bitmap' },
  LABEL_LIST: { typescript: 'labelList', python: 'LabelList' },
  FTS: { typescript: 'fts', python: 'FTS' },
};

/** Options with the same meaning in both clients. */
const INDEX_OPTIONS = new Set([
  'distance_type',
  'num_partitions',
  'num_sub_vectors',
  'm',
  'ef_construction',
  'with_position',
  'base_tokenizer',
  'language',
  'max_token_length',
  'stem',
  'remove_stop_words',
  'ascii_folding',
]);

type IndexBody = Extract<TableOperation, { name: 'create_index' }>['body'];

export function indexOptions(body: IndexBody): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !INDEX_FIELDS.has(name)));
}

const INDEX_FIELDS = new Set(['column', 'index_type', 'name']);

/** Without a type the clients choose one, which may differ from the server's choice. */
function isExpressibleIndex(body: IndexBody): boolean {
  const names = Object.keys(indexOptions(body));
  return INDEX_TYPES[body.index_type ?? ''] !== undefined && names.every((name) => INDEX_OPTIONS.has(name));
}

/** The clients take the updates as a dictionary. */
function hasUniquePaths(updates: readonly (readonly [string, string])[]): boolean {
  return new Set(updates.map(([path]) => path)).size === updates.length;
}

function hasOnly(body: object, names: readonly string[]): boolean {
  return Object.entries(body).every(([name, value]) => value === undefined || names.includes(name));
}

function given(value: unknown): readonly unknown[] | undefined {
  return value === undefined ? undefined : [value];
}
