import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecordBatchFileReader, tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { metadataFile } from '../../../src/arrow/format/metadata-file.ts';
import { readFileSchema } from '../../../src/arrow/schema/schema-reader.ts';

test('makes a file without columns whose schema has the metadata, as the Arrow project reads it', () => {
  const pairs: [string, string][] = [
    ['owner', 'sales'],
    ['', ''],
    ['long', 'x'.repeat(100_000)],
    ['ключ', '値 😀'],
  ];
  const { schema } = tableFromIPC(metadataFile(pairs));
  assert.deepEqual(schema.fields, []);
  assert.deepEqual(schema.metadata, new Map(pairs));
  assert.deepEqual(tableFromIPC(metadataFile([])).schema.metadata, new Map());
});

test('every map comes back as it was', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), (entries) => {
      const file = metadataFile(Object.entries(entries));
      const wanted = new Map(Object.entries(entries));
      assert.deepEqual(readFileSchema(file).metadata, wanted);
      assert.deepEqual(RecordBatchFileReader.from(file).open().schema.metadata, wanted);
    }),
    { numRuns: 500 },
  );
});
