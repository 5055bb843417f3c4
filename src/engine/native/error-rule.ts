import type { ErrorName } from '../../errors/service-error.ts';

/**
 * One way in which the engine fails, known only by its message. `sentence` gets the captured parts: names and types,
 * never paths or values of rows. A message blamed on the service must be recognised by its beginning, up to the first
 * quote, because what stands in quotes may be a caller's text.
 */
export interface ErrorRule {
  readonly name: string;
  readonly blames: 'caller' | 'service';
  readonly pattern: RegExp;
  readonly kind: ErrorName;
  readonly sentence: (...captured: string[]) => string;
  readonly hint?: string | ((...captured: string[]) => string | undefined);
  readonly retryAfterSeconds?: number;
}
