import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { join, dirname } from 'node:path';

/** What a file imports when it is loaded: neither types, nor what `import()` loads later. */
function staticImports(file: string): readonly string[] {
  const source = readFileSync(file, 'utf8');
  const statements = source.matchAll(/^(?:import|export)\s(?!type\s)[^;]*?from '([^']+)';/gm);
  return Array.from(statements, ([, name = '']) => name);
}

function packagesOf(file: string, seen = new Set<string>()): ReadonlySet<string> {
  const packages = new Set<string>();
  if (seen.has(file)) return packages;
  seen.add(file);
  for (const name of staticImports(file)) {
    if (name.startsWith('.')) for (const each of packagesOf(join(dirname(file), name), seen)) packages.add(each);
    else if (!name.startsWith('node:')) packages.add(name);
  }
  return packages;
}

test('help is shown without loading the engine, the catalog, the HTTP server or the formats', () => {
  assert.deepEqual([...packagesOf('src/main.ts')], ['lossless-json']);
});
