import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultContext, Fault } from './node-faults.ts';
import { NODE_FAULTS, STORE_FAULTS, startAgain } from './node-faults.ts';

const READY_SECONDS_MAX = 60;

/** Injects faults in the order of the lists, those of nodes and of the store concurrently. */
export class FaultLanes {
  /** How often each was injected. */
  readonly counts = new Map<string, number>();
  /** Nodes that were not ready again in time after a fault. */
  notReady = 0;
  /** Faults that could not be injected, such as a kill of a worker that was just replaced. */
  failed = 0;
  readonly #context: FaultContext;
  readonly #report: (line: string) => void;
  readonly #recent: { readonly name: string; readonly from: number; to: number | undefined }[] = [];
  #nodeFaults = 0;
  #storeFaults = 0;

  constructor(context: FaultContext, report: (line: string) => void) {
    this.#context = context;
    this.#report = report;
  }

  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** The recent faults, for the report of a violation. */
  describeRecent(): string {
    const now = performance.now();
    const ago = (at: number): string => ((now - at) / 1000).toFixed(1);
    return this.#recent
      .slice(-6)
      .map(({ name, from, to }) => `${name} ${ago(from)} to ${to === undefined ? 'now' : ago(to)} s ago`)
      .join('; ');
  }

  async injectNodeFault(): Promise<void> {
    const { cluster, random } = this.#context;
    const fault = pick(NODE_FAULTS, this.#nodeFaults);
    this.#nodeFaults += 1;
    const index = random(cluster.nodes.length);
    const node = cluster.node(index);
    await this.#inject(fault, `${fault.name} (node ${index})`, async () => fault.run(this.#context, node));
    node.reconnect();
    node.resume();
    await this.#waitUntilReady();
  }

  async injectStoreFault(): Promise<void> {
    const fault = pick(STORE_FAULTS, this.#storeFaults);
    this.#storeFaults += 1;
    await this.#inject(fault, fault.name, async () => fault.run(this.#context, this.#context.cluster.node(0)));
  }

  async #inject({ name }: Fault, shown: string, run: () => Promise<void>): Promise<void> {
    const entry = { name: shown, from: performance.now(), to: undefined as number | undefined };
    this.#recent.push(entry);
    if (this.#recent.length > 20) this.#recent.shift();
    try {
      await run();
      this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    } catch (error) {
      this.failed += 1;
      this.#report(`${shown}: ${String(error).slice(0, 500)}`);
    }
    entry.to = performance.now();
  }

  async #waitUntilReady(): Promise<void> {
    const endAt = performance.now() + READY_SECONDS_MAX * 1000;
    for (const [index, node] of this.#context.cluster.nodes.entries()) {
      if (!node.isStarted) await startAgain(node).catch(() => {});
      while (!(await node.isReady()) && performance.now() < endAt) await sleep(50);
      if (performance.now() < endAt) continue;
      this.notReady += 1;
      this.#report(`node ${index} is not ready ${READY_SECONDS_MAX} s after: ${this.describeRecent()}`);
      await node.kill();
      await startAgain(node).catch(() => {});
    }
  }
}

function pick(faults: readonly Fault[], serial: number): Fault {
  return faults[serial % faults.length] as Fault;
}
