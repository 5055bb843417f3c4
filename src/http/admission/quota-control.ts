import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../errors/service-error.ts';
import type { Caller, Quota } from '../../model/access.ts';
import { CallerCounts } from '../../model/limits/caller-counts.ts';
import type { Database } from '../../model/table.ts';
import { once } from '../../model/time/once.ts';
import type { ReleaseSlot, WorkClass } from './admission-control.ts';
import { RateLimit } from './rate-limit.ts';

/** The subject of a quota; also the name of the policy in `RateLimit-Policy`. */
type Policy = 'caller' | 'database';

export interface QuotaRefusal {
  readonly quota: 'requests_per_second' | 'concurrent_reads' | 'concurrent_writes';
  readonly subject: Policy;
}

interface QuotaControlOptions {
  /** For callers without a rate in their quota; 0 for none. */
  readonly requestsPerSecond: number;
  readonly onRefusal?: (refusal: QuotaRefusal) => void;
  readonly rateLimit?: RateLimit;
}

/** Receives the headers of the policies that apply. */
type QuotaResponse = Pick<ServerResponse, 'getHeader' | 'setHeader'>;

interface Subject {
  readonly id: string;
  readonly policy: Policy;
  readonly requestsPerSecond: number;
  readonly quota: Quota;
}

/** Administration is not counted: an administrator must be able to raise a quota. */
const CONCURRENCY = {
  read: { limit: 'concurrentReads', name: 'concurrent_reads', what: 'reads' },
  write: { limit: 'concurrentWrites', name: 'concurrent_writes', what: 'writes' },
  ingest: { limit: 'concurrentWrites', name: 'concurrent_writes', what: 'writes' },
  admin: undefined,
} as const;

const NO_QUOTA: Quota = {};

/**
 * The rate and concurrency quotas of callers and databases, counted by this node. If both apply, a request must pass
 * both. Headers as in draft-ietf-httpapi-ratelimit-headers.
 */
export class QuotaControl {
  readonly #requestsPerSecond: number;
  readonly #onRefusal: (refusal: QuotaRefusal) => void;
  readonly #rateLimit: RateLimit;
  /** Requests in flight, by subject and limit; only for subjects with such a quota. */
  readonly #running = new CallerCounts();

  constructor({ requestsPerSecond, onRefusal = () => {}, rateLimit = new RateLimit() }: QuotaControlOptions) {
    this.#requestsPerSecond = requestsPerSecond;
    this.#onRefusal = onRefusal;
    this.#rateLimit = rateLimit;
  }

  /** Call the returned function when the request has ended. */
  enterCaller(
    { id, quota = NO_QUOTA }: Pick<Caller, 'id' | 'quota'>,
    work: WorkClass,
    response: QuotaResponse,
  ): ReleaseSlot | undefined {
    const { requestsPerSecond = this.#requestsPerSecond } = quota;
    if (quota === NO_QUOTA && requestsPerSecond === 0) return undefined;
    return this.#enter({ id, policy: 'caller', requestsPerSecond, quota }, work, response);
  }

  /** Counts only the rate. */
  enterRate(caller: Pick<Caller, 'id' | 'quota'>, response: QuotaResponse): void {
    // The class without a concurrency limit.
    this.enterCaller(caller, 'admin', response);
  }

  /** Counts everything except the rate, for a request that is part of one that `enterRate` has counted. */
  enterSlot({ id, quota }: Pick<Caller, 'id' | 'quota'>, work: WorkClass, response: QuotaResponse) {
    return this.enterCaller({ id, quota: { ...quota, requestsPerSecond: 0 } }, work, response);
  }

  enterDatabase(
    { id, quota }: Pick<Database, 'id' | 'quota'>,
    work: WorkClass,
    response: QuotaResponse,
  ): ReleaseSlot | undefined {
    if (quota === undefined) return undefined;
    const { requestsPerSecond = 0 } = quota;
    return this.#enter({ id: `database:${id}`, policy: 'database', requestsPerSecond, quota }, work, response);
  }

  #enter(subject: Subject, work: WorkClass, response: QuotaResponse): ReleaseSlot | undefined {
    if (subject.requestsPerSecond > 0) this.#takeRate(subject, response);
    return subject.quota === NO_QUOTA ? undefined : this.#takeSlot(subject, work, response);
  }

  #takeRate({ id, policy, requestsPerSecond: rate }: Subject, response: QuotaResponse): void {
    const message =
      policy === 'caller'
        ? `This caller sends more than ${rate} requests per second.`
        : `This database receives more than ${rate} requests per second, the limit of its quota.`;
    let remaining = 0;
    try {
      remaining = this.#rateLimit.take(id, rate, message);
    } catch (error) {
      this.#onRefusal({ quota: 'requests_per_second', subject: policy });
      throw error;
    } finally {
      addHeaders(response, `"${policy}";q=${rate};w=1`, `"${policy}";r=${remaining};t=1`);
    }
  }

  #takeSlot({ id, policy, quota }: Subject, work: WorkClass, response: QuotaResponse): ReleaseSlot | undefined {
    const concurrency = CONCURRENCY[work];
    const slots = concurrency && quota[concurrency.limit];
    if (concurrency === undefined || slots === undefined) return undefined;
    const { name, what } = concurrency;
    const key = `${name} ${id}`;
    if (this.#running.of(key) >= slots) {
      this.#onRefusal({ quota: name, subject: policy });
      addHeaders(response, `"${policy}-${what}";q=${slots};qu="concurrent-requests"`, `"${policy}-${what}";r=0`);
      throw tooMany(policy, slots, what);
    }
    this.#running.add(key, 1);
    return once(() => this.#running.add(key, -1));
  }
}

function tooMany(policy: Policy, slots: number, what: string): ServiceError {
  const whose = policy === 'caller' ? 'This caller' : 'This database';
  return new ServiceError('Throttling', `${whose} has ${slots} ${what} in progress, the limit of its quota.`, {
    hint: 'Try again after the time in Retry-After, or when another request has finished.',
    retryAfterSeconds: 1,
  });
}

/** Appends to structured-field lists, which have one item per policy. */
function addHeaders(response: QuotaResponse, policy: string, state: string): void {
  for (const [name, item] of [
    ['ratelimit-policy', policy],
    ['ratelimit', state],
  ] as const) {
    const before = response.getHeader(name);
    response.setHeader(name, typeof before === 'string' ? `${before}, ${item}` : item);
  }
}
