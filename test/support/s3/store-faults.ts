/**
 * What happens to a request: an error before or after it was executed, a connection that is reset before or after, no
 * reply until the client gives up, the refusal that another write of the same key is still running, or one of `REFUSALS`.
 */
export type FaultKind =
  | 'error-before'
  | 'error-after'
  | 'reset-before'
  | 'reset-after'
  | 'hang'
  | 'conflict'
  | keyof typeof REFUSALS;

/** Status and code. */
export const REFUSALS = {
  denied: [403, 'AccessDenied'],
  expired: [400, 'ExpiredToken'],
  'wrong-key': [403, 'SignatureDoesNotMatch'],
  skewed: [403, 'RequestTimeTooSkewed'],
  'no-bucket': [404, 'NoSuchBucket'],
  'wrong-region': [400, 'AuthorizationHeaderMalformed'],
  rejected: [400, 'InvalidRequest'],
} as const;

export interface RequestMatch {
  readonly method?: string;
  /** Of `bucket/key`. */
  readonly path?: RegExp;
  /** Matching requests that pass first. */
  readonly skip?: number;
}

interface FaultRule extends RequestMatch {
  readonly kind: FaultKind;
  left: number;
  skipped: number;
}

interface Hold extends RequestMatch {
  skipped: number;
  readonly reach: () => void;
  readonly released: Promise<void>;
}

export interface HeldRequest {
  /** Resolves when the request has arrived. It is executed only when it is released. */
  readonly reached: Promise<void>;
  release(): void;
}

/** What is to happen to requests, in the order in which it was asked for. */
export class StoreFaults {
  #rules: FaultRule[] = [];
  #holds: Hold[] = [];

  add(kind: FaultKind, match: RequestMatch = {}, times = 1): void {
    this.#rules.push({ ...match, kind, left: times, skipped: 0 });
  }

  /** Holds the next request that matches. */
  hold(match: RequestMatch): HeldRequest {
    let reach = (): void => {};
    let release = (): void => {};
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const released = new Promise<void>((resolve) => (release = resolve));
    this.#holds.push({ ...match, skipped: 0, reach: () => reach(), released });
    return { reached, release: () => release() };
  }

  clear(): void {
    this.#rules = [];
  }

  get left(): number {
    return this.#rules.reduce((sum, { left }) => sum + left, 0);
  }

  take(method: string, path: string): FaultKind | undefined {
    const rule = this.#rules.find((each) => each.left > 0 && isDue(each, method, path));
    if (rule !== undefined) rule.left -= 1;
    return rule?.kind;
  }

  async passHolds(method: string, path: string): Promise<void> {
    const hold = this.#holds.find((each) => isDue(each, method, path));
    if (hold === undefined) return;
    this.#holds = this.#holds.filter((each) => each !== hold);
    hold.reach();
    await hold.released;
  }
}

function isDue(rule: RequestMatch & { skipped: number }, method: string, path: string): boolean {
  if ((rule.method ?? method) !== method || rule.path?.test(path) === false) return false;
  const isSkipped = rule.skipped < (rule.skip ?? 0);
  if (isSkipped) rule.skipped += 1;
  return !isSkipped;
}
