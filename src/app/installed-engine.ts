import { readEngineRelease, requireRootSupport } from '../engine/native/engine-release.ts';
import type { EngineRelease } from '../engine/native/engine-release.ts';
import { loadNative } from '../engine/native/native.ts';

/** For commands. Refuses if no engine is installed; `load` also checks that it works. */
export function findEngine({ load = false } = {}): EngineRelease {
  const release = readEngineRelease();
  if (load) loadNative();
  return release;
}

/** Refuses a root that the installed engine does not support. */
export function requireServedRoot(root: string): void {
  requireRootSupport(root, readEngineRelease());
}
