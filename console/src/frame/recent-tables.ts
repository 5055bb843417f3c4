import type { TablePath } from '../../../src/model/identifier.ts';

const RECENT_MAX = 8;

const storedAs = (database: string): string => `tiltyard-recent ${database}`;

/** The recent tables of this tab, latest first. */
export function recentTables(database: string): readonly TablePath[] {
  const stored: unknown = JSON.parse(sessionStorage.getItem(storedAs(database)) ?? '[]');
  return Array.isArray(stored) ? stored.filter(isTablePath) : [];
}

export function rememberTable(database: string, table: TablePath): void {
  const others = recentTables(database).filter((each) => each.join('/') !== table.join('/'));
  sessionStorage.setItem(storedAs(database), JSON.stringify([table, ...others].slice(0, RECENT_MAX)));
}

function isTablePath(value: unknown): value is TablePath {
  return Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string');
}
