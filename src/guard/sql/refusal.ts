import { invalidInput } from '../../errors/service-error.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';

/** What the text is for, and its name in messages, such as `updates[2] expression`. */
export interface SqlUse {
  readonly name: 'filter' | 'predicate' | 'expression' | 'projection';
  readonly field: string;
  /**
   * The engine knows the columns only outside function calls, so a CASE must be a condition, and is rewritten as one.
   */
  readonly withoutCalls?: true;
}

const EXCERPT_CHARACTERS_MAX = 24;

/**
 * Thrown by the tokenizer and the parser, which do not know the field; the message continues a sentence after a colon.
 */
export class SqlRefusal extends Error {
  readonly offset: number;
  readonly hint: string;

  constructor(offset: number, reason: string, hint: string) {
    super(reason);
    this.offset = offset;
    this.hint = hint;
  }
}

export type Fault = readonly [reason: string, hint: string];

export const UNKNOWN_OPERATOR = 'the operator is unknown';

export function refuseAt(offset: number, reason: string, hint: string): SqlRefusal {
  return new SqlRefusal(offset, reason, hint);
}

export function invalidSql({ offset, message, hint }: SqlRefusal, text: string, use: SqlUse): ServiceError {
  const excerpt = text.slice(offset, offset + EXCERPT_CHARACTERS_MAX);
  const near = excerpt === '' ? 'at its end' : `near ${quoteForMessage(excerpt)}`;
  return invalidInput(`In ${use.field} at character ${characterPosition(text, offset)}, ${near}: ${message}.`, hint);
}

/** Counted from 1; a surrogate pair counts as one character. */
function characterPosition(text: string, offset: number): number {
  const pairs = text.slice(0, offset).match(/[\ud800-\udbff][\udc00-\udfff]/g) ?? [];
  return offset - pairs.length + 1;
}
