import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import type { CommitKind } from '../../model/table.ts';
import { versionExists } from '../../model/refusals.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { Submission, SubmittedManifest } from '../../storage/storage.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable, WriteTarget } from '../tables/table-handle.ts';
import type { CommitPlan, PreparedCommit } from './commit-plan.ts';

/** The version that a submitted manifest became. */
export interface PublishedManifest {
  readonly version: number;
  readonly path: string;
  readonly bytes: number;
  /** Known only right after the commit. */
  readonly eTag?: string | undefined;
}

/**
 * Commits the manifest of an external writer, who has already written all files of the version. `check` does all slow
 * work that does not need the write queue, before the write is enqueued.
 */
export class SubmittedPlan implements CommitPlan<PublishedManifest> {
  readonly mayBeMissing = true;
  readonly #parts: EngineParts;
  readonly #target: WriteTarget;
  readonly #submission: Submission;
  #checked: SubmittedManifest | undefined;

  constructor(parts: EngineParts, target: WriteTarget, submission: Omit<Submission, 'branch' | 'bytesMax'>) {
    this.#parts = parts;
    this.#target = target;
    this.#submission = { ...submission, branch: target.branch, bytesMax: parts.limits.manifestBytesMax };
  }

  /** Reads the manifest once, and refuses what must never become a version. */
  async check(): Promise<void> {
    const { storages, trials } = this.#parts;
    const { location } = this.#target;
    if (trials === undefined) throw new ServiceError('Unsupported', 'Manifests of external writers cannot be checked.');
    const { version } = this.#submission;
    const manifest = await storages.of(location.root).openSubmitted(location, this.#submission);
    await trials.require({ ...manifest, version });
    this.#checked = manifest;
  }

  get manifest(): SubmittedManifest {
    if (this.#checked === undefined) throw new Error('The manifest was not checked.');
    return this.#checked;
  }

  get kinds(): readonly [CommitKind] {
    return [this.manifest.kind];
  }

  async prepare(table: Pick<OpenTable, 'version' | 'forget'>): Promise<PreparedCommit<PublishedManifest>> {
    const { version } = this.#submission;
    const { kind, transactionId, addedRows, path, content } = this.manifest;
    requireNext(await table.version(), version, this.#target);
    const published = { version, path, bytes: content.length };
    return {
      transactionId,
      addedRows: kind === 'append' ? addedRows : undefined,
      expected: published,
      commit: async () => {
        const outcome = await this.publish();
        table.forget();
        await this.discard();
        return { version, outcome };
      },
    };
  }

  /** Only commits; the staged file stays. */
  async publish(): Promise<PublishedManifest> {
    const { path, content } = this.manifest;
    const { version } = this.#submission;
    const created = await engineCall(async () => this.manifest.publish());
    if (created === undefined) throw versionExists(version);
    return { version, path, bytes: content.length, ...created };
  }

  /** Removes the staged file. A leftover file is harmless. */
  async discard(): Promise<void> {
    await this.manifest.discard().catch(() => {});
  }
}

/** A branch without versions begins at the version that it forks from. */
function requireNext(base: number, version: number, { branch = MAIN_BRANCH }: WriteTarget): void {
  if (base === 0 && branch !== MAIN_BRANCH) return;
  if (version <= base) throw versionExists(version);
  if (version > base + 1) throw invalidInput(`The next version is ${base + 1}, not ${version}.`);
}
