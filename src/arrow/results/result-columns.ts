import { childFields } from '../../model/schema.ts';
import type { DataType, Field } from '../../model/schema.ts';
import { VIEW_BYTES, hasBit, offsetBytes, readOffset, requireFixedWidth } from '../format/column-layout.ts';
import { readBatchHeader } from '../format/message-header.ts';
import type { MessageHeader } from '../format/message-header.ts';
import { BatchBuffers } from '../stream/batch-buffers.ts';
import type { ResultMessage } from './result-file.ts';

/** One column of a batch written by the engine, with slices of its buffers. */
export interface ResultColumn {
  readonly field: Field;
  readonly type: DataType;
  readonly length: number;
  /** One bit per row, or `undefined` if no row is null. */
  readonly validity: Buffer | undefined;
  /** Offsets and values in format order, without the validity. */
  readonly buffers: readonly Buffer[];
  readonly children: readonly ResultColumn[];
}

/** The columns of the record batch at `table`: the message's own, or that of a dictionary. */
export function readColumns(
  message: MessageHeader,
  table: number,
  fields: readonly Field[],
  body: Buffer,
): readonly ResultColumn[] {
  const header = readBatchHeader(message, table, Number.MAX_SAFE_INTEGER);
  if (header.codec !== 'none') header.flatbuffer.refuse('is compressed');
  const batch = new BatchBuffers(header, body);
  return fields.map((field) => readColumn(field, batch));
}

export function readDictionaryColumn({ header, body }: ResultMessage, field: Field | undefined): ResultColumn {
  const table = header.flatbuffer.tableField(header.table, 1);
  if (field === undefined || table === undefined) return header.flatbuffer.refuse('belongs to no column');
  const [column] = readColumns(header, table, [field], body);
  return column ?? header.flatbuffer.refuse('has no values');
}

export function isValid({ validity }: ResultColumn, row: number): boolean {
  return validity === undefined || hasBit(validity, row);
}

/**
 * The position of the first item of a row, which is also the end of the previous row; for lists, maps and fixed-size
 * lists.
 */
export function itemStarts({ type, buffers }: ResultColumn): (row: number) => number {
  if (type.kind === 'fixed-size-list') return (row) => type.length * row;
  const [offsets = Buffer.alloc(0)] = buffers;
  const width = type.kind === 'list' ? offsetBytes(type) : 4;
  return (row) => readOffset(offsets, row, width);
}

/** Reads the bytes of a value, which are only valid if the row is not null; a boolean is one byte, 0 or 1. */
export function bytesReader({ type, buffers }: ResultColumn): (row: number) => Buffer {
  const [first = Buffer.alloc(0), data = Buffer.alloc(0)] = buffers;
  if (type.kind === 'utf8' || type.kind === 'binary') {
    if (type.layout === 'view') return viewReader(first, buffers);
    const width = offsetBytes(type);
    return (row) => data.subarray(readOffset(first, row, width), readOffset(first, row + 1, width));
  }
  if (type.kind === 'bool') return (row) => Buffer.of(hasBit(first, row) ? 1 : 0);
  const bytes = requireFixedWidth(type);
  return (row) => first.subarray(bytes * row, bytes * (row + 1));
}

/**
 * A view ends with the text itself if it is short, otherwise with a prefix, the number of its buffer and its position
 * there.
 */
export const SHORT_BYTES = 12;

function viewReader(views: Buffer, buffers: readonly Buffer[]): (row: number) => Buffer {
  return (row) => {
    const at = VIEW_BYTES * row;
    const length = views.readUInt32LE(at);
    if (length <= SHORT_BYTES) return views.subarray(at + 4, at + 4 + length);
    const start = views.readUInt32LE(at + 12);
    // The first buffer contains the views themselves.
    return (buffers[1 + views.readUInt32LE(at + 8)] ?? Buffer.alloc(0)).subarray(start, start + length);
  };
}

function readColumn(field: Field, batch: BatchBuffers): ResultColumn {
  const { type } = field;
  const { length, nullCount } = batch.nextNode();
  if (type.kind === 'null') return { field, type, length, validity: undefined, buffers: [], children: [] };
  const bits = batch.nextBuffer().stored;
  const validity = nullCount === 0 || bits.length === 0 ? undefined : bits;
  const unread = `has a column of type ${type.kind} in an unsupported layout`;
  const count = bufferCount(type, batch) ?? batch.header.flatbuffer.refuse(unread);
  const buffers = Array.from({ length: count }, () => batch.nextBuffer().stored);
  const children = childFields(type).map((child) => readColumn(child, batch));
  return { field, type, length, validity, buffers, children };
}

/** `undefined` for layouts that the engine never returns, because it converts them when it writes. */
function bufferCount(type: DataType, batch: BatchBuffers): number | undefined {
  switch (type.kind) {
    case 'struct':
    case 'fixed-size-list':
      return 0;
    case 'list':
      return type.layout === 'plain' || type.layout === 'large' ? 1 : undefined;
    case 'utf8':
    case 'binary':
      return type.layout === 'view' ? 1 + batch.nextVariadicCount() : 2;
    case 'union':
    case 'run-end-encoded':
      return undefined;
    default:
      return 1;
  }
}
