import type { Engine, IndexCommit, Optimization, OptimizeRequest, WriteTarget } from '../engine/engine.ts';
import type { IndexRequest } from '../model/index-spec.ts';
import { locationKey } from '../model/table.ts';
import type { TableLocation } from '../model/table.ts';
import type { Storages } from '../storage/storages.ts';
import { runSynced } from './run-synced.ts';
import type { WriteQueues } from './queue/write-queues.ts';

export interface BackgroundParts {
  readonly engine: Engine;
  readonly storages: Storages;
  readonly queues: WriteQueues;
  readonly attemptsMax: number;
}

export interface TimedOptimization extends Optimization {
  /** How long writers of the table were kept waiting. */
  readonly laneMilliseconds: number;
}

/**
 * Index builds and compaction commit beside the queue: they change no rows, the engine commits them over whatever was
 * committed since they began, and the queue would be kept for minutes. So they have no journal entry; they open the table
 * in the queue, and what they made is synced before it is reported. They cannot be stopped.
 */
export class BackgroundWork {
  readonly #parts: BackgroundParts;
  readonly #running = new Map<string, Set<Promise<unknown>>>();

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
  }

  /** `enter` is told what comes next, and may throw to stop there. */
  async buildIndex(target: WriteTarget, request: IndexRequest, enter: (phase: string) => void): Promise<IndexCommit> {
    const { engine, queues, attemptsMax } = this.#parts;
    return this.#run(target.location, async () => {
      for (let attempt = 1; ; attempt += 1) {
        enter('opening');
        const opened = await queues.run(target.location, async () => engine.indexes.openBuild(target));
        try {
          enter('building');
          return await opened.build(request);
        } catch (error) {
          // An overwrite makes the work worthless, and starts it again.
          if (attempt >= attemptsMax || !engine.isConflict(error)) throw error;
        } finally {
          opened.close();
        }
      }
    });
  }

  /** `undefined` when a writer was faster: nothing was changed then. */
  async optimize(location: TableLocation, request: OptimizeRequest): Promise<TimedOptimization | undefined> {
    const { engine, queues } = this.#parts;
    return this.#run(location, async () => {
      let laneMilliseconds = 0;
      const started = await queues.run(location, async () => {
        const enteredAt = performance.now();
        const begun = await engine.maintenance.startOptimize(location, request);
        laneMilliseconds = performance.now() - enteredAt;
        return begun;
      });
      const done = await started.finish();
      return done === undefined ? undefined : { ...done, laneMilliseconds };
    });
  }

  /** When what runs now is over; `undefined` when nothing runs. The removal of a table waits for it. */
  whenOver(location: TableLocation): Promise<unknown> | undefined {
    const running = this.#running.get(locationKey(location));
    return running === undefined ? undefined : Promise.allSettled(running);
  }

  async #run<Value>(location: TableLocation, work: () => Promise<Value>): Promise<Value> {
    const key = locationKey(location);
    const running = this.#running.get(key) ?? new Set();
    const synced = runSynced(this.#parts.storages, location, work);
    this.#running.set(key, running.add(synced));
    try {
      return await synced;
    } finally {
      running.delete(synced);
      if (running.size === 0) this.#running.delete(key);
    }
  }
}
