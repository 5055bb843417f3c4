import { invalidInput } from '../errors/service-error.ts';
import type { SqlLimits } from '../model/limits.ts';
import type { FullTextQuery } from '../model/query.ts';
import { requireFinite, requireInteger } from './numbers.ts';

const EDITS_MAX = 2;
const EXPANSIONS_MAX = 1000;
const PREFIX_CHARACTERS_MAX = 1000;
const SLOP_MAX = 1000;

/** Depth is checked before each descent: a deep tree is refused before it exhausts the stack. */
export function guardFullText(query: FullTextQuery, limits: SqlLimits): FullTextQuery {
  checkNode(query, { field: 'full_text_query', depth: 1, totals: { clauses: 0, characters: 0 }, limits });
  return query;
}

interface Position {
  readonly field: string;
  readonly depth: number;
  /** Shared by the whole tree. */
  readonly totals: { clauses: number; characters: number };
  readonly limits: SqlLimits;
}

type NodeOf<Kind extends FullTextQuery['kind']> = Extract<FullTextQuery, { readonly kind: Kind }>;

function checkNode(node: FullTextQuery, at: Position): void {
  const { fullTextDepthMax } = at.limits;
  if (at.depth > fullTextDepthMax) {
    const hint = 'Put clauses of the same kind side by side in one boolean query.';
    throw invalidInput(`${at.field} is nested more than ${fullTextDepthMax} deep.`, hint);
  }
  countClauses(at, 1);
  switch (node.kind) {
    case 'text':
      countClauses(at, node.columns.length);
      return countCharacters(node.terms, `${at.field}.query`, at);
    case 'match':
      return checkMatch(node, at);
    case 'phrase':
      requireInteger(node.slop, { field: `${at.field}.phrase.slop`, minimum: 0, maximum: SLOP_MAX });
      return countCharacters(node.terms, `${at.field}.phrase.terms`, at);
    case 'boost':
      requireFinite(node.negativeBoost, `${at.field}.boost.negative_boost`);
      checkNode(node.positive, below(at, 'boost.positive'));
      return checkNode(node.negative, below(at, 'boost.negative'));
    case 'multi-match':
      return checkMultiMatch(node, at);
    case 'boolean':
      for (const [index, clause] of node.must.entries()) checkNode(clause, below(at, `boolean.must[${index}]`));
      for (const [index, clause] of node.should.entries()) checkNode(clause, below(at, `boolean.should[${index}]`));
      for (const [index, clause] of node.mustNot.entries()) checkNode(clause, below(at, `boolean.must_not[${index}]`));
  }
}

function checkMatch(node: NodeOf<'match'>, at: Position): void {
  const field = `${at.field}.match`;
  countCharacters(node.terms, `${field}.terms`, at);
  requireFinite(node.boost, `${field}.boost`);
  if (node.fuzziness !== undefined) {
    requireInteger(node.fuzziness, { field: `${field}.fuzziness`, minimum: 0, maximum: EDITS_MAX });
  }
  requireInteger(node.maxExpansions, { field: `${field}.max_expansions`, minimum: 1, maximum: EXPANSIONS_MAX });
  requireInteger(node.prefixLength, { field: `${field}.prefix_length`, minimum: 0, maximum: PREFIX_CHARACTERS_MAX });
}

function checkMultiMatch(node: NodeOf<'multi-match'>, at: Position): void {
  const field = `${at.field}.multi_match`;
  countClauses(at, node.columns.length);
  countCharacters(node.terms, `${field}.query`, at);
  if (node.columns.length === 0) throw invalidInput(`${field}.columns is empty.`);
  if (node.boosts === undefined) return;
  if (node.boosts.length !== node.columns.length) {
    throw invalidInput(
      `${field}.boost has ${node.boosts.length} numbers, and ${field}.columns has ${node.columns.length} columns.`,
      'Give one boost for each column, or none.',
    );
  }
  for (const [index, boost] of node.boosts.entries()) requireFinite(boost, `${field}.boost[${index}]`);
}

function below(at: Position, step: string): Position {
  return { ...at, field: `${at.field}.${step}`, depth: at.depth + 1 };
}

function countClauses(at: Position, count: number): void {
  const { totals, limits } = at;
  totals.clauses += count;
  if (totals.clauses > limits.fullTextClausesMax) {
    throw invalidInput(
      `full_text_query has more than ${limits.fullTextClausesMax} clauses and columns, counted up to ${at.field}.`,
    );
  }
}

function countCharacters(terms: string, field: string, at: Position): void {
  const { totals, limits } = at;
  totals.characters += terms.length;
  if (totals.characters > limits.fullTextCharactersMax) {
    throw invalidInput(
      `full_text_query has more than ${limits.fullTextCharactersMax} characters of text, counted up to ${field}.`,
    );
  }
  if (/\p{Surrogate}/u.test(terms)) {
    throw invalidInput(`${field} holds half of a surrogate pair.`, 'Send well-formed Unicode.');
  }
}
