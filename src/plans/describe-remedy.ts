import type { Remedy, Settings } from './advice.ts';

/** What the button says. */
export function describeRemedy(remedy: Remedy): string {
  switch (remedy.kind) {
    case 'create-index': {
      const name = remedy.indexType === 'FTS' ? 'a full-text index' : `an index (${remedy.indexType})`;
      return `Build ${name} on ${remedy.column}`;
    }
    case 'refresh-index':
      return `Bring the index ${remedy.index} up to date`;
    case 'prewarm-index':
      return `Read the index ${remedy.index} into memory`;
    case 'merge-fragments':
      return 'Merge the fragments';
    case 'set':
      return describeSettings(remedy.settings);
  }
}

function describeSettings(settings: Settings): string {
  const { prefilter, columns, bypass_vector_index: bypass, ...numbers } = settings;
  const words = Object.entries(numbers).map(([name, value]) => `Set ${name} to ${String(value)}`);
  if (prefilter !== undefined) words.push(prefilter ? 'Filter before the search' : 'Filter after the search');
  if (bypass !== undefined) words.push(bypass ? 'Search every row' : 'Use the vector index');
  if (columns !== undefined) words.push(`Ask for ${(columns.column_names ?? []).join(', ')} only`);
  return words.join(', ');
}
