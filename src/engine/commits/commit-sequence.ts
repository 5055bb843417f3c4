import { ServiceError } from '../../errors/service-error.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { readVersion } from '../tables/table-handle.ts';
import type { WriteTarget } from '../tables/table-handle.ts';

/** The commits of one write, each of which must directly follow the previous one. */
export class CommitSequence {
  readonly native: NativeTable;
  readonly baseVersion: number;
  version: number;

  private constructor(native: NativeTable, baseVersion: number) {
    this.native = native;
    this.baseVersion = baseVersion;
    this.version = baseVersion;
  }

  static async open({ tables }: EngineParts, target: WriteTarget): Promise<CommitSequence> {
    const native = await tables.openPrivate(target);
    try {
      return new CommitSequence(native, await readVersion(native));
    } catch (error) {
      native.close();
      throw error;
    }
  }

  /** Refuses if another program committed in between: it may have changed values that were already read. */
  async commit<Made extends { readonly version: number }>(call: () => Promise<Made>): Promise<Made> {
    const made = await engineCall(call);
    this.version += 1;
    if (made.version === this.version) return made;
    throw new ServiceError('ConcurrentModification', 'Another program changed the table during the write.', {
      hint: 'Send the request again.',
      retryAfterSeconds: 1,
    });
  }
}
