import { setTimeout as delay } from 'node:timers/promises';
import type { Catalog, NodeCounts } from '../catalog/catalog.ts';
import { CopiedFolder } from '../errors/service-error.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

interface MembershipSettings {
  readonly catalog: Pick<Catalog, 'nodes' | 'leases'>;
  readonly telemetry: Telemetry;
  readonly id: string;
  /** Identifies the data folder, which the server lock reserves for this process. */
  readonly instance: string;
  /** The name of this machine, for people. */
  readonly name: string;
  /** Where other nodes reach this one. */
  readonly address: string | undefined;
  /** The version of the server. */
  readonly release: string;
  readonly leaseSeconds: number;
}

/** A lease outlasts two missed heartbeats. */
const BEATS_PER_LEASE = 3;
const ABANDONED_MAX = 20;
const SWEEP_MILLISECONDS = 10_000;

/**
 * Makes this process a node: its heartbeats show other nodes that it is alive, and they take over its tables when these
 * stop.
 */
export class Membership {
  /** Called if the lease had ended before the heartbeat: other nodes may have taken over the tables. */
  onLapse: () => void = () => {};
  /** Called periodically, to remove what ended nodes left unfinished. */
  onSweep: () => Promise<void> = async () => {};
  /** Called with a table on which an ended node left writes pending. */
  onAbandoned: (tableId: string) => Promise<void> = async () => {};
  /** Writes that this node is forwarding, shown by other nodes. */
  countForwards: () => number = () => 0;
  readonly #settings: MembershipSettings;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  #isClosed = false;
  /** On the clock of `performance.now`, like `#lastBeatAt`. */
  #leaseEndsAt = 0;
  #lastBeatAt = 0;
  /** As of the last heartbeat. */
  #nodes: NodeCounts = { alive: 1, silent: 0 };
  #sweptAt = performance.now();

  private constructor(settings: MembershipSettings) {
    this.#settings = settings;
  }

  static async join(settings: MembershipSettings): Promise<Membership> {
    const membership = new Membership(settings);
    try {
      await membership.#join();
    } catch (error) {
      if (!(error instanceof CopiedFolder)) throw error;
      // If it is the previous process of this folder, its lease ends in this time.
      await delay(settings.leaseSeconds * 1000);
      await membership.#join();
    }
    membership.#beatLater();
    return membership;
  }

  /** Whether other nodes may take over the tables of this one. */
  get isLapsed(): boolean {
    return performance.now() > this.#leaseEndsAt;
  }

  /** Seconds since the last heartbeat that reached the catalog. */
  get silentSeconds(): number {
    return (performance.now() - this.#lastBeatAt) / 1000;
  }

  get nodes(): NodeCounts {
    return this.#nodes;
  }

  /** Releases the tables of this node at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#beating;
    const { catalog, id } = this.#settings;
    // If this fails, the tables are released when the lease ends.
    await catalog.nodes.leave(id).catch(() => {});
  }

  async #join(isKnown = false): Promise<void> {
    const { catalog, leaseSeconds, id, instance, name, address, release } = this.#settings;
    const node = { id, instance, name, address, release, isKnown };
    const startedAt = performance.now();
    await catalog.nodes.join({ ...node, leaseMilliseconds: leaseSeconds * 1000 });
    this.#extendFrom(startedAt);
  }

  #beatLater(): void {
    if (this.#isClosed) return;
    const milliseconds = (this.#settings.leaseSeconds * 1000) / BEATS_PER_LEASE;
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat().finally(() => this.#beatLater());
    }, milliseconds).unref();
  }

  async #beat(): Promise<void> {
    const { catalog, telemetry, id, leaseSeconds } = this.#settings;
    try {
      const startedAt = performance.now();
      const isKnown = await catalog.nodes.extend(id, leaseSeconds * 1000, this.countForwards());
      if (!isKnown) await this.#join(true);
      if (!isKnown || this.isLapsed) {
        telemetry.emit({ kind: 'node-lapsed', silentSeconds: this.silentSeconds });
        this.onLapse();
      }
      this.#extendFrom(startedAt);
    } catch (cause) {
      telemetry.emit({ kind: 'heartbeat-failed', cause });
      return;
    }
    // In the background, because takeovers must not delay the next heartbeat.
    void this.#resolveAbandoned();
  }

  #extendFrom(time: number): void {
    this.#lastBeatAt = time;
    this.#leaseEndsAt = time + this.#settings.leaseSeconds * 1000;
  }

  async #resolveAbandoned(): Promise<void> {
    const { catalog, telemetry } = this.#settings;
    try {
      this.#nodes = await catalog.nodes.count();
      if (performance.now() - this.#sweptAt > SWEEP_MILLISECONDS) {
        this.#sweptAt = performance.now();
        await this.onSweep();
      }
      for (const tableId of await catalog.leases.listAbandoned(ABANDONED_MAX)) await this.onAbandoned(tableId);
    } catch (cause) {
      telemetry.emit({ kind: 'background-failed', task: 'taking over tables of a node that ended', cause });
    }
  }
}
