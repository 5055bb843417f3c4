import { CONTINUATION, findField } from './arrow-messages.ts';

/** Numbers of `Type`, and of the fields of `Message`, `Schema`, `Field` and `Decimal`, in Arrow's Message.fbs and Schema.fbs. */
const TYPE = { binary: 4, utf8: 5, decimal: 7, list: 12, runEndEncoded: 22 } as const;
/**
 * Lists with 64-bit offsets, and views: the tables of all these types are empty, so changing the number yields the
 * plain type.
 */
const PLAIN: Readonly<Record<number, number>> = {
  21: TYPE.list,
  23: TYPE.binary,
  24: TYPE.utf8,
  25: TYPE.list,
  26: TYPE.list,
};
const MESSAGE_HEADER = 2;
const SCHEMA_FIELDS = 1;
const FIELD = { typeNumber: 2, type: 3, dictionary: 4, children: 5 } as const;
const DECIMAL_BITS = 2;
const DECIMAL_BITS_MIN = 128;
const DEPTH_MAX = 64;

/**
 * In a schema message, replaces types that `apache-arrow` cannot read by plain ones with the same values: lists with
 * 64-bit offsets, views, dictionaries and short decimals. Throws if that is not possible.
 */
export function toPlainTypes(message: Uint8Array): void {
  const whole = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const prefix = whole.getUint32(0, true) === CONTINUATION ? 8 : 4;
  const view = new DataView(message.buffer, message.byteOffset + prefix, message.byteLength - prefix);
  const schema = follow(view, findField(view, view.getUint32(0, true), MESSAGE_HEADER));
  if (schema === undefined) throw new Error('no schema');
  for (const field of vectorAt(view, findField(view, schema, SCHEMA_FIELDS))) rewriteField(view, field, 0);
}

function rewriteField(view: DataView, field: number, depth: number): void {
  if (depth > DEPTH_MAX) throw new Error('nested too deeply');
  const numberAt = findField(view, field, FIELD.typeNumber);
  const number = numberAt === undefined ? 0 : view.getUint8(numberAt);
  if (numberAt === undefined || number === TYPE.runEndEncoded) throw new Error('a type that is not read here');
  view.setUint8(numberAt, PLAIN[number] ?? number);
  if (number === TYPE.decimal) widenDecimal(view, follow(view, findField(view, field, FIELD.type)));
  dropField(view, field, FIELD.dictionary);
  for (const child of vectorAt(view, findField(view, field, FIELD.children))) rewriteField(view, child, depth + 1);
}

function widenDecimal(view: DataView, decimal: number | undefined): void {
  const at = decimal === undefined ? undefined : findField(view, decimal, DECIMAL_BITS);
  if (at !== undefined && view.getInt32(at, true) < DECIMAL_BITS_MIN) view.setInt32(at, DECIMAL_BITS_MIN, true);
}

/** Fields that share this list of offsets have the same parts, so all of them lose this one. */
function dropField(view: DataView, table: number, field: number): void {
  if (findField(view, table, field) === undefined) return;
  view.setUint16(table - view.getInt32(table, true) + 4 + 2 * field, 0, true);
}

function follow(view: DataView, at: number | undefined): number | undefined {
  return at === undefined ? undefined : at + view.getUint32(at, true);
}

/** The tables in a vector. */
function* vectorAt(view: DataView, at: number | undefined): Generator<number> {
  const vector = follow(view, at);
  if (vector === undefined) return;
  const length = view.getUint32(vector, true);
  for (let index = 0; index < length; index += 1) {
    const entry = vector + 4 + 4 * index;
    yield entry + view.getUint32(entry, true);
  }
}
