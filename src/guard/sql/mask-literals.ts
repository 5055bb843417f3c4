import type { GuardedSql } from '../../model/query.ts';
import { readTokens } from './tokenizer.ts';

const LITERALS: ReadonlySet<string> = new Set(['string', 'number', 'hex']);

/** The text with a question mark for every literal: what was asked, without the values that it was asked about. */
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
