import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reserveMemory } from '../../../src/engine/queries/result-batches.ts';
import type { QueryPlan } from '../../../src/engine/queries/native-query.ts';
import { ReadMemory } from '../../../src/engine/queries/read-memory.ts';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import type { NativeTable } from '../../../src/engine/native/native.ts';
import type { Query } from '../../../src/model/query.ts';
import type { DataType, Field } from '../../../src/model/schema.ts';
import { queryLimits } from '../../guard/limits.ts';
import { ENGINE_LIMITS } from '../test-engine.ts';

const KIBIBYTE = 1024;
const FLOAT: DataType = { kind: 'float', bits: 32 };
const TEXT: DataType = { kind: 'utf8', layout: 'plain' };

function field(name: string, type: DataType): Field {
  return { name, type, nullable: true, metadata: new Map() };
}

const SCHEMA = {
  fields: [
    field('id', { kind: 'int', bits: 64, signed: true }),
    field('vec', { kind: 'fixed-size-list', length: 254, item: field('item', FLOAT) }),
    field('text', TEXT),
    field('word', { kind: 'dictionary', index: { kind: 'int', bits: 32, signed: true }, value: TEXT, ordered: false }),
  ],
  metadata: new Map<string, string>(),
};

async function choose(
  query: Partial<Query>,
  stored = { totalBytes: 0, numRows: 0 },
  vectorColumn?: QueryPlan['vectorColumn'],
  reservation?: Parameters<typeof reserveMemory>[3],
): Promise<number> {
  const whole = {
    vectors: [],
    prefilter: true,
    bypassVectorIndex: false,
    fastSearch: false,
    withRowId: false,
    ...query,
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Nothing but the statistics is asked for.
  const table = { stats: async () => stored } as unknown as NativeTable;
  const plan = { query: whole, schema: SCHEMA, vectorColumn, search: undefined, release: readEngineRelease() };
  const memory = new ReadMemory(queryLimits);
  const limits = { ...ENGINE_LIMITS, resultBatchBytes: 64 * KIBIBYTE };
  return reserveMemory({ limits, memory }, table, plan, reservation ?? { lease: memory.lease('ann') });
}

test('fills a batch with rows of a known width', async () => {
  assert.equal(await choose({ projection: { kind: 'names', paths: [['vec'], ['id']] } }), 64);
  assert.equal(await choose({ projection: { kind: 'names', paths: [['id']] } }), 8192);
});

test('uses the average of stored rows where there is text, with a lower bound', async () => {
  const stored = (rowBytes: number) => ({ totalBytes: 100 * rowBytes, numRows: 100 });
  // Of those 8 KiB, 1 KiB is the vector and the id; text is stored in a third of its size.
  assert.equal(await choose({}, stored(8 * KIBIBYTE)), 2);
  assert.equal(await choose({}, stored(100 * KIBIBYTE)), 1);
  assert.equal(await choose({}, stored(1)), 32);
  assert.equal(await choose({}), 1024);
});

test('fills a batch with the indices of a dictionary, which comes whole with each batch, however wide its texts are', async () => {
  const stored = { totalBytes: 100 * 100 * KIBIBYTE, numRows: 100 };
  assert.equal(await choose({ projection: { kind: 'names', paths: [['word'], ['id']] } }, stored), 5461);
  assert.equal(await choose({ projection: { kind: 'names', paths: [['word'], ['text']] } }, stored), 1);
});

test('reads no statistics for a result of a few rows', async () => {
  assert.equal(await choose({ k: 10 }), 1024);
});

test('reads a table that is sorted by texts in batches by their size, even for a few rows', async () => {
  const orderBy = [{ path: ['text'] as const, ascending: true, nullsFirst: false }];
  const stored = { totalBytes: 100 * 8 * KIBIBYTE, numRows: 100 };
  assert.equal(await choose({ k: 10, orderBy, projection: { kind: 'names', paths: [['id']] } }, stored), 3);
});

test('reads in large batches for a search for a few rows', async () => {
  const column = { path: ['vec'], field: field('vec', FLOAT) } as unknown as QueryPlan['vectorColumn'];
  assert.equal(await choose({ k: 10 }, undefined, column), 8192);
});

test('an analysis counts the batches of the engine as well, up to the bound of one query, and is not refused', async () => {
  const memory = new ReadMemory(queryLimits);
  const reserved = async (rowBytes: number, ownBatchRows = 0): Promise<number> => {
    const lease = memory.lease('ann');
    await choose({}, { totalBytes: 100_000 * rowBytes, numRows: 100_000 }, undefined, { lease, ownBatchRows });
    const { heldBytes } = lease;
    lease.close();
    return heldBytes;
  };
  assert.ok((await reserved(4 * KIBIBYTE, 1024)) > 4 * (await reserved(4 * KIBIBYTE)));
  assert.equal(await reserved(100 * KIBIBYTE, 1024), queryLimits.memoryPerRequestBytesMax);
});
