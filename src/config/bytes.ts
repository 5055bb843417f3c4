const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `64MiB`, `4GiB` or plain bytes. Decimal units (`64MB`) are refused: half of their readers mean the binary ones. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d+)\s*([kmgt]i)?(b)?$/i.exec(text);
  if (match === null) return undefined;
  const [, digits, prefix, letter] = match;
  if (prefix !== undefined && letter === undefined) return undefined;
  const unit = UNITS.findIndex((each) => each.toLowerCase() === `${prefix ?? ''}b`.toLowerCase());
  const value = Number(digits) * 1024 ** unit;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** In the largest unit that divides it, so that `parseBytes` reads the same number back. */
export function formatBytes(value: number): string {
  const largest = UNITS.findLastIndex((_, power) => value !== 0 && value % 1024 ** power === 0);
  const power = Math.max(largest, 0);
  return power === 0 ? String(value) : `${value / 1024 ** power}${UNITS[power]}`;
}
