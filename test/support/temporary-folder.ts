import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A test, or a suite, that cleans up after itself. */
export interface Owner {
  after(work: () => unknown): void;
}

/** A new folder, which is removed after the test. */
export async function makeFolder(test: Owner, prefix = 'tiltyard-test-'): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  // A process that the test started may still close its files.
  test.after(async () => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  return folder;
}
