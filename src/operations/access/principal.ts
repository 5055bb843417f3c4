import type { Catalog } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { Caller } from '../../model/caller.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { requireChangeable } from './credentials.ts';

const PRINCIPAL_CHARACTERS_MAX = 2048;

/**
 * Checks who is to be given something. A key or a client must be there, and be one that the caller may change: otherwise
 * one administrator could tie another's key to a database of its own, where its owner could not revoke it any more. Who
 * holds a token is for its issuer to know.
 */
export async function requirePrincipal(principal: string, caller: Caller, catalog: Catalog): Promise<void> {
  const [kind, rest = ''] = principal.split(/:(.*)/s, 2);
  if (kind === 'key' && rest !== '') return requireChangeable(catalog.keys, kind, { id: rest, caller });
  if (kind === 'client' && rest !== '') return requireChangeable(catalog.clients, kind, { id: rest, caller });
  if (kind === 'token' && isTokenHolder(principal, rest)) return undefined;
  throw new ServiceError('InvalidInput', `The principal ${quoteForMessage(principal)} is not usable.`, {
    hint: 'It is "key:<id>", "client:<id>" or "token:<issuer>#<subject>".',
  });
}

function isTokenHolder(principal: string, rest: string): boolean {
  const [issuer = '', subject = ''] = rest.split(/#(.*)/s, 2);
  const isPlain = principal.length <= PRINCIPAL_CHARACTERS_MAX && !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(principal);
  return isPlain && subject !== '' && URL.canParse(issuer);
}
