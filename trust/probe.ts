import { setTimeout as sleep } from 'node:timers/promises';
import type { TrustServer } from './server.ts';

export interface ProbeSeen {
  /** Between two replies, or from the first request to its reply. */
  readonly longestMilliseconds: number;
  readonly answers: number;
  /** Connections that the port did not accept. */
  readonly refused: number;
  /** Replies other than 200. */
  readonly denied: number;
  readonly p99Milliseconds: number;
}

const PAUSE_MILLISECONDS = 10;

/** Checks availability: one small request after another, each on a new connection. */
export function startProbe(server: TrustServer, path = '/v1/tables?limit=1'): { stop(): Promise<ProbeSeen> } {
  const state = { isOver: false };
  const times: number[] = [];
  let longest = 0;
  let refused = 0;
  let denied = 0;
  const run = (async () => {
    let since = performance.now();
    while (!state.isOver) {
      const startedAt = performance.now();
      try {
        const { status } = await server.admin.send(path, { method: 'GET', isFresh: true });
        const now = performance.now();
        if (status === 200) {
          longest = Math.max(longest, now - since);
          times.push(now - startedAt);
          await sleep(PAUSE_MILLISECONDS);
          since = performance.now();
        } else {
          denied += 1;
          await sleep(PAUSE_MILLISECONDS);
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') refused += 1;
      }
    }
  })();
  return {
    async stop() {
      state.isOver = true;
      await run;
      const sorted = times.toSorted((one, other) => one - other);
      const p99Milliseconds = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
      return { longestMilliseconds: longest, answers: times.length, refused, denied, p99Milliseconds };
    },
  };
}
