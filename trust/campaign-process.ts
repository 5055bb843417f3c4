import { join } from 'node:path';
import type { Figure, Trust } from './campaign.ts';
import { PLAN } from './campaigns.ts';
import { LeakScanner } from './leak-scanner.ts';
import type { Message, Order } from './messages.ts';
import { TRUST_KEY, startTrustServer } from './server.ts';

const DETAILS_PER_KIND = 3;
const TOLD_EVERY_MILLISECONDS = 2000;

/**
 * Runs one campaign in a separate process, so that its damage stays there, and it can be ended with everything that it
 * started.
 */
async function main(order: Order): Promise<void> {
  // Without the run, nothing else would end this campaign.
  const endWithTheRun = (): void => void process.kill(-process.pid, 'SIGKILL');
  process.once('disconnect', endWithTheRun);
  const planned = PLAN.find(({ name }) => name === order.name);
  if (planned === undefined) throw new Error(`no campaign ${order.name}`);
  const campaign = await planned.load();
  const scanner = new LeakScanner();
  scanner.plant(TRUST_KEY);
  const stops: (() => Promise<unknown>)[] = [];
  const progress = { done: 0, of: 0 };
  const tellHowFar = (): void => {
    if (progress.of > 0) report({ kind: 'progress', text: `${progress.done} of ${progress.of}` });
    report({ kind: 'scanned', scanned: scanner.seen() });
  };
  const timer = setInterval(tellHowFar, TOLD_EVERY_MILLISECONDS);
  let figures: readonly Figure[];
  try {
    figures = await campaign.run(makeTrust(order, { scanner, stops, progress }));
  } catch (error) {
    report({ kind: 'detail', text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    figures = [{ name: 'ran to its end', value: 'no', goal: 'yes', isMet: false }];
  }
  for (const stop of stops) await stop();
  clearInterval(timer);
  tellHowFar();
  report({ kind: 'end', promise: campaign.promise, figures });
  process.off('disconnect', endWithTheRun);
  process.disconnect();
}

interface Parts {
  readonly scanner: LeakScanner;
  readonly stops: (() => Promise<unknown>)[];
  readonly progress: { done: number; of: number };
}

function makeTrust({ seed, isShort, part, folder, minutesMax }: Order, { scanner, stops, progress }: Parts): Trust {
  const counts = new Map<string, number>();
  let servers = 0;
  const blame = (kind: string, detail: string): void => {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    if (count <= DETAILS_PER_KIND) report({ kind: 'detail', text: `${kind}: ${detail}` });
  };
  return {
    seed,
    isShort,
    folder,
    minutesMax,
    scanner,
    size: (full, short) => (isShort ? short : Math.ceil(full * part)),
    report: (text) => report({ kind: 'line', text }),
    progress: (done, of) => void Object.assign(progress, { done, of }),
    blame,
    async startServer(flags = [], env = {}, program) {
      servers += 1;
      const at = join(folder, `data${servers}`);
      // A campaign's own program fails on purpose.
      const own = program === undefined ? { failed: (line: string) => blame('log', line) } : { program };
      const server = await startTrustServer({ folder: at, scanner, flags, env, ...own });
      stops.push(async () => server.stop());
      return server;
    },
  };
}

function report(message: Message): void {
  process.send?.(message);
}

await main(JSON.parse(process.argv[2] ?? '') as Order);
