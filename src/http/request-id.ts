import { randomUUID } from 'node:crypto';

interface WithHeaders {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export const REQUEST_ID_HEADER = 'x-request-id';

/** The caller's own id, if it sent one that can stand in a log line; else one of ours. */
export function chooseRequestId(message: WithHeaders): string {
  return readRequestId(message.headers[REQUEST_ID_HEADER]) ?? randomUUID();
}

export function readRequestId(sent: unknown): string | undefined {
  return typeof sent === 'string' && /^[\w.:-]{1,128}$/.test(sent) ? sent : undefined;
}
