import { readEngineRelease, requireRootSupport } from '../engine/native/engine-release.ts';
import type { EngineRelease } from '../engine/native/engine-release.ts';
import { loadNative } from '../engine/native/native.ts';

/** For commands. Refuses when no engine is installed; `load` finds out whether it really works. */
export function findEngine({ load = false } = {}): EngineRelease {
  const release = readEngineRelease();
  if (load) loadNative();
  return release;
}

/** Refuses a root that the installed engine does not serve. */
export function requireServedRoot(root: string): void {
  requireRootSupport(root, readEngineRelease());
}
