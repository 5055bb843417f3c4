import { ServiceError } from '../../errors/service-error.ts';
import { findRootFault } from '../../model/address.ts';
import { findBinary } from './engine-binary.ts';

/** The engine in use: the main release, or the fallback on a platform without a binary of the main release. */
export interface EngineRelease {
  /** The version of LanceDB. */
  readonly version: string;
  readonly isFallback: boolean;
}

const MAIN_MINOR = 39;

/** Cheap: does not load the engine itself. */
export function readEngineRelease(): EngineRelease {
  const { version } = findBinary();
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return { version, isFallback: major === 0 && minor < MAIN_MINOR };
}

/**
 * Refuses an address that the engine reads differently from the server, and object stores on the fallback. Seen in
 * @lancedb/lancedb 0.31.0: if the reply to a commit on an object store is lost, the commit may be applied twice, and a
 * compaction may remove files of the version that it made. 0.39.0 recognizes its own commit.
 */
export function requireRootSupport(root: string, { version, isFallback }: EngineRelease): void {
  const fault = findRootFault(root);
  if (fault !== undefined) {
    const message = `The storage root of the database must not contain ${fault.found}.`;
    throw new ServiceError('Unsupported', message, { hint: fault.advice });
  }
  if (!isFallback || !root.includes('://') || root.startsWith('file://')) return;
  throw new ServiceError(
    'Unsupported',
    `The storage engine ${version} does not support object stores: it can duplicate or lose rows when a reply is lost.`,
    { hint: `Use a local folder, or a platform for which LanceDB 0.${MAIN_MINOR} has a binary.` },
  );
}
