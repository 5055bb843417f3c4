import type { SqlLimits } from '../../model/limits.ts';
import type { GuardedSql } from '../../model/query.ts';
import { refuseContradictoryLists } from './contradictory-lists.ts';
import { SqlParser } from './parser.ts';
import { SqlRefusal, invalidSql, refuseAt } from './refusal.ts';
import type { SqlUse } from './refusal.ts';
import { readTokens } from './tokenizer.ts';

/**
 * Lets a text through to the engine only when all of it is one expression within the limits. The result is in
 * parentheses: the engine stops where an expression ends, and so can neither drop a tail nor read on.
 */
export function guardSql(text: string, use: SqlUse, limits: SqlLimits): GuardedSql {
  try {
    checkText(text, limits);
    const parser = new SqlParser(limits);
    for (const token of readTokens(text)) parser.read(token);
    parser.finish(text.length);
    refuseContradictoryLists(text, use.name === 'filter' || use.name === 'predicate');
  } catch (error) {
    if (error instanceof SqlRefusal) throw invalidSql(error, text, use);
    throw error;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The parser took every token and found it complete.
  return `(${text})` as GuardedSql;
}

const LITERALS: ReadonlySet<string> = new Set(['string', 'number', 'hex']);

/** Replaces every literal with a question mark: logs show the query without the values of rows. */
export function maskLiterals(sql: GuardedSql): string {
  const parts: string[] = [];
  let end = 0;
  for (const token of readTokens(sql)) {
    if (!LITERALS.has(token.kind)) continue;
    parts.push(sql.slice(end, token.start), '?');
    end = token.end;
  }
  return [...parts, sql.slice(end)].join('').replaceAll(/\?(?:\s*,\s*\?)+/g, '?, …');
}

function checkText(text: string, limits: SqlLimits): void {
  if (text.length > limits.charactersMax) {
    throw refuseAt(0, `the text is longer than ${limits.charactersMax} characters`, 'Ask in several requests.');
  }
  const half = /\p{Surrogate}/u.exec(text);
  if (half !== null) throw refuseAt(half.index, 'half of a surrogate pair stands alone', 'Send well-formed Unicode.');
}
