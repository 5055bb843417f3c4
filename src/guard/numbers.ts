import { invalidInput } from '../errors/service-error.ts';
import type { QueryLimits } from '../model/limits.ts';
import { formatCount } from '../model/value-text.ts';

interface IntegerRule {
  readonly field: string;
  readonly minimum: number;
  readonly maximum: number;
}

export function requireInteger(value: number, rule: IntegerRule): number {
  const { field, minimum, maximum } = rule;
  if (Number.isSafeInteger(value) && value >= minimum && value <= maximum) return value;
  const hint = `Give a whole number from ${formatCount(minimum)} to ${formatCount(maximum)}.`;
  throw invalidInput(`${field} is ${value}, which is ${integerFault(value, rule)}.`, hint);
}

export function requireFinite(value: number, field: string): number {
  if (Number.isFinite(value)) return value;
  throw invalidInput(`${field} is ${value}, which is not a finite number.`);
}

export function guardVectors(vectors: readonly (readonly number[])[], limits: QueryLimits): void {
  requireInteger(vectors.length, { field: 'The number of query vectors', minimum: 0, maximum: limits.vectorsMax });
  const [first] = vectors;
  if (first === undefined) return;
  const dimension = {
    field: 'The number of dimensions of the query vector',
    minimum: 1,
    maximum: limits.dimensionsMax,
  };
  requireInteger(first.length, dimension);
  for (const [index, vector] of vectors.entries()) {
    if (vector.length !== first.length) {
      throw invalidInput(
        `Query vector ${index} has ${vector.length} dimensions; query vector 0 has ${first.length}.`,
        'All query vectors of a request must have the same number of dimensions.',
      );
    }
    checkElements(vector, index);
  }
}

function integerFault(value: number, rule: IntegerRule): string {
  if (value > rule.maximum) return `more than ${formatCount(rule.maximum)}`;
  if (value < rule.minimum) return `less than ${formatCount(rule.minimum)}`;
  return 'not a whole number';
}

/** The engine searches with 32-bit floats: a number that becomes infinite would silently match nothing. */
function checkElements(vector: readonly number[], index: number): void {
  const wrong = vector.findIndex((element) => !Number.isFinite(Math.fround(element)));
  if (wrong === -1) return;
  throw invalidInput(
    `Element ${wrong} of query vector ${index} is ${vector[wrong]}, which is not a finite 32-bit number.`,
  );
}
