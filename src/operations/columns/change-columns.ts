import { ServiceError } from '../../errors/service-error.ts';

export function requireEntries(name: string, count: number, maximum: number): void {
  if (count === 0) throw new ServiceError('InvalidInput', `${name} is empty.`, { hint: 'Give at least one entry.' });
  if (count > maximum) {
    throw new ServiceError('InvalidInput', `${name} has ${count} entries; at most ${maximum} are allowed.`);
  }
}

export function notOffered(field: string): ServiceError {
  return new ServiceError('Unsupported', `${field} is not offered.`);
}
