import type { Catalog } from '../catalog/catalog.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

interface MembershipSettings {
  readonly catalog: Pick<Catalog, 'nodes' | 'leases'>;
  readonly telemetry: Telemetry;
  readonly id: string;
  /** Of the data folder, which the server lock keeps for this process alone. */
  readonly instance: string;
  /** Of this machine, for people. */
  readonly name: string;
  /** Where other nodes reach this one. */
  readonly address: string | undefined;
  readonly leaseSeconds: number;
}

/** A heartbeat may be late by two of them before the lease ends. */
const BEATS_PER_LEASE = 3;
const ABANDONED_MAX = 20;
const SWEEP_MILLISECONDS = 10_000;

/** This process as a node: others know that it is alive by its heartbeats, and take over its tables when they stop. */
export class Membership {
  /** Called when the lease of this node had ended before its heartbeat: others may have taken over its tables. */
  onLapse: () => void = () => {};
  /** Called now and then, to remove what nodes that ended have left unfinished. */
  onSweep: () => Promise<void> = async () => {};
  /** Called with a table that a node which ended has left with writes pending. */
  onAbandoned: (tableId: string) => Promise<void> = async () => {};
  readonly #settings: MembershipSettings;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  #isClosed = false;
  /** On the clock of `performance.now`, as the next. */
  #leaseEndsAt = 0;
  #sweptAt = performance.now();

  private constructor(settings: MembershipSettings) {
    this.#settings = settings;
  }

  static async join(settings: MembershipSettings): Promise<Membership> {
    const membership = new Membership(settings);
    membership.#leaseEndsAt = performance.now() + settings.leaseSeconds * 1000;
    await membership.#join();
    membership.#beatLater();
    return membership;
  }

  /** The tables of this node are free at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#beating;
    const { catalog, id } = this.#settings;
    // What stays ends with the lease.
    await catalog.nodes.leave(id).catch(() => {});
  }

  async #join(): Promise<void> {
    const { catalog, id, instance, name, address, leaseSeconds } = this.#settings;
    await catalog.nodes.join({ id, instance, name, address, leaseMilliseconds: leaseSeconds * 1000 });
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
      const isKnown = await catalog.nodes.extend(id, leaseSeconds * 1000);
      if (!isKnown) await this.#join();
      if (!isKnown || performance.now() > this.#leaseEndsAt) this.onLapse();
      this.#leaseEndsAt = startedAt + leaseSeconds * 1000;
    } catch (cause) {
      telemetry.emit({ kind: 'background-failed', task: 'heartbeat of this node', cause });
      return;
    }
    // In the background: what it takes must not delay the next heartbeat.
    void this.#resolveAbandoned();
  }

  async #resolveAbandoned(): Promise<void> {
    const { catalog, telemetry } = this.#settings;
    try {
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
