import { BufferPool } from '../../arrow/stream/buffer-pool.ts';
import type { Limits } from '../../model/limits.ts';
import { Admission } from './admission-control.ts';
import { ByteBudget } from './memory-budget.ts';
import { Paced } from './slow-clients.ts';
import { UnderWay } from './in-flight.ts';

/** How much the service carries, and what it may carry. */
export interface Load {
  readonly underWay: UnderWay;
  readonly admission: Admission;
  /** For Arrow bodies in memory. */
  readonly arrowBudget: ByteBudget;
  /** For the parts of Arrow bodies on their way to the engine. */
  readonly chunkBuffers: BufferPool;
  /** For JSON bodies in memory, which need not wait for uploads. */
  readonly jsonBudget: ByteBudget;
  /** Clients that send Arrow bodies. */
  readonly senders: Paced;
  /** Clients that take large replies. */
  readonly takers: Paced;
}

/** How many times longer than a JSON body an upload may be made to wait for memory. */
const UPLOAD_PATIENCE = 10;

/** `now` gives milliseconds on a clock that only runs forward. */
export function createLoad({ http: limits, arrow }: Pick<Limits, 'http' | 'arrow'>, now: () => number): Load {
  const { bufferedBytesMax: bytesMax, bodyIdleSeconds: waitSeconds, slowSeconds: graceSeconds } = limits;
  const { chunkBytes, keptChunksMax } = arrow;
  const senders = new Paced({ graceSeconds, now });
  return {
    underWay: new UnderWay(),
    admission: new Admission({
      limits,
      now,
      onFull: (work) => {
        if (work === 'ingest') senders.cutSlowest();
      },
    }),
    // When many large uploads come at once, they are taken in almost one after the other.
    arrowBudget: new ByteBudget({
      bytesMax,
      waitSeconds: UPLOAD_PATIENCE * waitSeconds,
      onWaiting: () => senders.cutSlowestHolder(),
    }),
    chunkBuffers: new BufferPool({ chunkBytes, keptMax: keptChunksMax }),
    jsonBudget: new ByteBudget({ bytesMax: bytesMax / 2, waitSeconds }),
    senders,
    takers: new Paced({ graceSeconds, now }),
  };
}
