import { ServiceError } from '../../../errors/service-error.ts';
import type { ObjectPart } from '../object-store.ts';
import type { StoreReply } from './http.ts';

const CREATED: ReadonlySet<number> = new Set([200, 201]);

/**
 * Whether a conditional PUT created the object. When an attempt may have been executed without a reply, a refusal says
 * nothing: the object itself shows whose it is.
 */
export async function resolveCreated(
  put: () => Promise<StoreReply>,
  read: () => Promise<Buffer | undefined>,
  content: Buffer,
): Promise<boolean> {
  let reply: StoreReply;
  try {
    reply = await put();
  } catch (error) {
    const found = await read();
    // Not there yet: the request may still be on its way.
    if (found === undefined) throw error;
    return found.equals(content);
  }
  if (CREATED.has(reply.status)) return true;
  return reply.isRepeated && (await read())?.equals(content) === true;
}

/** Of a request with a range. Some stores answer one past the end with nothing instead of 416. */
export function toPart({ status, headers, body }: StoreReply): ObjectPart | undefined {
  if (status !== 206 || body.length === 0) return undefined;
  const [, size] = /\/(\d+)$/.exec(headers.get('content-range') ?? '') ?? [];
  if (size === undefined) throw new ServiceError('Internal', 'The object store sent a part without its size.');
  return { content: body, objectBytes: Number(size) };
}
