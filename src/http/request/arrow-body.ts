import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { openArrowStream, pullFirst } from '../../arrow/stream/checked-stream.ts';
import type { CheckedStream } from '../../arrow/stream/checked-stream.ts';
import { invalidInput } from '../../errors/service-error.ts';
import type { Input } from '../../invoke/invoke.ts';
import type { ArrowLimits, Limits } from '../../model/limits.ts';
import type { Schema } from '../../model/schema.ts';
import type { Load } from '../admission/load.ts';
import { leaseChunks } from '../admission/memory-budget.ts';
import type { RequestContext } from '../request-context.ts';
import { readPieces, refuseDeclaredLength } from './body.ts';

/** Bodies up to this size are read whole first, so that an invalid one reserves no name and writes no journal entry. */
const SHORT_BYTES = 64 * 1024;

/** The schema of an Arrow stream that was read whole. Refuses rows. */
export async function readSchemaBody(bytes: Uint8Array, limits: ArrowLimits): Promise<Schema> {
  const { schema, chunks } = await openArrowStream(Readable.from([bytes]), limits);
  for await (const { rows } of chunks) {
    if (rows > 0) throw invalidInput('The Arrow stream has rows, but only a schema is expected.', 'Send no batches.');
  }
  return schema;
}

/** The Arrow stream in the body of a request. Nothing is read before the operation opens it (invariant 1). */
export function arrowBody(
  context: RequestContext,
  isHashed: boolean,
  { load, limits }: { readonly load: Load; readonly limits: Limits },
): Required<Pick<Input, 'openStream' | 'streamDigest'>> {
  const { message } = context;
  const hash: Hash | undefined = isHashed ? createHash('sha256') : undefined;
  let stream: Promise<CheckedStream> | undefined;
  let digest: string | undefined;

  const open = async (arrowLimits: ArrowLimits): Promise<CheckedStream> => {
    refuseDeclaredLength(message, arrowLimits.streamBytesMax);
    const lease = context.lease(load.arrowMemory);
    const pieces = readPieces(message, {
      limits: limits.http,
      track: (evict) => load.slowSenders.track(evict, () => lease.heldBytes > 0),
      onReceived: (piece) => {
        context.received(piece);
        hash?.update(piece);
      },
    });
    const opened = await openArrowStream(pieces, arrowLimits, leaseChunks(load.chunkBuffers, lease));
    const isShort = Number(message.headers['content-length'] ?? Infinity) <= SHORT_BYTES;
    return isShort ? pullFirst(opened) : opened;
  };

  return {
    openStream: async (changed) => (stream ??= open({ ...limits.arrow, ...changed })),
    streamDigest: () => {
      if (context.bytesIn === undefined || hash === undefined)
        throw new Error('The body of the request was not hashed.');
      // Finalizing the hash ends it, so before the end of the body only a copy may be finalized.
      return message.readableEnded ? (digest ??= hash.digest('hex')) : hash.copy().digest('hex');
    },
  };
}
