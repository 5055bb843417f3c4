import { ServiceError } from '../errors/service-error.ts';
import { parseFieldPath } from '../model/field-path.ts';
import type { FieldPath } from '../model/field-path.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { FullTextQuery } from '../model/query.ts';
import { isObject } from './shapes.ts';

type Tree = Readonly<Record<string, unknown>>;
type MatchQuery = Extract<FullTextQuery, { kind: 'match' }>;

interface FieldPosition {
  readonly text: string;
  readonly depth: number;
  readonly depthMax: number;
}

const READERS: ReadonlyMap<string, (node: Tree, field: FieldPosition) => FullTextQuery> = new Map([
  ['match', readMatch],
  ['phrase', readPhrase],
  ['boost', readBoost],
  ['multi_match', readMultiMatch],
  ['boolean', readBoolean],
]);

/** Refuses a tree that is malformed or too deep, and names the field. */
export function readStructuredQuery(query: unknown, depthMax: number): FullTextQuery {
  return readNode(query, { text: 'full_text_query.structured_query.query', depth: 1, depthMax });
}

function readNode(value: unknown, field: FieldPosition): FullTextQuery {
  const { text, depth, depthMax } = field;
  if (depth > depthMax) {
    throw new ServiceError('InvalidInput', `The full-text query is nested more than ${depthMax} deep, at ${text}.`);
  }
  const node = requireObject(value, field);
  const kinds = Object.keys(node).filter((key) => node[key] !== null);
  const [kind] = kinds;
  const hint = `The kinds are ${[...READERS.keys()].join(', ')}.`;
  if (kind === undefined || kinds.length > 1) {
    const message = `A full-text query has exactly one kind; ${text} has ${kinds.length}.`;
    throw new ServiceError('InvalidInput', message, { hint });
  }
  const read = READERS.get(kind);
  if (read === undefined) {
    const message = `${quoteForMessage(kind)} at ${text} is not a kind of full-text query.`;
    throw new ServiceError('InvalidInput', message, { hint });
  }
  const inner = { ...below(field, `.${kind}`), depth: depth + 1 };
  return read(requireObject(node[kind], inner), inner);
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
    positive: readNode(node['positive'], below(field, '.positive')),
    negative: readNode(node['negative'], below(field, '.negative')),
    negativeBoost: readNumber(node, 'negative_boost', field) ?? 0.5,
  };
}

/** The contract lists match queries; the LanceDB client sends one text for several columns. */
function readMultiMatch(node: Tree, field: FieldPosition): FullTextQuery {
  if ('match_queries' in node) return readMatchQueries(node, field);
  refuseUnknown(node, ['query', 'columns', 'boost', 'operator'], field);
  const columns = below(field, '.columns');
  const boost = below(field, '.boost');
  const boosts = node['boost'] ?? undefined;
  return {
    kind: 'multi-match',
    terms: requireText(node, 'query', field),
    columns: requireArray(node['columns'], columns).map((column) => toColumn(column, columns)),
    boosts: boosts === undefined ? undefined : requireArray(boosts, boost).map((each) => toNumber(each, boost)),
    operator: readOperator(node, field),
  };
}

/** One search of several columns when all look for the same words; else any of the searches may match. */
function readMatchQueries(node: Tree, field: FieldPosition): FullTextQuery {
  refuseUnknown(node, ['match_queries'], field);
  const queries = requireArray(node['match_queries'], below(field, '.match_queries')).map((query, index) => {
    const at = below(field, `.match_queries[${index}]`);
    return readMatch(requireObject(query, at), at);
  });
  const [first] = queries;
  const columns = queries.map((query) => query.column).filter((column) => column !== undefined);
  // Without a fuzziness the engine chooses one by the length of each word, which a search of several columns cannot.
  const isOneSearch = queries.every(
    ({ fuzziness, terms, operator }) => fuzziness === 0 && terms === first?.terms && operator === first.operator,
  );
  if (first === undefined || columns.length < queries.length || !isOneSearch) {
    return { kind: 'boolean', must: [], should: queries, mustNot: [] };
  }
  const boosts = queries.map((query) => query.boost);
  return { kind: 'multi-match', terms: first.terms, columns, boosts, operator: first.operator };
}

function readBoolean(node: Tree, field: FieldPosition): FullTextQuery {
  refuseUnknown(node, ['must', 'should', 'must_not'], field);
  const clauses = (key: string): readonly FullTextQuery[] =>
    requireArray(node[key] ?? [], below(field, `.${key}`)).map((clause, index) =>
      readNode(clause, below(field, `.${key}[${index}]`)),
    );
  return { kind: 'boolean', must: clauses('must'), should: clauses('should'), mustNot: clauses('must_not') };
}

function readColumn(node: Tree, field: FieldPosition): FieldPath | undefined {
  const column = node['column'] ?? undefined;
  return column === undefined ? undefined : toColumn(column, below(field, '.column'));
}

function toColumn(column: unknown, field: FieldPosition): FieldPath {
  if (typeof column !== 'string') throw wrongType(field, 'a field path');
  return parseFieldPath(column);
}

function readOperator(node: Tree, field: FieldPosition): 'and' | 'or' {
  const operator = node['operator'] ?? 'or';
  const word = typeof operator === 'string' ? operator.toLowerCase() : '';
  if (word !== 'and' && word !== 'or') throw wrongType(below(field, '.operator'), '"And" or "Or"');
  return word;
}

function readNumber(node: Tree, key: string, field: FieldPosition): number | undefined {
  const value = node[key] ?? undefined;
  return value === undefined ? undefined : toNumber(value, below(field, `.${key}`));
}

function toNumber(value: unknown, field: FieldPosition): number {
  if (typeof value !== 'number') throw wrongType(field, 'a number');
  return value;
}

function requireText(node: Tree, key: string, field: FieldPosition): string {
  const value = node[key];
  if (typeof value !== 'string') throw wrongType(below(field, `.${key}`), 'a text');
  return value;
}

function requireArray(value: unknown, field: FieldPosition): readonly unknown[] {
  if (!Array.isArray(value)) throw wrongType(field, 'an array');
  return value;
}

function requireObject(value: unknown, field: FieldPosition): Tree {
  if (!isObject(value)) throw wrongType(field, 'an object');
  return value;
}

function refuseUnknown(node: Tree, known: readonly string[], field: FieldPosition): void {
  const unknown = Object.keys(node).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  throw new ServiceError('InvalidInput', `The field ${quoteForMessage(unknown)} is not known at ${field.text}.`, {
    hint: `Known are ${known.join(', ')}.`,
  });
}

function below(field: FieldPosition, suffix: string): FieldPosition {
  return { ...field, text: field.text + suffix };
}

function wrongType(field: FieldPosition, wanted: string): ServiceError {
  return new ServiceError('InvalidInput', `${field.text} must be ${wanted}.`);
}
