import type { SqlLimits } from '../../model/limits.ts';
import type { GuardedSql } from '../../model/query.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { formatByteLimit, formatCount } from '../../model/value-text.ts';
import type { TextOrigin } from './cost-budget.ts';
import { avoidWrongIndexAnswers } from './rewrite/index-answers.ts';
import { rewriteCase, writeCalls, writeCondition } from './rewrite/rewrite-case.ts';
import type { RewrittenSql } from './rewrite/rewrite-case.ts';
import { refuseContradictoryLists } from './checks/contradictory-lists.ts';
import { measureGrowth } from './growth.ts';
import type { Growth } from './growth.ts';
import { SqlParser } from './parser.ts';
import { SqlRefusal, invalidSql, refuseAt } from './refusal.ts';
import type { SqlUse } from './refusal.ts';
import { TokenReader } from './tokenizer.ts';
import type { SqlToken } from './tokenizer.ts';
import { refuseUnknownTypes } from './checks/types.ts';

/**
 * Passes a text to the engine only if all of it is one expression within the limits. The result is in parentheses: the
 * engine stops parsing where an expression ends, so it can neither drop a tail nor read further.
 */
export function guardSql(text: string, use: SqlUse, limits: SqlLimits): GuardedSql {
  const isCondition = use.name === 'filter' || use.name === 'predicate';
  let rewritten: RewrittenSql | undefined;
  let guarded: string;
  try {
    checkText(text, limits);
    rewritten = rewriteCase(text, limits.charactersMax, use.withoutCalls === true ? writeCondition : writeCalls);
    const known = rewritten?.text ?? text;
    const tokens = parse(known, limits, rewritten === undefined ? 'usual' : 'rewritten');
    refuseUnknownTypes(known, tokens);
    refuseContradictoryLists(known, tokens, isCondition);
    refuseGrowth(tokens, use, limits);
    guarded = isCondition && use.withoutCalls !== true ? avoidWrongIndexAnswers(known, tokens) : known;
  } catch (error) {
    if (!(error instanceof SqlRefusal)) throw error;
    const offset = rewritten?.toOriginal(error.offset) ?? error.offset;
    throw invalidSql(refuseAt(offset, error.message, error.hint), text, use);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The parser took every token and found it complete.
  return `(${guarded})` as GuardedSql;
}

function parse(text: string, limits: SqlLimits, origin: TextOrigin): readonly SqlToken[] {
  const reader = new TokenReader(text);
  const parser = new SqlParser(limits, origin);
  const tokens: SqlToken[] = [];
  for (let token = reader.next(false); token !== undefined; token = reader.next(parser.isAtItem)) {
    parser.read(token);
    tokens.push(token);
  }
  parser.finish(text.length);
  return tokens;
}

const LITERALS: ReadonlySet<string> = new Set(['string', 'number', 'hex', 'items']);
const LIST_STARTS: ReadonlySet<string> = new Set(['(', '[', ',']);

/** Replaces every literal with a question mark, so that logs show the query without row values. */
export function maskLiterals(sql: GuardedSql): string {
  const parts: string[] = [];
  let end = 0;
  const reader = new TokenReader(sql);
  let isAtItem = false;
  for (let token = reader.next(false); token !== undefined; token = reader.next(isAtItem)) {
    isAtItem = token.kind === 'symbol' && LIST_STARTS.has(token.text);
    if (!LITERALS.has(token.kind)) continue;
    parts.push(sql.slice(end, token.start), token.kind === 'items' ? '?, ' : '?');
    end = token.end;
  }
  return [...parts, sql.slice(end)].join('').replaceAll(/\?(?:\s*,\s*\?)+/g, '?, …');
}

/**
 * For a list of one-digit numbers: texts and lists that are only compared, or set by an update, may have any length.
 */
const BYTES_PER_CHARACTER = 8;

/**
 * The engine evaluates an expression for thousands of rows at once, so a long value for each would use up all memory.
 */
function refuseGrowth(
  tokens: readonly SqlToken[],
  { name }: SqlUse,
  { growthMax, charactersMax, computedBytesMax }: SqlLimits,
): void {
  const growth = measureGrowth(tokens);
  const constantBytesMax = Math.max(computedBytesMax, charactersMax * BYTES_PER_CHARACTER);
  const bytesMax = name === 'expression' ? constantBytesMax : computedBytesMax;
  if (growth.factor > growthMax) {
    const { name: by, offset } = growth.by.factor;
    const reason = `${quoteForMessage(by)} produces values up to ${Math.ceil(growth.factor)} times as long as a column`;
    const hint = `Use the same column fewer times, or lower a count: at most ${growthMax} times is allowed.`;
    throw refuseAt(offset, reason, hint);
  }
  if (growth.bytes > bytesMax) throw tooLong(growth.by.bytes, growth.bytes, bytesMax);
  if (growth.constantBytes > constantBytesMax) {
    throw tooLong(growth.by.constantBytes, growth.constantBytes, constantBytesMax);
  }
}

function tooLong({ name, offset }: Growth['by']['bytes'], bytes: number, bytesMax: number): SqlRefusal {
  const reason = `${quoteForMessage(name)} produces values of up to ${formatCount(Math.ceil(bytes))} bytes from literals`;
  return refuseAt(
    offset,
    reason,
    `Use shorter strings and lists, and lower counts: at most ${formatByteLimit(bytesMax)} are allowed.`,
  );
}

function checkText(text: string, limits: SqlLimits): void {
  if (text.length > limits.charactersMax) {
    throw refuseAt(
      0,
      `the text is longer than ${formatCount(limits.charactersMax)} characters`,
      'Use several requests.',
    );
  }
  const half = /\p{Surrogate}/u.exec(text);
  if (half !== null) throw refuseAt(half.index, 'there is an unpaired surrogate', 'Send well-formed Unicode.');
}
