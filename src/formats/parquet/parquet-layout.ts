import { invalidInput } from '../../errors/service-error.ts';
import { toBase64 } from '../types/values-of.ts';
import {
  I32,
  integerField,
  joinBytes,
  listField,
  readInteger,
  readList,
  readStruct,
  readText,
  structField,
  textField,
  writeStruct,
} from './thrift.ts';
import type { ThriftField, ThriftStruct } from './thrift.ts';

/** Numbers of fields in Parquet's parquet.thrift. */
const FILE = { version: 1, schema: 2, rows: 3, groups: 4, pairs: 5 } as const;
const PAIR = { key: 1, value: 2 } as const;
const ELEMENT = { type: 1, typeLength: 2, repetition: 3, name: 4, children: 5 } as const;
const GROUP = { columns: 1, bytes: 2, rows: 3 } as const;
const CHUNK = { filePath: 1, fileOffset: 2, metadata: 3 } as const;
const META = {
  type: 1,
  encodings: 2,
  path: 3,
  codec: 4,
  values: 5,
  plainBytes: 6,
  bytes: 7,
  dataAt: 9,
  dictionaryAt: 11,
} as const;
const REQUIRED = 0;
const REPEATED = 2;
const MAGIC = new TextEncoder().encode('PAR1');

/** A column of values; a column of the table has one, or, for a struct or map, several. */
export interface Leaf {
  /** The column of the table. */
  readonly column: string;
  /** How many of its levels may be null, empty or repeated. */
  readonly definitionMax: number;
  readonly repetitionMax: number;
  /** Number of the physical type. */
  readonly type: number;
  readonly typeLength: number;
}

/** The values of a leaf in one row group. */
export interface Chunk {
  readonly leaf: Leaf;
  readonly start: number;
  readonly bytes: number;
  /** Decompressed, but still encoded. */
  readonly plainBytes: number;
  readonly values: number;
  /** The offset of its dictionary in the chunk. */
  readonly dictionaryAt: number | undefined;
  readonly dataAt: number;
  readonly metadata: ThriftStruct;
}

export interface RowGroup {
  readonly rows: number;
  readonly chunks: readonly Chunk[];
}

/** Values of a leaf for a file that is assembled from parts of another. */
export interface Piece {
  /** Its bytes, as consecutive parts. */
  readonly parts: readonly Uint8Array[];
  readonly values: number;
  readonly dictionaryAt: number | undefined;
  readonly dataAt: number;
}

/** What a footer says about the parts of a file. Row groups are parsed on demand, because there may be many. */
export class ParquetLayout {
  readonly rows: number;
  readonly leaves: readonly Leaf[];
  readonly groupCount: number;
  readonly #fields: ThriftStruct;
  readonly #groups: readonly Uint8Array[];
  /** The schema elements: a root, and a tree for each column. */
  readonly #elements: readonly Uint8Array[];
  readonly #columns: readonly ColumnRange[];

  constructor(footer: Uint8Array) {
    const { fields } = readStruct(footer);
    this.#fields = fields;
    this.#groups = readList(requireField(fields, FILE.groups));
    this.groupCount = this.#groups.length;
    this.rows = readInteger(fields.get(FILE.rows)) ?? 0;
    this.#elements = readList(requireField(fields, FILE.schema));
    const { leaves, columns } = listLeaves(this.#elements);
    this.leaves = leaves;
    this.#columns = columns;
  }

  group(index: number): RowGroup {
    const { fields } = readStruct(this.#groups[index] ?? new Uint8Array());
    const chunks = readList(requireField(fields, GROUP.columns));
    if (chunks.length !== this.leaves.length) throw new Error('a row group without all columns');
    return {
      rows: readInteger(fields.get(GROUP.rows)) ?? 0,
      chunks: this.leaves.map((leaf, each) => toChunk(leaf, chunks[each] ?? new Uint8Array())),
    };
  }

  /** A file with all columns and no rows. */
  schemaFile(): Uint8Array {
    return toFile([], new Map([...this.#fields, [FILE.rows, integerField(0)], [FILE.groups, listField([])]]));
  }

  /** A small file with some pieces of this one and only their columns: whole columns, with their Arrow schema. */
  file({ rows, group, pieces, arrowSchema }: SmallFile): Uint8Array {
    const parts: Uint8Array[] = [];
    let at = MAGIC.length;
    const chunks = group.chunks.filter(({ leaf }) => pieces.has(leaf));
    const columns = chunks.map((chunk) => {
      const piece = pieces.get(chunk.leaf);
      if (piece === undefined) throw new TypeError('a chunk without a piece');
      const column = toColumn(chunk, piece, at);
      parts.push(...piece.parts);
      at += lengthOf(piece.parts);
      return column;
    });
    const groupFields = new Map([
      [GROUP.columns, listField(columns)],
      [GROUP.bytes, integerField(at)],
      [GROUP.rows, integerField(rows)],
    ]);
    const names = new Set(chunks.map(({ leaf }) => leaf.column));
    const pair = new Map([
      [PAIR.key, textField('ARROW:schema')],
      [PAIR.value, textField(toBase64(arrowSchema))],
    ]);
    const fields = new Map<number, ThriftField>([
      [FILE.version, requireField(this.#fields, FILE.version)],
      [FILE.schema, listField(this.#elementsOf(names))],
      [FILE.rows, integerField(rows)],
      [FILE.groups, listField([writeStruct(groupFields)])],
      [FILE.pairs, listField([writeStruct(pair)])],
    ]);
    return toFile(parts, fields);
  }

  #elementsOf(names: ReadonlySet<string>): readonly Uint8Array[] {
    const [root] = this.#elements;
    const children = integerField(names.size, I32);
    const fields = new Map([...readStruct(root ?? new Uint8Array()).fields, [ELEMENT.children, children]]);
    const kept = this.#columns.filter(({ name }) => names.has(name));
    return [writeStruct(fields), ...kept.flatMap(({ start, end }) => this.#elements.slice(start, end))];
  }
}

export interface SmallFile {
  readonly rows: number;
  readonly group: RowGroup;
  readonly pieces: ReadonlyMap<Leaf, Piece>;
  /** The schema message. */
  readonly arrowSchema: Uint8Array;
}

function toFile(parts: readonly Uint8Array[], fields: ThriftStruct): Uint8Array {
  const footer = writeStruct(fields);
  return joinBytes([MAGIC, ...parts, footer, new Uint8Array(Uint32Array.of(footer.length).buffer), MAGIC]);
}

function requireField(fields: ThriftStruct, id: number): ThriftField {
  const field = fields.get(id);
  if (field === undefined) throw new Error('metadata that is not complete');
  return field;
}

interface ColumnRange {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Depth first, like the elements. */
function listLeaves(elements: readonly Uint8Array[]) {
  const leaves: Leaf[] = [];
  const columns: ColumnRange[] = [];
  let next = 1;
  const visit = (above: Pick<Leaf, 'column' | 'definitionMax' | 'repetitionMax'> | undefined): void => {
    const { fields } = readStruct(elements[next] ?? new Uint8Array());
    next += 1;
    const repetition = readInteger(fields.get(ELEMENT.repetition)) ?? REQUIRED;
    const place = {
      column: above?.column ?? readText(requireField(fields, ELEMENT.name).raw),
      definitionMax: (above?.definitionMax ?? 0) + (repetition === REQUIRED ? 0 : 1),
      repetitionMax: (above?.repetitionMax ?? 0) + (repetition === REPEATED ? 1 : 0),
    };
    const children = readInteger(fields.get(ELEMENT.children)) ?? 0;
    for (let child = 0; child < children; child += 1) visit(place);
    if (children > 0) return;
    const typeLength = readInteger(fields.get(ELEMENT.typeLength)) ?? 0;
    leaves.push({ ...place, type: readInteger(fields.get(ELEMENT.type)) ?? 0, typeLength });
  };
  while (next < elements.length) {
    const start = next;
    visit(undefined);
    columns.push({ name: leaves.at(-1)?.column ?? '', start, end: next });
  }
  return { leaves, columns };
}

function toChunk(leaf: Leaf, bytes: Uint8Array): Chunk {
  const { fields } = readStruct(bytes);
  const found = fields.get(CHUNK.metadata);
  if (found === undefined || fields.has(CHUNK.filePath)) {
    const hint = 'Write it without encryption, and in one file.';
    throw invalidInput(`The column "${leaf.column}" of the Parquet file is encrypted, or in another file.`, hint);
  }
  const metadata = readStruct(found.raw).fields;
  const read = (id: number): number => readInteger(metadata.get(id)) ?? 0;
  const dictionary = read(META.dictionaryAt);
  const data = read(META.dataAt);
  const hasDictionary = dictionary > 0 && dictionary < data;
  const start = hasDictionary ? dictionary : data;
  return {
    leaf,
    start,
    bytes: read(META.bytes),
    plainBytes: read(META.plainBytes),
    values: read(META.values),
    dictionaryAt: hasDictionary ? 0 : undefined,
    dataAt: data - start,
    metadata,
  };
}

function toColumn({ metadata }: Chunk, { parts, values, dataAt, dictionaryAt }: Piece, at: number): Uint8Array {
  const length = integerField(lengthOf(parts));
  const kept = [META.type, META.encodings, META.path, META.codec].flatMap((id) => {
    const field = metadata.get(id);
    return field === undefined ? [] : [[id, field] as const];
  });
  const fields = new Map<number, ThriftField>([
    ...kept,
    [META.values, integerField(values)],
    [META.plainBytes, length],
    [META.bytes, length],
    [META.dataAt, integerField(at + dataAt)],
    ...(dictionaryAt === undefined ? [] : [[META.dictionaryAt, integerField(at + dictionaryAt)] as const]),
  ]);
  return writeStruct(
    new Map([
      [CHUNK.fileOffset, integerField(at)],
      [CHUNK.metadata, structField(fields)],
    ]),
  );
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}
