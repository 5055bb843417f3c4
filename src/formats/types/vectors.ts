import { DataType, Precision, makeData } from 'apache-arrow';
import type { Data, FixedSizeList, Float } from 'apache-arrow';
import { ConversionError } from './convert-value.ts';

/** 16-bit floats are represented by their bits. */
type Floats = Uint16Array | Float32Array | Float64Array;

/**
 * Lists of floats as vectors, without creating a JavaScript value for each; `undefined` if that is not possible.
 * Refuses a list of another length, with its row.
 */
export function toVectors(
  data: Data,
  type: DataType,
  refuse: (error: ConversionError, row: number) => never,
): Data | undefined {
  if (!DataType.isList(data.type) || !DataType.isFixedSizeList(type)) return undefined;
  const items = floatsOf(data.children[0]);
  const Floats = floatArrayOf(type.valueType);
  if (items === undefined || Floats === undefined) return undefined;
  if (items instanceof Uint16Array !== (Floats === Uint16Array)) return undefined;
  const { listSize } = type;
  const offsets = data.valueOffsets;
  const isWhole = data.nullCount === 0 && items instanceof Floats;
  const vectors = isWhole ? undefined : new Floats(data.length * listSize);
  for (let row = 0; row < data.length; row += 1) {
    if (data.nullCount > 0 && !data.getValid(row)) continue;
    const [start = 0, end = 0] = [offsets[row], offsets[row + 1]];
    if (end - start !== listSize) {
      refuse(new ConversionError(`has ${end - start} values instead of ${listSize}`), row);
    }
    vectors?.set(items.subarray(start, end), row * listSize);
  }
  return makeVectors(data, type, vectors ?? items.subarray(offsets[0], offsets[data.length]));
}

function makeVectors(data: Data, type: FixedSizeList, values: Floats): Data {
  const child = makeData({ type: floatType(type), length: values.length, data: values });
  const { length, nullCount } = data;
  if (nullCount === 0) return makeData({ type, length, nullCount, child });
  // The package reads bitmaps in words of eight bytes.
  const nullBitmap = new Uint8Array(Math.ceil(length / 64) * 8);
  for (let row = 0; row < length; row += 1) {
    if (data.getValid(row)) nullBitmap[row >> 3] = (nullBitmap[row >> 3] ?? 0) | (1 << (row & 7));
  }
  return makeData({ type, length, nullCount, nullBitmap, child });
}

function floatType({ valueType }: FixedSizeList): Float {
  if (DataType.isFloat(valueType)) return valueType;
  throw new TypeError('a vector without floats');
}

function floatsOf(items: Data | undefined): Floats | undefined {
  if (items === undefined || items.nullCount > 0) return undefined;
  const Floats = floatArrayOf(items.type);
  const values: unknown = items.values;
  return Floats !== undefined && values instanceof Floats ? values : undefined;
}

function floatArrayOf(type: DataType) {
  return DataType.isFloat(type) ? FLOATS[type.precision] : undefined;
}

const FLOATS = {
  [Precision.HALF]: Uint16Array,
  [Precision.SINGLE]: Float32Array,
  [Precision.DOUBLE]: Float64Array,
} as const;
