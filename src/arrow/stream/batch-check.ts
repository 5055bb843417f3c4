import { quoteForMessage } from '../../model/identifier.ts';
import type { DataType, Field } from '../../model/schema.ts';
import type { BatchBuffers, BodyBuffer, FieldNode } from './batch-buffers.ts';
import { fixedWidthBytes, viewedBytes, VIEW_BYTES } from '../format/column-layout.ts';
import { jsonColumnFault } from './json-column.ts';
import { EXTENSION_NAME_KEY, JSON_EXTENSION } from '../schema/schema-rules.ts';

/** What a batch is held against: its columns, and which of their dictionaries have arrived. */
export interface BatchSchema {
  readonly columns: readonly Field[];
  /** Gets the names of the top-level columns that hold nulls. */
  readonly nullColumns?: Set<string>;
  hasDictionary(type: DataType): boolean;
}

/**
 * Holds a batch against its schema without decoding it: everything that the engine would take for granted, or find out
 * by stopping in the middle of a table. Beyond lengths, what is in the buffers stays for the engine to judge.
 */
export function checkBatch(buffers: BatchBuffers, shape: BatchSchema): void {
  const walk = new ColumnWalk(buffers, shape);
  for (const column of shape.columns) walk.checkColumn(column, buffers.header.rows);
  buffers.requireEnd();
}

class ColumnWalk {
  readonly #buffers: BatchBuffers;
  readonly #shape: BatchSchema;
  readonly #path: string[] = [];

  constructor(buffers: BatchBuffers, shape: BatchSchema) {
    this.#buffers = buffers;
    this.#shape = shape;
  }

  /** `rows` is what the parent demands; below a list only its offsets would tell. */
  checkColumn(field: Field, rows: number | undefined): void {
    this.#path.push(field.name);
    const node = this.#buffers.nextNode();
    if (rows !== undefined && node.length !== rows) {
      this.#refuse(`has ${node.length} rows where ${rows} are declared`);
    }
    this.#checkNulls(field, node);
    this.#checkLayout(field, node);
    this.#path.pop();
  }

  #checkNulls(field: Field, node: FieldNode): void {
    if (field.type.kind === 'null') {
      if (node.nullCount !== node.length) this.#refuse('is of nulls only but counts rows that are not null');
      this.#shape.nullColumns?.add(field.name);
      return;
    }
    if (node.nullCount > 0 && this.#path.length === 1) {
      if (!field.nullable) this.#refuse(`has ${node.nullCount} nulls although the schema allows none`);
      this.#shape.nullColumns?.add(field.name);
    }
    const validity = this.#buffers.nextBuffer();
    if (node.nullCount > 0) this.#requireBytes(validity, Math.ceil(node.length / 8), 'validity');
  }

  #checkLayout(field: Field, node: FieldNode): void {
    const { type } = field;
    switch (type.kind) {
      case 'null':
        return this.#buffers.charge(node.length);
      case 'bool':
        return this.#requireBytes(this.#buffers.nextBuffer(), Math.ceil(node.length / 8), 'values');
      case 'utf8':
      case 'binary':
        return type.layout === 'view' ? this.#checkViews(node) : this.#checkBytes(field, node, type.layout === 'large');
      case 'list':
        this.#checkOffsets(node, type.layout === 'large' ? 8 : 4);
        return this.checkColumn(type.item, undefined);
      case 'map':
        this.#checkOffsets(node, 4);
        return this.checkColumn(type.entries, undefined);
      case 'fixed-size-list':
        return this.checkColumn(type.item, node.length * type.length);
      case 'struct':
        return this.#checkStruct(type.children, node);
      case 'dictionary':
        return this.#checkIndices(type, type.index, node);
      default:
        return this.#checkFixedWidth(type, node);
    }
  }

  #checkBytes(field: Field, node: FieldNode, isLarge: boolean): void {
    const width = isLarge ? 8 : 4;
    const offsets = this.#checkOffsets(node, width);
    const data = this.#buffers.nextBuffer();
    if (field.type.kind !== 'utf8' || field.metadata.get(EXTENSION_NAME_KEY) !== JSON_EXTENSION) return;
    const fault = jsonColumnFault(this.#buffers, { rows: node.length, offsetWidth: width, offsets, data });
    if (fault !== undefined) this.#refuse(fault);
  }

  #checkOffsets(node: FieldNode, width: 4 | 8): BodyBuffer {
    const offsets = this.#buffers.nextBuffer();
    if (node.length > 0 || offsets.decodedBytes > 0) {
      this.#requireBytes(offsets, width * (node.length + 1), 'offsets');
    }
    this.#requireMultiple(offsets, width, 'offsets');
    return offsets;
  }

  /** One text may be viewed many times over, and the engine writes it out each time. */
  #checkViews(node: FieldNode): void {
    const views = this.#buffers.nextBuffer();
    this.#requireBytes(views, VIEW_BYTES * node.length, 'views');
    this.#requireMultiple(views, VIEW_BYTES, 'views');
    let largestBytes = 0;
    for (let left = this.#buffers.nextVariadicCount(); left > 0; left -= 1) {
      largestBytes = Math.max(largestBytes, this.#buffers.nextBuffer().decodedBytes);
    }
    const content = this.#buffers.content(views, VIEW_BYTES * node.length);
    this.#buffers.charge(content === undefined ? node.length * largestBytes : viewedBytes(content));
  }

  #checkStruct(children: readonly Field[], node: FieldNode): void {
    if (children.length === 0) this.#buffers.charge(node.length);
    for (const child of children) this.checkColumn(child, node.length);
  }

  #checkIndices(type: DataType, index: DataType, node: FieldNode): void {
    this.#checkFixedWidth(index, node);
    if (node.length > 0 && !this.#shape.hasDictionary(type)) {
      this.#refuse('uses a dictionary that has not been sent', 'Its dictionary batch comes first.');
    }
  }

  #checkFixedWidth(type: DataType, node: FieldNode): void {
    const values = this.#buffers.nextBuffer();
    const width = fixedWidthBytes(type);
    this.#requireBytes(values, node.length * width, 'values');
    if (type.kind !== 'fixed-size-binary') this.#requireMultiple(values, Math.min(width, 16), 'values');
  }

  #requireBytes(buffer: BodyBuffer, bytes: number, what: string): void {
    if (buffer.decodedBytes < bytes) {
      this.#refuse(`has ${buffer.decodedBytes} bytes of ${what} where its rows need ${bytes}`);
    }
  }

  /** The engine stops at a remainder. */
  #requireMultiple(buffer: BodyBuffer, width: number, what: string): void {
    if (buffer.decodedBytes % width !== 0) {
      this.#refuse(`has ${buffer.decodedBytes} bytes of ${what}, which is not a multiple of ${width}`);
    }
  }

  #refuse(fault: string, hint?: string): never {
    const column = quoteForMessage(this.#path.join('.'));
    return this.#buffers.header.flatbuffer.place.refuse(`holds the column ${column}, which ${fault}`, hint);
  }
}
