import { invalidInput } from '../errors/service-error.ts';
import type { ServiceError } from '../errors/service-error.ts';
import { parseFieldPath } from '../model/field-path.ts';
import type { FieldPath } from '../model/field-path.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { FullTextQuery } from '../model/query.ts';
import { isObject } from '../model/strict-json.ts';

type MatchQuery = Extract<FullTextQuery, { kind: 'match' }>;

const READERS: ReadonlyMap<string, (node: TreeNode) => FullTextQuery> = new Map([
  ['match', readMatch],
  ['phrase', readPhrase],
  ['boost', readBoost],
  ['multi_match', readMultiMatch],
  ['boolean', readBoolean],
]);

/** Refuses a tree that is malformed or too deep, and names the field. */
export function readStructuredQuery(query: unknown, depthMax: number): FullTextQuery {
  return readQuery(query, { path: 'full_text_query.structured_query.query', depth: 1, depthMax });
}

function readQuery(value: unknown, position: Position): FullTextQuery {
  const { path, depth, depthMax } = position;
  if (depth > depthMax)
    throw invalidInput(`The full-text query is nested more than ${depthMax} levels deep, at ${path}.`);
  if (!isObject(value)) throw wrongType(path, 'an object');
  const kinds = Object.keys(value).filter((key) => value[key] !== null);
  const [kind] = kinds;
  const hint = `The kinds are ${[...READERS.keys()].join(', ')}.`;
  if (kind === undefined || kinds.length > 1) {
    throw invalidInput(`A full-text query must have exactly one kind; ${path} has ${kinds.length}.`, hint);
  }
  const read = READERS.get(kind);
  if (read === undefined) {
    throw invalidInput(`${quoteForMessage(kind)} at ${path} is not a kind of full-text query.`, hint);
  }
  return read(new TreeNode(value[kind], { path: `${path}.${kind}`, depth: depth + 1, depthMax }));
}

function readMatch(node: TreeNode): MatchQuery {
  node.refuseOthers(['terms', 'column', 'boost', 'fuzziness', 'max_expansions', 'operator', 'prefix_length']);
  return {
    kind: 'match',
    terms: node.text('terms'),
    column: node.column(),
    boost: node.number('boost') ?? 1,
    fuzziness: node.number('fuzziness'),
    maxExpansions: node.number('max_expansions') ?? 50,
    operator: node.operator(),
    prefixLength: node.number('prefix_length') ?? 0,
  };
}

function readPhrase(node: TreeNode): FullTextQuery {
  node.refuseOthers(['terms', 'column', 'slop']);
  return { kind: 'phrase', terms: node.text('terms'), column: node.column(), slop: node.number('slop') ?? 0 };
}

function readBoost(node: TreeNode): FullTextQuery {
  node.refuseOthers(['positive', 'negative', 'negative_boost']);
  return {
    kind: 'boost',
    positive: readQuery(node.fields['positive'], node.at('positive')),
    negative: readQuery(node.fields['negative'], node.at('negative')),
    negativeBoost: node.number('negative_boost') ?? 0.5,
  };
}

/** The contract lists match queries; the LanceDB client sends one text for several columns. */
function readMultiMatch(node: TreeNode): FullTextQuery {
  if ('match_queries' in node.fields) return readMatchQueries(node);
  node.refuseOthers(['query', 'columns', 'boost', 'operator']);
  const hasBoosts = (node.fields['boost'] ?? undefined) !== undefined;
  return {
    kind: 'multi-match',
    terms: node.text('query'),
    columns: node.list('columns').map((column) => toColumn(column, node.at('columns'))),
    boosts: hasBoosts ? node.list('boost').map((boost) => toNumber(boost, node.at('boost'))) : undefined,
    operator: node.operator(),
  };
}

/** One search of several columns if all look for the same words; otherwise any of the searches may match. */
function readMatchQueries(node: TreeNode): FullTextQuery {
  node.refuseOthers(['match_queries']);
  const queries = node
    .list('match_queries')
    .map((query, index) => readMatch(new TreeNode(query, node.at(`match_queries[${index}]`))));
  const [first] = queries;
  const columns = queries.map((query) => query.column).filter((column) => column !== undefined);
  // Without a fuzziness, the engine chooses one by word length, which a search of several columns does not support.
  const isOneSearch = queries.every(
    ({ fuzziness, terms, operator }) => fuzziness === 0 && terms === first?.terms && operator === first.operator,
  );
  if (first === undefined || columns.length < queries.length || !isOneSearch) {
    return { kind: 'boolean', must: [], should: queries, mustNot: [] };
  }
  const boosts = queries.map((query) => query.boost);
  return { kind: 'multi-match', terms: first.terms, columns, boosts, operator: first.operator };
}

function readBoolean(node: TreeNode): FullTextQuery {
  node.refuseOthers(['must', 'should', 'must_not']);
  const clauses = (key: string): readonly FullTextQuery[] =>
    node.list(key, []).map((clause, index) => readQuery(clause, node.at(`${key}[${index}]`)));
  return { kind: 'boolean', must: clauses('must'), should: clauses('should'), mustNot: clauses('must_not') };
}

interface Position {
  readonly path: string;
  readonly depth: number;
  readonly depthMax: number;
}

/** An object of the tree. A null field counts as absent. */
class TreeNode {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly #position: Position;

  constructor(value: unknown, position: Position) {
    if (!isObject(value)) throw wrongType(position.path, 'an object');
    this.fields = value;
    this.#position = position;
  }

  at(field: string): Position {
    return { ...this.#position, path: `${this.#position.path}.${field}` };
  }

  refuseOthers(known: readonly string[]): void {
    const unknown = Object.keys(this.fields).find((key) => !known.includes(key));
    if (unknown === undefined) return;
    const message = `The field ${quoteForMessage(unknown)} is unknown in ${this.#position.path}.`;
    throw invalidInput(message, `The fields are ${known.join(', ')}.`);
  }

  text(key: string): string {
    const value = this.fields[key];
    if (typeof value !== 'string') throw wrongType(this.at(key).path, 'a string');
    return value;
  }

  number(key: string): number | undefined {
    const value = this.fields[key] ?? undefined;
    return value === undefined ? undefined : toNumber(value, this.at(key));
  }

  list(key: string, fallback?: readonly unknown[]): readonly unknown[] {
    const value = this.fields[key] ?? fallback;
    if (!Array.isArray(value)) throw wrongType(this.at(key).path, 'an array');
    return value;
  }

  column(): FieldPath | undefined {
    const column = this.fields['column'] ?? undefined;
    return column === undefined ? undefined : toColumn(column, this.at('column'));
  }

  operator(): 'and' | 'or' {
    const operator = this.fields['operator'] ?? 'or';
    const word = typeof operator === 'string' ? operator.toLowerCase() : '';
    if (word !== 'and' && word !== 'or') throw wrongType(this.at('operator').path, '"And" or "Or"');
    return word;
  }
}

function toColumn(value: unknown, { path }: Position): FieldPath {
  if (typeof value !== 'string') throw wrongType(path, 'a field path');
  return parseFieldPath(value);
}

function toNumber(value: unknown, { path }: Position): number {
  if (typeof value !== 'number') throw wrongType(path, 'a number');
  return value;
}

function wrongType(path: string, wanted: string): ServiceError {
  return invalidInput(`${path} must be ${wanted}.`);
}
