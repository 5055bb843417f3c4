import type { ApiClient } from '../../../src/client/api-client.ts';
import { listTables } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';

/** More tables than this are not looked through; the list says so. */
export const NAMES_MAX = 50_000;

export interface AllNames {
  readonly tables: readonly TablePath[];
  readonly isCut: boolean;
}

/** Every table that the caller may see: a name is found wherever it stands. */
export async function readAllNames(client: ApiClient): Promise<AllNames> {
  const tables: TablePath[] = [];
  for await (const table of listTables(client)) {
    if (tables.length >= NAMES_MAX) return { tables, isCut: true };
    tables.push(table);
  }
  return { tables, isCut: false };
}

/** Tables whose path contains every word; those whose own name begins with the text come first. */
export function findNames(tables: readonly TablePath[], text: string): readonly TablePath[] {
  const words = text
    .toLowerCase()
    .split(/[\s/$]+/)
    .filter((word) => word !== '');
  const found = tables.filter((table) => {
    const path = table.join('/').toLowerCase();
    return words.every((word) => path.includes(word));
  });
  const first = words.at(-1) ?? '';
  const isBegin = (table: TablePath): boolean => (table.at(-1) ?? '').toLowerCase().startsWith(first);
  return [...found.filter(isBegin), ...found.filter((table) => !isBegin(table))];
}
