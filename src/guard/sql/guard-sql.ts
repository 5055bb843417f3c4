import type { SqlLimits } from '../../model/limits.ts';
import type { GuardedSql } from '../../model/query.ts';
import { refuseOpposedLists } from './contradictory-lists.ts';
import { SqlReader } from './parser.ts';
import { SqlRefusal, refuseAt, toServiceError } from './refusal.ts';
import type { SqlUse } from './refusal.ts';
import { readTokens } from './tokenizer.ts';

export type { SqlUse } from './refusal.ts';

/**
 * Lets a text through to the engine only when the whole of it is one expression within the bounds. The result stands in
 * parentheses: the engine stops reading where an expression ends, and so can neither drop a tail nor read on.
 */
export function guardSql(text: string, use: SqlUse, limits: SqlLimits): GuardedSql {
  try {
    checkText(text, limits);
    const reader = new SqlReader(limits);
    for (const token of readTokens(text)) reader.read(token);
    reader.finish(text.length);
    refuseOpposedLists(text, use.name === 'filter' || use.name === 'predicate');
  } catch (error) {
    if (error instanceof SqlRefusal) throw toServiceError(error.fault, text, use);
    throw error;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The reader took every token and found it complete.
  return `(${text})` as GuardedSql;
}

function checkText(text: string, limits: SqlLimits): void {
  if (text.length > limits.charactersMax) {
    throw refuseAt(0, `the text is longer than ${limits.charactersMax} characters`, 'Ask in several requests.');
  }
  const half = /\p{Surrogate}/u.exec(text);
  if (half !== null) {
    throw refuseAt(half.index, 'half of a surrogate pair stands alone', 'Send well-formed Unicode.');
  }
}
