import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../errors/service-error.ts';

/** The engine that serves: the main release, or the fallback of a platform that the main one has no binary for. */
export interface EngineRelease {
  /** Of @lancedb/lancedb. */
  readonly version: string;
  readonly isFallback: boolean;
}

const MAIN_MINOR = 39;
const INSTALL = 'node scripts/install-engine.mjs';

/** Cheap: the engine itself is not loaded. */
export function readEngineRelease(): EngineRelease {
  const require = createRequire(import.meta.url);
  try {
    const entry = require.resolve('@lancedb/lancedb');
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Every package has a version.
    const { version } = require(join(dirname(entry), '..', 'package.json')) as { readonly version: string };
    const [major = 0, minor = 0] = version.split('.').map(Number);
    return { version, isFallback: major === 0 && minor < MAIN_MINOR };
  } catch (cause) {
    throw engineMissing(cause);
  }
}

/**
 * Seen in @lancedb/lancedb 0.31.0: when the reply to a commit on an object store is lost, the commit may be applied twice,
 * and a compaction may remove files of the version that it made. 0.39.0 recognises its own commit.
 */
export function requireRootSupport(root: string, { version, isFallback }: EngineRelease): void {
  if (!isFallback || !root.includes('://') || root.startsWith('file://')) return;
  throw new ServiceError(
    'Unsupported',
    `The storage engine ${version} does not keep tables in object stores: it can double or lose rows when a reply is lost.`,
    { hint: `Install release 0.${MAIN_MINOR} with "${INSTALL}", or use a folder.` },
  );
}

export function engineMissing(cause: unknown): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    `The storage engine @lancedb/lancedb does not load on ${process.platform}-${process.arch}.`,
    { hint: `Run "npm ci" where package.json is; if that is not enough, "${INSTALL}".`, cause },
  );
}
