import type { RecordBatch, Schema } from 'apache-arrow';
import type { RowWriter } from './source.ts';
import { plainValue } from './plain-value.ts';
import { toJsonText } from './json-text.ts';
import { LongNumber } from './long-json.ts';
import { valuesOf } from './values-of.ts';

const encoder = new TextEncoder();
const NOTHING = new Uint8Array();

/** In the words of the server's own NDJSON. */
export function ndjsonWriter(): RowWriter {
  return {
    begin: () => NOTHING,
    add: (batch) =>
      encoder.encode(
        rowsOf(batch)
          .map((row) => `${toJsonText(Object.fromEntries(row))}\n`)
          .join(''),
      ),
    end: () => NOTHING,
  };
}

/** RFC 4180 with a header. Null is an empty cell, an empty text a pair of quotes; lists and structs are JSON. */
export function csvWriter(schema: Schema, delimiter = ','): RowWriter {
  const needsQuotes = new RegExp(`[${delimiter === '|' ? '\\|' : delimiter}"\\r\\n]|^\\s|\\s$|^\uFEFF`);
  const quote = (text: string): string =>
    text === '' || needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const cell = (value: unknown): string => {
    if (value === null || value === undefined) return '';
    if (typeof value === 'string') return quote(value);
    if (value instanceof LongNumber) return value.text;
    return typeof value === 'object' ? quote(toJsonText(value)) : toJsonText(value);
  };
  return {
    begin: () => encoder.encode(`${schema.fields.map(({ name }) => quote(name)).join(delimiter)}\n`),
    add: (batch) =>
      encoder.encode(
        rowsOf(batch)
          .map((row) => `${row.map(([, value]) => cell(value)).join(delimiter)}\n`)
          .join(''),
      ),
    end: () => NOTHING,
  };
}

function rowsOf(batch: RecordBatch): readonly (readonly (readonly [string, unknown])[])[] {
  const { fields } = batch.schema;
  const columns = batch.data.children.map((data) => valuesOf(data));
  return Array.from({ length: batch.numRows }, (_, row) =>
    fields.map(({ name, type }, index) => [name, plainValue(columns[index]?.[row], type)] as const),
  );
}
