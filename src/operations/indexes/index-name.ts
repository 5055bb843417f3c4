import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { RequestFacts } from '../operation.ts';

/**
 * The index that the address names. Some clients write a space there as a plus sign; they say the name in the body too,
 * which then decides.
 */
export function readIndexName(request: RequestFacts, inBody: string | undefined): string {
  const inAddress = request.params['index_name'] ?? '';
  if (inBody === undefined || inBody === inAddress) return inAddress;
  if (inBody === inAddress.replaceAll('+', ' ')) return inBody;
  throw new ServiceError(
    'InvalidInput',
    `The index in the address is ${quoteForMessage(inAddress)}, in the body ${quoteForMessage(inBody)}.`,
    { hint: 'They must agree.' },
  );
}

export function indexNotFound(name: string): ServiceError {
  return new ServiceError('TableIndexNotFound', `The table has no index ${quoteForMessage(name)}.`);
}
