import { loadConfig } from '../../src/config/load-config.ts';
import type { Limits } from '../../src/model/limits.ts';

/** The limits of a service with default settings, or only these flags. */
export function testLimits(flags: readonly string[] = []): Limits {
  const loaded = loadConfig({ argv: [...flags], env: {}, readFile: () => '' });
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.config.limits;
}
