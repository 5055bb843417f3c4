import type { Catalog, RepeatedWork } from '../catalog/catalog.ts';
import { GivenUp } from '../errors/service-error.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

interface AttemptSettings {
  readonly store: Catalog['attempts'];
  readonly telemetry: Telemetry;
  readonly attemptsMax: number;
}

/** One attempt at work that is repeated after a restart. It is counted before it begins, so that a crash leaves it counted. */
export class Attempt {
  readonly #settings: AttemptSettings;
  readonly #work: RepeatedWork;
  #before = 0;
  #isCounted = false;
  /** Changes of the count take effect in order. */
  #last: Promise<void> = Promise.resolve();

  constructor(settings: AttemptSettings, work: RepeatedWork) {
    this.#settings = settings;
    this.#work = work;
  }

  /** `isRequested`: a caller asked for it, whatever happened before. */
  async begin(isRequested: boolean): Promise<void> {
    const { store, attemptsMax } = this.#settings;
    await this.#change(async () => {
      if (!isRequested) this.#before = await store.find(this.#work);
      if (this.#before >= attemptsMax) return;
      await store.begin(this.#work, this.#before);
      this.#isCounted = true;
    });
    if (this.#before >= attemptsMax) throw new GivenUp(this.#before);
  }

  /** Uncounts the attempt: the process shuts down, or leaves the work to another one, so the work has not failed. */
  async takeBack(): Promise<void> {
    await this.#change(async () => {
      if (this.#isCounted) await this.#settings.store.takeBack(this.#work, this.#before);
      this.#isCounted = false;
    });
  }

  /** Clears the count, whatever the outcome: the process has survived the work. */
  async end(): Promise<void> {
    await this.#change(async () => this.#settings.store.clear(this.#work));
  }

  /** An unreachable catalog does not fail the work. */
  async #change(change: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(change).catch((cause: unknown) => {
      this.#settings.telemetry.emit({ kind: 'background-failed', task: 'counting the attempts of a job', cause });
    });
    return this.#last;
  }
}
