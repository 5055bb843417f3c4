import { ServiceError } from '../errors/service-error.ts';
import type { QueryValues } from './operation.ts';

/** A parameter of the address that is `true` or `false`. */
export function readFlag(query: QueryValues, name: string): boolean | undefined {
  const text = query[name]?.toLowerCase();
  if (text === undefined || text === '') return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ServiceError('InvalidInput', `The query parameter ${name} is neither true nor false.`);
}
