import { BufferPool } from '../../arrow/stream/buffer-pool.ts';
import type { Limits } from '../../model/limits.ts';
import { AdmissionControl } from './admission-control.ts';
import { MemoryBudget } from './memory-budget.ts';
import { SlowClients } from './slow-clients.ts';
import { InFlight } from './in-flight.ts';

/** How much the service carries, and what it may carry. */
export interface Load {
  readonly inFlight: InFlight;
  readonly admission: AdmissionControl;
  /** For Arrow bodies in memory. */
  readonly arrowMemory: MemoryBudget;
  /** For the parts of Arrow bodies on their way to the engine. */
  readonly chunkBuffers: BufferPool;
  /** For JSON bodies in memory, which need not wait for uploads. */
  readonly jsonMemory: MemoryBudget;
  /** Clients that send Arrow bodies. */
  readonly slowSenders: SlowClients;
  /** Clients that take large replies. */
  readonly slowReaders: SlowClients;
}

/** How many times longer than a JSON body an upload may be made to wait for memory. */
const UPLOAD_PATIENCE = 10;

/** `now` gives milliseconds on a clock that only runs forward. */
export function createLoad({ http: limits, arrow }: Pick<Limits, 'http' | 'arrow'>, now: () => number): Load {
  const { bufferedBytesMax: bytesMax, bodyIdleSeconds: waitSeconds, slowSeconds: graceSeconds } = limits;
  const { chunkBytes, keptChunksMax } = arrow;
  const slowSenders = new SlowClients({ graceSeconds, now });
  return {
    inFlight: new InFlight(),
    admission: new AdmissionControl({
      limits,
      now,
      onFull: (work) => {
        if (work === 'ingest') slowSenders.cutSlowest();
      },
    }),
    // When many large uploads come at once, they are taken in almost one after the other.
    arrowMemory: new MemoryBudget({
      bytesMax,
      waitSeconds: UPLOAD_PATIENCE * waitSeconds,
      onWaiting: () => slowSenders.cutSlowestHolder(),
    }),
    chunkBuffers: new BufferPool({ chunkBytes, keptMax: keptChunksMax }),
    jsonMemory: new MemoryBudget({ bytesMax: bytesMax / 2, waitSeconds }),
    slowSenders,
    slowReaders: new SlowClients({ graceSeconds, now }),
  };
}
