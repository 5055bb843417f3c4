import type { Place } from '../model/table.ts';
import type { Storages } from '../storage/storages.ts';
import { trackSync } from './track-sync.ts';
import type { Rider, Waiting, WriteLanes } from './write-lanes.ts';

export type Lanes = Pick<WriteLanes, 'run' | 'isAwaited' | 'takeNext'>;

/** One write at a time for each table; what a write gives is handed on when it is on disk. */
export class DurableLanes implements Lanes {
  readonly #lanes: WriteLanes;
  readonly #storages: Storages;

  constructor(lanes: WriteLanes, storages: Storages) {
    this.#lanes = lanes;
    this.#storages = storages;
  }

  /** The next write of the table may begin while the disk works for this one. */
  async run<Value>(place: Place, work: () => Promise<Value>, waiting?: Waiting<Value>): Promise<Value> {
    return trackSync(this.#storages, place, async (begin) =>
      this.#lanes.run(
        place,
        async () => {
          await begin();
          return work();
        },
        waiting,
      ),
    );
  }

  get running(): number {
    return this.#lanes.running;
  }

  get waiting(): number {
    return this.#lanes.waiting;
  }

  requireMoving(): void {
    this.#lanes.requireMoving();
  }

  isAwaited(place: Place): boolean {
    return this.#lanes.isAwaited(place);
  }

  takeNext<Taken extends Rider<unknown>>(
    place: Place,
    isWanted: (rider: Rider<unknown>) => rider is Taken,
  ): Taken | undefined {
    return this.#lanes.takeNext(place, isWanted);
  }

  /** For what leaves nothing behind that must be durable. */
  async runUnsynced<Value>(place: Place, work: () => Promise<Value>): Promise<Value> {
    return this.#lanes.run(place, work);
  }
}
