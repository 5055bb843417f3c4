/** Digits in which releases of the engine may be expected to agree. */
const DIGITS = 5;

/** What the two sides are compared by: rows and fields as plain values. */
export function toPlain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS));
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return 'a date';
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, toPlain);
  if (Array.isArray(value)) return value.map(toPlain);
  if (isArrowTable(value)) return { schema: toPlain(value.schema), rows: value.toArray().map(toPlain) };
  if (isSchema(value)) return value.fields.map(String);
  if (isRow(value)) return toPlain(value.toJSON());
  if (value instanceof Map) return toPlain(Object.fromEntries(value));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toPlain(each)]));
}

interface ArrowTable {
  readonly schema: unknown;
  readonly batches: unknown;
  toArray(): unknown[];
}

function isArrowTable(value: object): value is ArrowTable {
  return 'schema' in value && 'batches' in value && 'toArray' in value;
}

function isSchema(value: object): value is { readonly fields: readonly unknown[] } {
  return 'fields' in value && Array.isArray(value.fields);
}

function isRow(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
