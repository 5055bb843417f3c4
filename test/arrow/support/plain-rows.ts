import { DataType, tableFromIPC, TimeUnit, Vector } from 'apache-arrow';
import type { Field } from 'apache-arrow';
import type { NativeTable } from './native-engine.ts';

export type PlainRow = Readonly<Record<string, unknown>>;

/** A value of `expected.json` in the form that `plainRows` gives: moments as numbers, whatever their zone. */
export function fromExpected(value: unknown, type: string): unknown {
  if (typeof value !== 'object' || value === null || !('iso' in value) || typeof value.iso !== 'string') return value;
  const { iso } = value;
  if (type.startsWith('date')) return { day: iso };
  if (type.startsWith('timestamp')) return { instant: Date.parse(type.includes('tz=') ? iso : `${iso}Z`) };
  return { seconds: Date.parse(`1970-01-01T${iso}Z`) / 1000 };
}

/** The rows of a table as `expected.json` writes them, read back through the engine and the Arrow project's own reader. */
export async function plainRows(table: NativeTable): Promise<readonly PlainRow[]> {
  const rows: PlainRow[] = [];
  const iterator = await table.query().execute();
  for (let file = await iterator.next(); file !== null; file = await iterator.next()) {
    const batch = tableFromIPC(file);
    for (let row = 0; row < batch.numRows; row += 1) {
      const entries = batch.schema.fields.map((field, column) => [
        field.name,
        toPlain(batch.getChildAt(column)?.get(row), field),
      ]);
      rows.push(Object.fromEntries(entries));
    }
  }
  return rows;
}

const UNITS_PER_SECOND: Readonly<Record<number, number>> = {
  [TimeUnit.SECOND]: 1,
  [TimeUnit.MILLISECOND]: 1e3,
  [TimeUnit.MICROSECOND]: 1e6,
  [TimeUnit.NANOSECOND]: 1e9,
};

function toPlain(value: unknown, field: Field): unknown {
  if (value === null || value === undefined) return null;
  const { type } = field;
  const extension = field.metadata.get('ARROW:extension:name');
  if (extension === 'arrow.bool8') return value === 1;
  if (extension === 'arrow.uuid' && value instanceof Uint8Array) return { text: toUuid(value) };
  if (DataType.isDictionary(type)) return typeof value === 'bigint' ? Number(value) : value;
  if (DataType.isDecimal(type) && value instanceof Uint32Array) return { decimal: toDecimal(value, type.scale) };
  if (DataType.isDate(type)) return { day: new Date(Number(value)).toISOString().slice(0, 10) };
  if (DataType.isTimestamp(type)) return { instant: Number(value) };
  if (DataType.isTime(type)) return { seconds: Number(value) / (UNITS_PER_SECOND[type.unit] ?? 1) };
  if (DataType.isDuration(type)) return { seconds: Number(value) / (UNITS_PER_SECOND[type.unit] ?? 1) };
  if (DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isFixedSizeBinary(type)) {
    return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value;
  }
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'object' ? toPlainNested(value, type) : value;
}

function toPlainNested(value: object, type: DataType): unknown {
  if (DataType.isStruct(type)) return Object.fromEntries(structEntries(value, type.children));
  const [child] = type.children;
  if (!(value instanceof Vector) || child === undefined) return value;
  return Array.from(value, (item: unknown) => toPlain(item, child));
}

function structEntries(value: object, children: readonly Field[]): readonly (readonly [string, unknown])[] {
  return children.map((child) => [child.name, toPlain(Reflect.get(value, child.name), child)] as const);
}

function toUuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function toDecimal(words: Uint32Array, scale: number): string {
  const unscaled = [...words].reduceRight((sum, word) => sum * 4294967296n + BigInt(word), 0n);
  const digits = unscaled.toString().padStart(scale + 1, '0');
  return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
