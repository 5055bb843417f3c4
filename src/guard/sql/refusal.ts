import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';

/** What the text is for, and how messages call it, such as `updates[2] expression`. */
export interface SqlUse {
  readonly name: 'filter' | 'predicate' | 'expression' | 'projection';
  readonly field: string;
}

/** What is wrong with a text, and where; `reason` continues the sentence after a colon. */
export interface SqlFault {
  readonly offset: number;
  readonly reason: string;
  readonly hint: string;
}

const PIECE_CHARACTERS_MAX = 24;

/** Thrown while a text is read, where the field of the text is not known. */
export class SqlRefusal extends Error {
  readonly fault: SqlFault;

  constructor(fault: SqlFault) {
    super(fault.reason);
    this.name = 'SqlRefusal';
    this.fault = fault;
  }
}

export function refuseAt(offset: number, reason: string, hint: string): SqlRefusal {
  return new SqlRefusal({ offset, reason, hint });
}

export function toServiceError(fault: SqlFault, text: string, use: SqlUse): ServiceError {
  const piece = text.slice(fault.offset, fault.offset + PIECE_CHARACTERS_MAX);
  const near = piece === '' ? 'at its end' : `near ${quoteForMessage(piece)}`;
  const position = characterPosition(text, fault.offset);
  return invalidInput(`In ${use.field} at character ${position}, ${near}: ${fault.reason}.`, fault.hint);
}

/** Counted from 1 in characters as people see them, where a pair of surrogates is one. */
function characterPosition(text: string, offset: number): number {
  const pairs = text.slice(0, offset).match(/[\ud800-\udbff][\udc00-\udfff]/g) ?? [];
  return offset - pairs.length + 1;
}
