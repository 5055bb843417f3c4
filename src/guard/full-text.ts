import { invalidInput } from '../errors/service-error.ts';
import type { SqlLimits } from '../model/limits.ts';
import type { FullTextQuery } from '../model/query.ts';
import { formatCount } from '../model/value-text.ts';
import { requireFinite, requireInteger } from './numbers.ts';

const EDITS_MAX = 255;
const EXPANSIONS_MAX = 1000;
const PREFIX_CHARACTERS_MAX = 1000;
const SLOP_MAX = 1000;
/** Far below the largest 32-bit float: a search fails when one of its scores overflows. */
const BOOST_MAX = 1e30;
/**
 * The cost of a word by its fuzziness, relative to an exact one (about 0.07 ms): for each fuzzy word that the index
 * does not contain, the engine searches all words of the index. The last value is for more edits: the engine bounds the
 * size of a word's automaton, but builds it for up to 100 ms. Expansions count once per clause, each like a word.
 */
const WORD_COST = [1, 3, 25, 1500] as const;

/** Checks the depth before each descent: a deep tree is refused before it exhausts the stack. */
export function guardFullText(query: FullTextQuery, limits: SqlLimits): FullTextQuery {
  checkNode(query, {
    field: 'full_text_query',
    depth: 1,
    boost: 1,
    totals: { clauses: 0, characters: 0, cost: 0 },
    limits,
  });
  return query;
}

interface Position {
  readonly field: string;
  readonly depth: number;
  /** The factor on the clause's scores: the product of all enclosing negative_boost values. */
  readonly boost: number;
  /** Shared by the whole tree. */
  readonly totals: { clauses: number; characters: number; cost: number };
  readonly limits: SqlLimits;
}

type NodeOf<Kind extends FullTextQuery['kind']> = Extract<FullTextQuery, { readonly kind: Kind }>;

function checkNode(node: FullTextQuery, at: Position): void {
  const { fullTextDepthMax } = at.limits;
  if (at.depth > fullTextDepthMax) {
    const hint = 'Put clauses of the same kind next to each other in one boolean query.';
    throw invalidInput(`${at.field} is nested more than ${fullTextDepthMax} levels deep.`, hint);
  }
  countClauses(at, 1);
  switch (node.kind) {
    case 'text':
      countClauses(at, node.columns.length);
      countCharacters(node.terms, `${at.field}.query`, at);
      return countCost(node.terms, { fuzziness: 0, columns: Math.max(1, node.columns.length) }, at);
    case 'match':
      return checkMatch(node, at);
    case 'phrase':
      requireInteger(node.slop, { field: `${at.field}.phrase.slop`, minimum: 0, maximum: SLOP_MAX });
      countCharacters(node.terms, `${at.field}.phrase.terms`, at);
      return countCost(node.terms, { fuzziness: 0 }, at);
    case 'boost':
      requireBoost(node.negativeBoost, `${at.field}.boost.negative_boost`, at);
      checkNode(node.positive, below(at, 'boost.positive'));
      return checkNode(node.negative, { ...below(at, 'boost.negative'), boost: at.boost * node.negativeBoost });
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
  requireBoost(node.boost, `${field}.boost`, at);
  if (node.fuzziness !== undefined) {
    requireInteger(node.fuzziness, { field: `${field}.fuzziness`, minimum: 0, maximum: EDITS_MAX });
  }
  requireInteger(node.maxExpansions, { field: `${field}.max_expansions`, minimum: 1, maximum: EXPANSIONS_MAX });
  requireInteger(node.prefixLength, { field: `${field}.prefix_length`, minimum: 0, maximum: PREFIX_CHARACTERS_MAX });
  const { fuzziness, maxExpansions } = node;
  countCost(node.terms, { fuzziness, expansions: fuzziness === 0 ? 0 : maxExpansions }, at);
}

function checkMultiMatch(node: NodeOf<'multi-match'>, at: Position): void {
  const field = `${at.field}.multi_match`;
  countClauses(at, node.columns.length);
  countCharacters(node.terms, `${field}.query`, at);
  countCost(node.terms, { fuzziness: 0, columns: node.columns.length }, at);
  if (node.columns.length === 0) throw invalidInput(`${field}.columns is empty.`);
  if (node.boosts === undefined) return;
  if (node.boosts.length !== node.columns.length) {
    throw invalidInput(
      `${field}.boost has ${node.boosts.length} numbers, but ${field}.columns has ${node.columns.length} columns.`,
      'Give one boost for each column, or none.',
    );
  }
  for (const [index, boost] of node.boosts.entries()) requireBoost(boost, `${field}.boost[${index}]`, at);
}

function requireBoost(value: number, field: string, { boost: around }: Position): void {
  requireFinite(value, field);
  const hint = `Give a number from 0 to ${BOOST_MAX}.`;
  if (value < 0) throw invalidInput(`${field} is ${value}, which is less than 0.`, hint);
  if (value > BOOST_MAX) throw invalidInput(`${field} is ${value}, which is more than ${BOOST_MAX}.`, hint);
  if (value * around <= BOOST_MAX) return;
  throw invalidInput(
    `${field} is ${value}; multiplied by every negative_boost around it, that is more than ${BOOST_MAX}.`,
    'Lower one of them.',
  );
}

function below(at: Position, step: string): Position {
  return { ...at, field: `${at.field}.${step}`, depth: at.depth + 1 };
}

function countClauses(at: Position, count: number): void {
  const { totals, limits } = at;
  totals.clauses += count;
  if (totals.clauses > limits.fullTextClausesMax) {
    throw invalidInput(
      `full_text_query has more than ${formatCount(limits.fullTextClausesMax)} clauses and columns, counted up to ${at.field}.`,
    );
  }
}

function countCharacters(terms: string, field: string, at: Position): void {
  const { totals, limits } = at;
  totals.characters += terms.length;
  if (totals.characters > limits.fullTextCharactersMax) {
    throw invalidInput(
      `full_text_query has more than ${formatCount(limits.fullTextCharactersMax)} characters of text, counted up to ${field}.`,
    );
  }
  if (/\p{Surrogate}/u.test(terms)) {
    throw invalidInput(`${field} contains an unpaired surrogate.`, 'Send well-formed Unicode.');
  }
}

interface ClauseCost {
  /** `undefined`: the engine chooses it by the length of each word. */
  readonly fuzziness?: number | undefined;
  readonly columns?: number;
  readonly expansions?: number;
}

function countCost(terms: string, cost: ClauseCost, at: Position): void {
  const { totals, limits } = at;
  const words = terms.match(/[\p{Alphabetic}\p{N}]+/gu) ?? [];
  const { fuzziness, columns = 1, expansions = 0 } = cost;
  for (const word of words) totals.cost += costOf(fuzziness ?? editsOf(word)) * columns;
  totals.cost += expansions;
  if (totals.cost <= limits.fullTextCostMax) return;
  const [exact, one, two, more] = WORD_COST;
  throw invalidInput(
    `full_text_query costs more than ${formatCount(limits.fullTextCostMax)}, counted up to ${at.field}, which has ${formatCount(words.length)} words.`,
    `Each word costs ${exact} for each column, ${one} with fuzziness 1, ${two} with fuzziness 2, ${more} with more, and a fuzzy clause its max_expansions. Lower these, or give fewer words.`,
  );
}

function costOf(edits: number): number {
  return WORD_COST[edits] ?? WORD_COST[3];
}

/** The fuzziness that the engine would choose. */
function editsOf(word: string): number {
  if (word.length <= 2) return 0;
  return word.length <= 5 ? 1 : 2;
}
