import { BufferPool } from '../../arrow/stream/buffer-pool.ts';
import type { Limits } from '../../model/limits.ts';
import { AdmissionControl, perCallerMax } from './admission-control.ts';
import { InFlight } from './in-flight.ts';
import { MemoryBudget } from './memory-budget.ts';
import { QuotaControl } from './quota-control.ts';
import type { QuotaRefusal } from './quota-control.ts';
import { SlowClients } from './slow-clients.ts';

/** The load of the service and its limits. */
export type Load = ReturnType<typeof createLoad>;

/** How many times longer than a JSON body an upload may wait for memory. */
const UPLOAD_WAIT_FACTOR = 10;

export function createLoad(
  { http: limits, arrow }: Pick<Limits, 'http' | 'arrow'>,
  onQuotaRefusal?: (refusal: QuotaRefusal) => void,
) {
  const { bufferedBytesMax: bytesMax, bodyIdleSeconds: waitSeconds, slowSeconds: graceSeconds } = limits;
  const { rateRequestsPerSecond: requestsPerSecond, reservedPercent } = limits;
  const slowSenders = new SlowClients(graceSeconds);
  const slowJsonSenders = new SlowClients(graceSeconds);
  return {
    /** Requests in flight, including those that wait. */
    inFlight: new InFlight(),
    quotas: new QuotaControl({ requestsPerSecond, ...(onQuotaRefusal && { onRefusal: onQuotaRefusal }) }),
    admission: new AdmissionControl({
      limits,
      now: () => performance.now(),
      onFull: (work) => {
        if (work === 'ingest') slowSenders.evictSlowest();
      },
    }),
    /** For Arrow bodies. If many large uploads arrive at once, they are received almost one after the other. */
    arrowMemory: new MemoryBudget({
      bytesMax,
      bytesPerCallerMax: perCallerMax(bytesMax, reservedPercent),
      waitSeconds: UPLOAD_WAIT_FACTOR * waitSeconds,
      onWaiting: () => slowSenders.evictSlowest({ mustHoldMemory: true }),
    }),
    /** For chunks of Arrow bodies that the engine reads. */
    chunkBuffers: new BufferPool(arrow),
    /** For JSON bodies, which do not wait for uploads. */
    jsonMemory: new MemoryBudget({
      bytesMax: bytesMax / 2,
      bytesPerCallerMax: perCallerMax(bytesMax / 2, reservedPercent),
      waitSeconds,
      onWaiting: () => slowJsonSenders.evictSlowest({ mustHoldMemory: true }),
    }),
    slowJsonSenders,
    slowSenders,
    /** Clients that are receiving large replies. */
    slowReaders: new SlowClients(graceSeconds),
  };
}
