import type { Journal, NewEntry } from '../../catalog/catalog.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TableRecord } from '../../model/table.ts';
import type { Storages } from '../../storage/storages.ts';

export interface UndoParts {
  readonly engine: Engine;
  readonly storages: Storages;
  readonly journal: Journal;
}

type UndoneEntry = Pick<NewEntry, 'id' | 'baseVersion' | 'branch'>;

/** Makes the base version of a write of several commits the latest again. A retry does not repeat what is done. */
export class UndoCommits {
  readonly #parts: UndoParts;
  readonly #table: TableRecord;
  readonly #entry: UndoneEntry;
  #isRestored = false;

  constructor(parts: UndoParts, table: TableRecord, entry: UndoneEntry) {
    this.#parts = parts;
    this.#table = table;
    this.#entry = entry;
  }

  async run(): Promise<void> {
    const { storages, engine, journal } = this.#parts;
    const { location, id } = this.#table;
    const storage = storages.of(location.root);
    await storage.requireRoot();
    // Refuses a table whose disk failed, before anything is restored.
    const scope = await storage.beginSync(location);
    try {
      if (!this.#isRestored) await this.#restore();
      this.#isRestored = true;
      // Durable before the entry goes: nothing else would undo the commits after a power loss.
      await scope.sync();
    } finally {
      scope.end();
    }
    // The latest version equals the base version again, so readers need no hold whatever the catalog says.
    engine.releaseReaders({ location, branch: this.#entry.branch });
    await journal.abortHeld(this.#entry.id, id);
  }

  async #restore(): Promise<void> {
    const { engine } = this.#parts;
    const { baseVersion, branch } = this.#entry;
    const { location } = this.#table;
    // Not tracked for each chunk: another latest version than the base means that something was committed.
    const latest = (await engine.findLatestVersion({ location, branch })) ?? 0;
    if (latest === baseVersion) return;
    if (baseVersion > 0) await engine.restoreVersion({ location, branch }, baseVersion);
    // There was no data.
    else await engine.dropTable(location);
  }
}
