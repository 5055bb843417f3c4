import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ArrowLimits } from '../../src/model/limits.ts';

/**
 * Arrow IPC streams for tests: those that pyarrow wrote, and ones written here byte by byte, so that a test can say
 * what no honest writer would.
 */
export interface ExpectedTable {
  readonly rows: number;
  readonly columns: number;
  readonly types: Readonly<Record<string, string>> | null;
  readonly first_rows: readonly Readonly<Record<string, unknown>>[] | null;
}

/** Wide enough for every fixture, small enough for a test to reach. */
export const ARROW_LIMITS: ArrowLimits = {
  streamBytesMax: 256 * 1024 * 1024,
  messageBytesMax: 64 * 1024 * 1024,
  metadataBytesMax: 4 * 1024 * 1024,
  decodedBytesMax: 1024 * 1024 * 1024,
  decodedRatioMax: 100,
  decodedFloorBytes: 16 * 1024 * 1024,
  columnsMax: 4000,
  depthMax: 32,
  rowsPerBatchMax: 10_000_000,
  dictionaryBytesMax: 16 * 1024 * 1024,
  chunkBytes: 4 * 1024 * 1024,
  chunksMax: 64,
  keptChunksMax: 4,
};

/** Compiled tests run from `build/test/support`; the fixtures stay in the source tree. */
const FIXTURES = fileURLToPath(new URL('../../../test/fixtures/arrow/', import.meta.url));

export function fixtureStream(name: string): Buffer {
  return readFileSync(`${FIXTURES}${name}.stream`);
}

export function expectedTables(): Readonly<Record<string, ExpectedTable>> {
  // The file is ours, written together with the streams.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(readFileSync(`${FIXTURES}expected.json`, 'utf8')) as Record<string, ExpectedTable>;
}

/** Tables of fixtures that the service refuses to create. */
export const REFUSED_TABLES: ReadonlySet<string> = new Set([
  'decimal32',
  'decimal64',
  'dense_union',
  'fsl_struct',
  'interval_mdn',
  'list_view',
  'ree',
  'struct_empty',
]);

export async function* inPieces(bytes: Uint8Array, nextLength: () => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length;) {
    const length = Math.max(0, nextLength());
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

export async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** A small, fast, seeded source of numbers (mulberry32). */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

export type Value =
  | { readonly u8: number }
  | { readonly i16: number }
  | { readonly i32: number }
  | { readonly i64: number | bigint }
  | { readonly text: string }
  | { readonly bytes: Uint8Array }
  | { readonly table: Table }
  | { readonly tables: readonly Table[] }
  | { readonly structs: Uint8Array; readonly size: number };

/** A flatbuffer table: its fields by slot, missing ones `undefined`. */
export type Table = readonly (Value | undefined)[];

export interface FieldOptions {
  readonly nullable?: boolean;
  readonly children?: readonly Table[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly dictionary?: Table;
}

export type TypeSpec = readonly [id: number, table: Table];

const intType = (bits: number, signed = true): TypeSpec => [2, [{ i32: bits }, { u8: signed ? 1 : 0 }]];

export const TYPES = {
  null: [1, []],
  int8: intType(8),
  int32: intType(32),
  int64: intType(64),
  uint64: intType(64, false),
  float32: [3, [{ i16: 1 }]],
  binary: [4, []],
  utf8: [5, []],
  bool: [6, []],
  list: [12, []],
  struct: [13, []],
  map: [17, [{ u8: 0 }]],
  utf8View: [24, []],
} as const satisfies Record<string, TypeSpec>;

export const decimalType = (precision: number, scale: number, bits: number): TypeSpec => [
  7,
  [{ i32: precision }, { i32: scale }, { i32: bits }],
];
export const fixedSizeBinaryType = (bytes: number): TypeSpec => [15, [{ i32: bytes }]];
export const fixedSizeListType = (length: number): TypeSpec => [16, [{ i32: length }]];
export const integerType = intType;

export function dictionaryEncoding(id: number, index: TypeSpec | undefined = TYPES.int32): Table {
  return [{ i64: id }, index === undefined ? undefined : { table: index[1] }];
}

export function field(name: string | undefined, type: TypeSpec, options: FieldOptions = {}): Table {
  return [
    name === undefined ? undefined : { text: name },
    { u8: (options.nullable ?? true) ? 1 : 0 },
    { u8: type[0] },
    { table: type[1] },
    options.dictionary === undefined ? undefined : { table: options.dictionary },
    { tables: options.children ?? [] },
    options.metadata === undefined ? undefined : { tables: keyValues(options.metadata) },
  ];
}

export interface SchemaOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly endianness?: number;
  readonly version?: number;
  readonly bodyLength?: number;
}

export function schemaMessage(fields: readonly Table[], options: SchemaOptions = {}): Buffer {
  const schema: Table = [
    { i16: options.endianness ?? 0 },
    { tables: fields },
    options.metadata === undefined ? undefined : { tables: keyValues(options.metadata) },
  ];
  return frame(message(1, schema, options.bodyLength ?? 0, options.version));
}

export interface BatchSpec {
  readonly rows: number | bigint;
  /** Length and null count of each field node. */
  readonly nodes: readonly (readonly [number | bigint, number | bigint])[];
  /** Contents, laid out one after another on 8-byte boundaries; or their places in `body`. */
  readonly buffers: readonly (Uint8Array | readonly [offset: number | bigint, length: number | bigint])[];
  readonly body?: Uint8Array;
  readonly codec?: number;
  readonly method?: number;
  readonly variadic?: readonly (number | bigint)[];
  readonly version?: number;
}

export function batchMessage(spec: BatchSpec): Buffer {
  const { table, body } = batchTable(spec);
  return Buffer.concat([frame(message(3, table, body.length, spec.version)), body]);
}

export function dictionaryMessage(id: number, spec: BatchSpec, isDelta = false): Buffer {
  const { table, body } = batchTable(spec);
  const dictionary: Table = [{ i64: id }, { table }, { u8: isDelta ? 1 : 0 }];
  return Buffer.concat([frame(message(2, dictionary, body.length, spec.version)), body]);
}

/** The same message with so many more bytes of metadata, a multiple of 8. */
export function padMetadata(message: Buffer, bytes: number): Buffer {
  const metadataBytes = message.readUInt32LE(4);
  const padded = Buffer.concat([
    message.subarray(0, 8 + metadataBytes),
    Buffer.alloc(bytes),
    message.subarray(8 + metadataBytes),
  ]);
  padded.writeUInt32LE(metadataBytes + bytes, 4);
  return padded;
}

export const END_OF_STREAM = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

export function streamOf(...messages: readonly Uint8Array[]): Buffer {
  return Buffer.concat([...messages, END_OF_STREAM]);
}

/** A stream of one int32 column `id`, in batches of the given sizes. */
export function int32Stream(...batchRows: readonly number[]): Buffer {
  return streamOf(schemaMessage([field('id', TYPES.int32)]), ...batchRows.map((rows) => int32Batch(range(rows))));
}

export function int32Batch(values: readonly number[]): Buffer {
  return batchMessage({
    rows: values.length,
    nodes: [[values.length, 0]],
    buffers: [Buffer.alloc(0), int32s(values)],
  });
}

/** The buffers of a string column without nulls. */
export function stringBuffers(texts: readonly string[]): readonly Buffer[] {
  const offsets = [0];
  for (const text of texts) offsets.push((offsets.at(-1) ?? 0) + Buffer.byteLength(text));
  return [Buffer.alloc(0), int32s(offsets), Buffer.from(texts.join(''))];
}

export function int32s(values: readonly number[]): Buffer {
  return Buffer.from(Int32Array.from(values).buffer);
}

export function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Prefix, metadata and padding of one message. */
export function frame(metadata: Uint8Array): Buffer {
  const length = Math.ceil(metadata.length / 8) * 8;
  const framed = Buffer.alloc(8 + length);
  framed.writeUInt32LE(0xffffffff, 0);
  framed.writeUInt32LE(length, 4);
  framed.set(metadata, 8);
  return framed;
}

export function message(headerType: number, header: Table, bodyLength: number | bigint, version = 4): Buffer {
  return flatbuffer([{ i16: version }, { u8: headerType }, { table: header }, { i64: bodyLength }]);
}

export function flatbuffer(root: Table): Buffer {
  const bytes: number[] = [0, 0, 0, 0];
  patchUint32(bytes, 0, writeTable(bytes, root));
  return Buffer.from(bytes);
}

function keyValues(entries: Readonly<Record<string, string>>): readonly Table[] {
  return Object.entries(entries).map(([key, value]) => [{ text: key }, { text: value }]);
}

function batchTable(spec: BatchSpec): { table: Table; body: Buffer } {
  const places: [number | bigint, number | bigint][] = [];
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const buffer of spec.buffers) {
    if (!(buffer instanceof Uint8Array)) {
      places.push([buffer[0], buffer[1]]);
      continue;
    }
    places.push([at, buffer.length]);
    parts.push(buffer, Buffer.alloc((8 - (buffer.length % 8)) % 8));
    at += Math.ceil(buffer.length / 8) * 8;
  }
  const compression: Table = [{ u8: spec.codec ?? 0 }, spec.method === undefined ? undefined : { u8: spec.method }];
  const table: Table = [
    { i64: spec.rows },
    { structs: int64s(spec.nodes.flat()), size: 16 },
    { structs: int64s(places.flat()), size: 16 },
    spec.codec === undefined ? undefined : { table: compression },
    spec.variadic === undefined ? undefined : { structs: int64s(spec.variadic), size: 8 },
  ];
  return { table, body: Buffer.concat(spec.body === undefined ? parts : [spec.body]) };
}

function int64s(values: readonly (number | bigint)[]): Uint8Array {
  return new Uint8Array(BigInt64Array.from(values, (value) => BigInt(value)).buffer);
}

/** Writes forward, parent before child, so that every offset is positive as the format wants. */
function writeTable(bytes: number[], table: Table): number {
  const { offsets, size } = layOut(table);
  pad(bytes, 2);
  const vtableBytes = 4 + 2 * offsets.length;
  while ((bytes.length + vtableBytes) % 8 !== 0) bytes.push(0);
  const vtable = bytes.length;
  pushNumber(bytes, vtableBytes, 2);
  pushNumber(bytes, size, 2);
  for (const offset of offsets) pushNumber(bytes, offset, 2);
  const position = bytes.length;
  pushNumber(bytes, position - vtable, 4);
  for (let index = 4; index < size; index += 1) bytes.push(0);
  for (const [slot, value] of table.entries()) {
    if (value !== undefined) writeValue(bytes, position + (offsets[slot] ?? 0), value);
  }
  return position;
}

function layOut(table: Table): { offsets: readonly number[]; size: number } {
  let size = 4;
  const offsets = table.map((value) => {
    if (value === undefined) return 0;
    const width = 'u8' in value ? 1 : 'i16' in value ? 2 : 'i64' in value ? 8 : 4;
    const offset = Math.ceil(size / width) * width;
    size = offset + width;
    return offset;
  });
  return { offsets, size };
}

function writeValue(bytes: number[], at: number, value: Value): void {
  if ('u8' in value) return putNumber(bytes, at, BigInt(value.u8), 1);
  if ('i16' in value) return putNumber(bytes, at, BigInt(value.i16), 2);
  if ('i32' in value) return putNumber(bytes, at, BigInt(value.i32), 4);
  if ('i64' in value) return putNumber(bytes, at, BigInt(value.i64), 8);
  return patchUint32(bytes, at, writeReferred(bytes, value) - at);
}

function writeReferred(bytes: number[], value: Value): number {
  if ('table' in value) return writeTable(bytes, value.table);
  if ('text' in value) return writeText(bytes, Buffer.from(value.text));
  if ('bytes' in value) return writeText(bytes, value.bytes);
  if ('tables' in value) return writeTables(bytes, value.tables);
  if ('structs' in value) return writeStructs(bytes, value.structs, value.size);
  throw new TypeError('a number is not referred to');
}

function writeText(bytes: number[], text: Uint8Array): number {
  pad(bytes, 4);
  const position = bytes.length;
  pushNumber(bytes, text.length, 4);
  for (const byte of text) bytes.push(byte);
  bytes.push(0);
  return position;
}

/** A table that appears twice in the list is written once and referred to twice. */
function writeTables(bytes: number[], tables: readonly Table[]): number {
  pad(bytes, 4);
  const position = bytes.length;
  pushNumber(bytes, tables.length, 4);
  for (let index = 0; index < tables.length; index += 1) pushNumber(bytes, 0, 4);
  const written = new Map<Table, number>();
  for (const [index, table] of tables.entries()) {
    const at = position + 4 + 4 * index;
    const target = written.get(table) ?? writeTable(bytes, table);
    written.set(table, target);
    patchUint32(bytes, at, target - at);
  }
  return position;
}

function writeStructs(bytes: number[], structs: Uint8Array, size: number): number {
  while ((bytes.length + 4) % 8 !== 0) bytes.push(0);
  const position = bytes.length;
  pushNumber(bytes, structs.length / size, 4);
  for (const byte of structs) bytes.push(byte);
  return position;
}

function pad(bytes: number[], alignment: number): void {
  while (bytes.length % alignment !== 0) bytes.push(0);
}

function pushNumber(bytes: number[], value: number, width: number): void {
  for (let index = 0; index < width; index += 1) bytes.push((value >>> (8 * index)) & 0xff);
}

function putNumber(bytes: number[], at: number, value: bigint, width: number): void {
  const unsigned = BigInt.asUintN(8 * width, value);
  for (let index = 0; index < width; index += 1) bytes[at + index] = Number((unsigned >> BigInt(8 * index)) & 0xffn);
}

function patchUint32(bytes: number[], at: number, value: number): void {
  putNumber(bytes, at, BigInt(value), 4);
}
