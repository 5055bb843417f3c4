import { ServiceError } from '../errors/service-error.ts';
import { manifestPath } from './format/layout.ts';
import type { Storage } from './storage.ts';

/** A root on an object store: durable once committed, and seen through the engine alone. */
export const OBJECT_STORAGE: Storage = {
  ensureRoot: async () => {},
  requireRoot: async () => {},
  requirePlainDirectory: async () => {},
  hasDirectory: async () => false,
  watchVersions: async () => ({ read: () => undefined, has: () => false }),
  manifestPath,
  quarantineTornManifest: () => undefined,
  readCommits: async () => undefined,
  inspectCommit: () => undefined,
  refuseForeignFiles: async () => {},
  readRefFile: async () => undefined,
  cloneVersion: async () => {
    throw cloneUnsupported();
  },
  removeFolder: async () => {},
  requireRemovableManifests() {
    throw removalUnsupported();
  },
  removeManifests: async () => {
    throw removalUnsupported();
  },
  measureManifest: async () => undefined,
  measureTable: async () => undefined,
  sweepUnfinishedFiles: async () => 0,
  beginSync: async () => ({ sync: async () => {}, end: () => {} }),
  syncSince: async () => {},
  forget: () => {},
};

export function cloneUnsupported(): ServiceError {
  return new ServiceError('Unsupported', 'Tables on an object store cannot be cloned.');
}

function removalUnsupported(): ServiceError {
  return new ServiceError('Unsupported', 'Versions of tables on an object store cannot be deleted one by one.');
}
