import type { VersionHold } from '../../src/engine/engine.ts';

/** Records what the catalog would be told. */
export function recordHolds(): VersionHold & { readonly calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    hold: async (version) => void calls.push(`hold ${version}`),
    release: async () => void calls.push('release'),
  };
}
