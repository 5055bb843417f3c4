import type { Journal, NewEntry } from '../../catalog/catalog.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TableRecord } from '../../model/table.ts';
import type { Storages } from '../../storage/storages.ts';

export interface UndoParts {
  readonly engine: Engine;
  readonly storages: Storages;
  readonly journal: Journal;
}

/** Makes the base version of a write of several commits the latest again. What is done is not done again when it is retried. */
export class UndoCommits {
  readonly #parts: UndoParts;
  readonly #table: TableRecord;
  readonly #entry: Pick<NewEntry, 'id' | 'baseVersion' | 'branch'>;
  #isRestored = false;

  constructor(parts: UndoParts, table: TableRecord, entry: Pick<NewEntry, 'id' | 'baseVersion' | 'branch'>) {
    this.#parts = parts;
    this.#table = table;
    this.#entry = entry;
  }

  async run(): Promise<void> {
    const { storages, engine, journal } = this.#parts;
    const { location } = this.#table;
    const storage = storages.of(location.root);
    await storage.requireRoot();
    // Refuses a table whose disk failed, before anything is restored.
    const scope = await storage.beginSync(location);
    try {
      await this.#restore();
      // Durable before the entry goes: nothing else would undo the commits after a power loss.
      await scope.sync();
    } finally {
      scope.end();
    }
    // The latest version is like the base version again, so that our own readers need no hold whatever the catalog says.
    engine.releaseReaders({ location, branch: this.#entry.branch });
    await journal.abortHeld(this.#entry.id, this.#table.id);
  }

  async #restore(): Promise<void> {
    const { engine } = this.#parts;
    const { baseVersion, branch } = this.#entry;
    const { location } = this.#table;
    const target = { location, branch };
    // Not tracked for each chunk: another latest version than the base means that something was committed.
    const latest = this.#isRestored ? baseVersion : ((await engine.findLatestVersion(target)) ?? 0);
    if (latest !== baseVersion && baseVersion > 0) await engine.restoreVersion(target, baseVersion);
    // There was no data.
    if (latest !== baseVersion && baseVersion === 0) await engine.dropTable(location);
    this.#isRestored = true;
  }
}
