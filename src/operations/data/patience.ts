import type { RequestFacts } from '../operation.ts';

export interface Patience {
  readonly seconds: number | undefined;
  readonly signal: AbortSignal;
}

/** How long the caller says that it waits; whatever it says, the service's own bound holds too. */
export function readPatience(request: Pick<RequestFacts, 'header' | 'signal'>): Patience {
  const text = request.header('x-request-timeout-ms') ?? '';
  const seconds = /^\d{1,12}$/.test(text) && Number(text) > 0 ? Number(text) / 1000 : undefined;
  return { seconds, signal: request.signal() };
}
