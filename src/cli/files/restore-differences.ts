import { showPath } from '../client-command.ts';
import type { Manifest, TableEntry } from './manifest.ts';

const SHOWN_MAX = 20;

/** What a restored database will not have as it was, a sentence for each table that is concerned. */
export function listDifferences({ tables }: Manifest): readonly string[] {
  const all = tables.flatMap(differencesOf);
  if (all.length <= SHOWN_MAX) return all;
  return [...all.slice(0, SHOWN_MAX), `… and ${all.length - SHOWN_MAX} more, which follow from the manifest.`];
}

function differencesOf({ path, tags, branches = [], indexes }: TableEntry): readonly string[] {
  const name = showPath(path);
  const tagNames = Object.keys(tags);
  return [
    ...(branches.length === 0 ? [] : [`${name}: not in the backup are its branches: ${branches.join(', ')}.`]),
    ...(tagNames.length === 0 ? [] : [`${name}: not restored are its tags: ${tagNames.join(', ')}.`]),
    ...indexes.flatMap((index) =>
      (index.missing ?? []).map((what) => `${name}: the index ${index.name} is built again; ${what}.`),
    ),
  ];
}
