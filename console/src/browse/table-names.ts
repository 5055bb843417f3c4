import type { ApiClient } from '../../../src/client/api-client.ts';
import { listTables } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';

/** A search reads at most this many tables, and shows that it is limited. */
export const NAMES_MAX = 50_000;

export interface AllNames {
  readonly tables: readonly TablePath[];
  readonly isCut: boolean;
}

/** All visible tables of the database. */
export async function readAllNames(client: ApiClient): Promise<AllNames> {
  const tables: TablePath[] = [];
  for await (const table of listTables(client)) {
    if (tables.length >= NAMES_MAX) return { tables, isCut: true };
    tables.push(table);
  }
  return { tables, isCut: false };
}

/** Paths that contain every word; those whose last name starts with the text come first. */
export function findNames<Path extends readonly string[]>(paths: readonly Path[], text: string): readonly Path[] {
  const words = text
    .toLowerCase()
    .split(/[\s/$]+/)
    .filter((word) => word !== '');
  const found = paths.filter((each) => {
    const path = each.join('/').toLowerCase();
    return words.every((word) => path.includes(word));
  });
  const first = words.at(-1) ?? '';
  const isBegin = (path: Path): boolean => (path.at(-1) ?? '').toLowerCase().startsWith(first);
  return [...found.filter(isBegin), ...found.filter((path) => !isBegin(path))];
}
