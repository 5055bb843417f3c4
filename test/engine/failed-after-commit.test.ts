import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { openParts } from '../../src/engine/parts.ts';
import { updateRows } from '../../src/engine/update-rows.ts';
import { AnsweredBefore } from '../../src/model/write-intent.ts';
import type { WriteIntent } from '../../src/model/write-intent.ts';
import { ENGINE_LIMITS, openTable, sql } from './engine-room.ts';
import { toItems } from './sample-tables.ts';
import { watchUpdates } from './watched-native.ts';
import type { AroundUpdate } from './watched-native.ts';

/** Keeps what it is told. */
function tellTo(told: string[]): WriteIntent {
  return {
    isConditional: false,
    begin: async (version) => void told.push(`begun at ${version}`),
    fail: () => void told.push('failed'),
    async land(version) {
      told.push(`landed as ${version}`);
      return new AnsweredBefore({ journalId: '', version, transactionId: undefined, outcome: {} });
    },
  };
}

async function openRoom(t: TestContext, around: AroundUpdate) {
  const room = await openTable(t, toItems(4));
  const settings = { storageOptions: {}, querySeconds: 30, spoolFolder: room.root, storages: room.storages };
  const parts = openParts(watchUpdates(around), { ...settings, limits: ENGINE_LIMITS });
  t.after(async () => {
    await parts.tables.close();
    await parts.connections.close();
  });
  const place = room.place();
  const update = async (id: number, told: string[]): Promise<unknown> =>
    updateRows(
      parts,
      { place, branch: undefined, intent: tellTo(told) },
      { assignments: [{ path: ['name'], expression: sql("'new'") }], predicate: sql(`id = ${id}`) },
    ).catch((error: unknown) => error);
  return { parts, place, update };
}

const failAfter: AroundUpdate = async (update) => {
  await update();
  throw new Error('The storage has gone.');
};

test('an update that failed after its commit is told as the success that it is', async (t) => {
  const { update } = await openRoom(t, failAfter);
  const told: string[] = [];
  const answer = await update(1, told);
  assert.ok(answer instanceof AnsweredBefore, String(answer));
  assert.equal(answer.answer.version, 2);
  assert.deepEqual(told, ['begun at 1', 'landed as 2']);
});

test('an update that failed before its commit has failed', async (t) => {
  const { update } = await openRoom(t, async () => {
    throw new Error('The storage has gone.');
  });
  const told: string[] = [];
  assert.ok(!((await update(1, told)) instanceof AnsweredBefore));
  assert.deepEqual(told, ['begun at 1', 'failed']);
});

test('so are all that shared the commit', async (t) => {
  const { parts, place, update } = await openRoom(t, failAfter);
  const told: readonly string[][] = [[], [], []];
  const free = parts.lanes.run(place, async () => new Promise(setImmediate));
  const answers = await Promise.all(told.map(async (each, id) => update(id, each)));
  await free;
  for (const answer of answers) assert.ok(answer instanceof AnsweredBefore, String(answer));
  assert.deepEqual(told, [
    ['begun at 1', 'landed as 2'],
    ['begun at 1', 'landed as 2'],
    ['begun at 1', 'landed as 2'],
  ]);
});
