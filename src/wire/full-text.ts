import { ServiceError } from '../errors/service-error.ts';
import { parseFieldPath } from '../model/field-path.ts';
import type { FieldPath } from '../model/field-path.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { FullTextQuery } from '../model/query.ts';

type Tree = Readonly<Record<string, unknown>>;
type MatchQuery = Extract<FullTextQuery, { kind: 'match' }>;

interface Place {
  readonly text: string;
  readonly depth: number;
  readonly depthMax: number;
}

const KINDS = ['match', 'phrase', 'boost', 'multi_match', 'boolean'] as const;

/** Reads the tree of a structured query; refuses what is not one, and what is deeper than the bound, by its place. */
export function readStructuredQuery(query: unknown, depthMax: number): FullTextQuery {
  return readNode(query, { text: 'full_text_query.structured_query.query', depth: 1, depthMax });
}

function readNode(value: unknown, place: Place): FullTextQuery {
  if (place.depth > place.depthMax) {
    throw new ServiceError(
      'InvalidInput',
      `The full-text query is nested more than ${place.depthMax} deep, at ${place.text}.`,
    );
  }
  const node = requireObject(value, place);
  const [kind, ...others] = Object.keys(node).filter((key) => node[key] !== null);
  if (kind === undefined || others.length > 0) {
    throw new ServiceError(
      'InvalidInput',
      `A full-text query has exactly one kind; ${place.text} has ${others.length + (kind === undefined ? 0 : 1)}.`,
      {
        hint: `The kinds are ${KINDS.join(', ')}.`,
      },
    );
  }
  if (!isKind(kind)) {
    throw new ServiceError(
      'InvalidInput',
      `${quoteForMessage(kind)} at ${place.text} is not a kind of full-text query.`,
      { hint: `The kinds are ${KINDS.join(', ')}.` },
    );
  }
  const inner: Place = { ...place, text: `${place.text}.${kind}`, depth: place.depth + 1 };
  const content = requireObject(node[kind], inner);
  switch (kind) {
    case 'match':
      return readMatch(content, inner);
    case 'phrase':
      return readPhrase(content, inner);
    case 'boost':
      return readBoost(content, inner);
    case 'multi_match':
      return readMultiMatch(content, inner);
    case 'boolean':
      return readBoolean(content, inner);
  }
}

function isKind(text: string): text is (typeof KINDS)[number] {
  return KINDS.some((kind) => kind === text);
}

function readMatch(node: Tree, place: Place): MatchQuery {
  refuseUnknown(node, ['terms', 'column', 'boost', 'fuzziness', 'max_expansions', 'operator', 'prefix_length'], place);
  return {
    kind: 'match',
    terms: requireText(node, 'terms', place),
    column: readColumn(node, place),
    boost: readNumber(node, 'boost', place) ?? 1,
    fuzziness: readNumber(node, 'fuzziness', place),
    maxExpansions: readNumber(node, 'max_expansions', place) ?? 50,
    operator: readOperator(node, place),
    prefixLength: readNumber(node, 'prefix_length', place) ?? 0,
  };
}

function readPhrase(node: Tree, place: Place): FullTextQuery {
  refuseUnknown(node, ['terms', 'column', 'slop'], place);
  return {
    kind: 'phrase',
    terms: requireText(node, 'terms', place),
    column: readColumn(node, place),
    slop: readNumber(node, 'slop', place) ?? 0,
  };
}

function readBoost(node: Tree, place: Place): FullTextQuery {
  refuseUnknown(node, ['positive', 'negative', 'negative_boost'], place);
  return {
    kind: 'boost',
    positive: readNode(node['positive'], { ...place, text: `${place.text}.positive` }),
    negative: readNode(node['negative'], { ...place, text: `${place.text}.negative` }),
    negativeBoost: readNumber(node, 'negative_boost', place) ?? 0.5,
  };
}

/** The contract lists match queries; the LanceDB client sends one text for several columns. */
function readMultiMatch(node: Tree, place: Place): FullTextQuery {
  if ('match_queries' in node) return readMatchQueries(node, place);
  refuseUnknown(node, ['query', 'columns', 'boost', 'operator'], place);
  const boosts = node['boost'] ?? undefined;
  const at = (key: string): string => `${place.text}.${key}`;
  return {
    kind: 'multi-match',
    terms: requireText(node, 'query', place),
    columns: requireArray(node['columns'], at('columns')).map((column) => toColumn(column, at('columns'))),
    boosts:
      boosts === undefined ? undefined : requireArray(boosts, at('boost')).map((boost) => toNumber(boost, at('boost'))),
    operator: readOperator(node, place),
  };
}

/** One search of several columns when all look for the same words; else any of the searches may match. */
function readMatchQueries(node: Tree, place: Place): FullTextQuery {
  refuseUnknown(node, ['match_queries'], place);
  const queries = requireArray(node['match_queries'], `${place.text}.match_queries`).map((query, index) => {
    const at = { ...place, text: `${place.text}.match_queries[${index}]` };
    return readMatch(requireObject(query, at), at);
  });
  const [first] = queries;
  const columns = queries.map((query) => query.column).filter((column) => column !== undefined);
  const isOneSearch = queries.every(
    (query) => isPlainMatch(query) && query.terms === first?.terms && query.operator === first.operator,
  );
  if (first === undefined || columns.length < queries.length || !isOneSearch) {
    return { kind: 'boolean', must: [], should: queries, mustNot: [] };
  }
  const boosts = queries.map((query) => query.boost);
  return { kind: 'multi-match', terms: first.terms, columns, boosts, operator: first.operator };
}

/** Without a fuzziness the engine chooses one by the length of each word, which a search of several columns cannot. */
function isPlainMatch(query: MatchQuery): boolean {
  return query.fuzziness === 0;
}

function readBoolean(node: Tree, place: Place): FullTextQuery {
  refuseUnknown(node, ['must', 'should', 'must_not'], place);
  const clauses = (key: string): readonly FullTextQuery[] =>
    requireArray(node[key] ?? [], `${place.text}.${key}`).map((clause, index) =>
      readNode(clause, { ...place, text: `${place.text}.${key}[${index}]` }),
    );
  return { kind: 'boolean', must: clauses('must'), should: clauses('should'), mustNot: clauses('must_not') };
}

function readColumn(node: Tree, place: Place): FieldPath | undefined {
  const column = node['column'] ?? undefined;
  return column === undefined ? undefined : toColumn(column, `${place.text}.column`);
}

function toColumn(column: unknown, place: string): FieldPath {
  if (typeof column !== 'string') throw wrongType(place, 'a field path');
  return parseFieldPath(column);
}

function readOperator(node: Tree, place: Place): 'and' | 'or' {
  const operator = node['operator'] ?? 'or';
  const word = typeof operator === 'string' ? operator.toLowerCase() : '';
  if (word !== 'and' && word !== 'or') throw wrongType(`${place.text}.operator`, '"And" or "Or"');
  return word;
}

function readNumber(node: Tree, key: string, place: Place): number | undefined {
  const value = node[key] ?? undefined;
  return value === undefined ? undefined : toNumber(value, `${place.text}.${key}`);
}

function toNumber(value: unknown, place: string): number {
  if (typeof value !== 'number') throw wrongType(place, 'a number');
  return value;
}

function requireText(node: Tree, key: string, place: Place): string {
  const value = node[key];
  if (typeof value !== 'string') throw wrongType(`${place.text}.${key}`, 'a text');
  return value;
}

function requireArray(value: unknown, place: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrongType(place, 'an array');
  return value;
}

function requireObject(value: unknown, place: Place): Tree {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType(place.text, 'an object');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A value that is an object and no array has string keys, and its values are read as unknown.
  return value as Tree;
}

function refuseUnknown(node: Tree, known: readonly string[], place: Place): void {
  const unknown = Object.keys(node).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  throw new ServiceError('InvalidInput', `The field ${quoteForMessage(unknown)} is not known at ${place.text}.`, {
    hint: `Known are ${known.join(', ')}.`,
  });
}

function wrongType(place: string, wanted: string): ServiceError {
  return new ServiceError('InvalidInput', `${place} must be ${wanted}.`);
}
