import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Connections } from '../../../src/engine/native/connections.ts';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { loadNative } from '../../../src/engine/native/native.ts';
import { openStorages } from '../../../src/storage/storages.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { NO_OBJECT_STORES, toObjectSettings } from '../../storage/object/test-stores.ts';

suite('connections', { skip: NO_OBJECT_STORES }, () => {
  test('are closed although a store has not answered a call', async (t) => {
    const emulator = await S3Emulator.start(t);
    const native = loadNative();
    const storages = openStorages({ sync: 'full', watchedTablesMax: 1, objects: toObjectSettings(emulator) });
    const connections = new Connections({
      native,
      release: readEngineRelease(),
      session: new native.Session(1n, 1n),
      storages,
      storageOptions: emulator.storageOptions,
      onQuarantine: () => {},
    });
    const table = { kind: 'listed', root: 's3://tables/root', directory: 'table.lance' } as const;
    await connections.find(table.root, table.kind);
    const held = emulator.faults.hold({ method: 'GET' });
    const opening = connections.openTable(table);
    await held.reached;
    await connections.close();
    held.release();
    await assert.rejects(opening);
    storages.close();
  });
});
