import { ServiceError } from '../errors/service-error.ts';
import { parseFieldPath } from '../model/field-path.ts';
import type { FieldPath } from '../model/field-path.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { FullTextQuery } from '../model/query.ts';

type Tree = Readonly<Record<string, unknown>>;
type MatchQuery = Extract<FullTextQuery, { kind: 'match' }>;

interface FieldPosition {
  readonly text: string;
  readonly depth: number;
  readonly depthMax: number;
}

const KINDS = ['match', 'phrase', 'boost', 'multi_match', 'boolean'] as const;

/** Reads the tree of a structured query; refuses what is not one, and what is deeper than the bound, by its field. */
export function readStructuredQuery(query: unknown, depthMax: number): FullTextQuery {
  return readNode(query, { text: 'full_text_query.structured_query.query', depth: 1, depthMax });
}

function readNode(value: unknown, field: FieldPosition): FullTextQuery {
  if (field.depth > field.depthMax) {
    throw new ServiceError(
      'InvalidInput',
      `The full-text query is nested more than ${field.depthMax} deep, at ${field.text}.`,
    );
  }
  const node = requireObject(value, field);
  const [kind, ...others] = Object.keys(node).filter((key) => node[key] !== null);
  if (kind === undefined || others.length > 0) {
    throw new ServiceError(
      'InvalidInput',
      `A full-text query has exactly one kind; ${field.text} has ${others.length + (kind === undefined ? 0 : 1)}.`,
      {
        hint: `The kinds are ${KINDS.join(', ')}.`,
      },
    );
  }
  if (!isKind(kind)) {
    throw new ServiceError(
      'InvalidInput',
      `${quoteForMessage(kind)} at ${field.text} is not a kind of full-text query.`,
      { hint: `The kinds are ${KINDS.join(', ')}.` },
    );
  }
  const inner: FieldPosition = { ...field, text: `${field.text}.${kind}`, depth: field.depth + 1 };
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

function readMatch(node: Tree, field: FieldPosition): MatchQuery {
  refuseUnknown(node, ['terms', 'column', 'boost', 'fuzziness', 'max_expansions', 'operator', 'prefix_length'], field);
  return {
    kind: 'match',
    terms: requireText(node, 'terms', field),
    column: readColumn(node, field),
    boost: readNumber(node, 'boost', field) ?? 1,
    fuzziness: readNumber(node, 'fuzziness', field),
    maxExpansions: readNumber(node, 'max_expansions', field) ?? 50,
    operator: readOperator(node, field),
    prefixLength: readNumber(node, 'prefix_length', field) ?? 0,
  };
}

function readPhrase(node: Tree, field: FieldPosition): FullTextQuery {
  refuseUnknown(node, ['terms', 'column', 'slop'], field);
  return {
    kind: 'phrase',
    terms: requireText(node, 'terms', field),
    column: readColumn(node, field),
    slop: readNumber(node, 'slop', field) ?? 0,
  };
}

function readBoost(node: Tree, field: FieldPosition): FullTextQuery {
  refuseUnknown(node, ['positive', 'negative', 'negative_boost'], field);
  return {
    kind: 'boost',
    positive: readNode(node['positive'], { ...field, text: `${field.text}.positive` }),
    negative: readNode(node['negative'], { ...field, text: `${field.text}.negative` }),
    negativeBoost: readNumber(node, 'negative_boost', field) ?? 0.5,
  };
}

/** The contract lists match queries; the LanceDB client sends one text for several columns. */
function readMultiMatch(node: Tree, field: FieldPosition): FullTextQuery {
  if ('match_queries' in node) return readMatchQueries(node, field);
  refuseUnknown(node, ['query', 'columns', 'boost', 'operator'], field);
  const boosts = node['boost'] ?? undefined;
  const at = (key: string): string => `${field.text}.${key}`;
  return {
    kind: 'multi-match',
    terms: requireText(node, 'query', field),
    columns: requireArray(node['columns'], at('columns')).map((column) => toColumn(column, at('columns'))),
    boosts:
      boosts === undefined ? undefined : requireArray(boosts, at('boost')).map((boost) => toNumber(boost, at('boost'))),
    operator: readOperator(node, field),
  };
}

/** One search of several columns when all look for the same words; else any of the searches may match. */
function readMatchQueries(node: Tree, field: FieldPosition): FullTextQuery {
  refuseUnknown(node, ['match_queries'], field);
  const queries = requireArray(node['match_queries'], `${field.text}.match_queries`).map((query, index) => {
    const at = { ...field, text: `${field.text}.match_queries[${index}]` };
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

function readBoolean(node: Tree, field: FieldPosition): FullTextQuery {
  refuseUnknown(node, ['must', 'should', 'must_not'], field);
  const clauses = (key: string): readonly FullTextQuery[] =>
    requireArray(node[key] ?? [], `${field.text}.${key}`).map((clause, index) =>
      readNode(clause, { ...field, text: `${field.text}.${key}[${index}]` }),
    );
  return { kind: 'boolean', must: clauses('must'), should: clauses('should'), mustNot: clauses('must_not') };
}

function readColumn(node: Tree, field: FieldPosition): FieldPath | undefined {
  const column = node['column'] ?? undefined;
  return column === undefined ? undefined : toColumn(column, `${field.text}.column`);
}

function toColumn(column: unknown, field: string): FieldPath {
  if (typeof column !== 'string') throw wrongType(field, 'a field path');
  return parseFieldPath(column);
}

function readOperator(node: Tree, field: FieldPosition): 'and' | 'or' {
  const operator = node['operator'] ?? 'or';
  const word = typeof operator === 'string' ? operator.toLowerCase() : '';
  if (word !== 'and' && word !== 'or') throw wrongType(`${field.text}.operator`, '"And" or "Or"');
  return word;
}

function readNumber(node: Tree, key: string, field: FieldPosition): number | undefined {
  const value = node[key] ?? undefined;
  return value === undefined ? undefined : toNumber(value, `${field.text}.${key}`);
}

function toNumber(value: unknown, field: string): number {
  if (typeof value !== 'number') throw wrongType(field, 'a number');
  return value;
}

function requireText(node: Tree, key: string, field: FieldPosition): string {
  const value = node[key];
  if (typeof value !== 'string') throw wrongType(`${field.text}.${key}`, 'a text');
  return value;
}

function requireArray(value: unknown, field: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrongType(field, 'an array');
  return value;
}

function requireObject(value: unknown, field: FieldPosition): Tree {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType(field.text, 'an object');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A value that is an object and no array has string keys, and its values are read as unknown.
  return value as Tree;
}

function refuseUnknown(node: Tree, known: readonly string[], field: FieldPosition): void {
  const unknown = Object.keys(node).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  throw new ServiceError('InvalidInput', `The field ${quoteForMessage(unknown)} is not known at ${field.text}.`, {
    hint: `Known are ${known.join(', ')}.`,
  });
}

function wrongType(field: string, wanted: string): ServiceError {
  return new ServiceError('InvalidInput', `${field} must be ${wanted}.`);
}
