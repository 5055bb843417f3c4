import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../../src/storage/object/address.ts';
import { ObjectStores } from '../../../src/storage/object/object-stores.ts';
import { startAzurite } from '../../support/azurite.ts';
import { refusal } from '../../support/refusal.ts';
import { checkConditionalRemoval, checkObjects, checkTables } from './store-checks.ts';
import { NO_OBJECT_STORES, collect, toObjectSettings } from './test-stores.ts';

test('Azure Blob Storage holds objects and tables', { skip: NO_OBJECT_STORES }, async (t) => {
  const azurite = await startAzurite(t, 'box');
  if (azurite === undefined) return;
  const objects = toObjectSettings(azurite);
  const store = new ObjectStores(objects).open(parseAddress('az://box'));
  await checkObjects(store, 'box');
  await checkConditionalRemoval(store);
  await checkTables(t, 'az://box/root', objects);
});

test('a list of more blobs than fit into a reply is complete', async (t) => {
  const azurite = await startAzurite(t, 'box');
  if (azurite === undefined) return;
  const objects = toObjectSettings(azurite, { pageKeysMax: 10 });
  const store = new ObjectStores(objects).open(parseAddress('az://box'));
  const keys = Array.from({ length: 35 }, (_, index) => `many/${String(index).padStart(2, '0')}`);
  await Promise.all(keys.map(async (key) => store.put(key, Buffer.from('x'))));
  assert.deepEqual(
    (await collect(store.list('many/'))).map(({ key }) => key),
    keys,
  );
});

test('an account that is missing is asked for, and a wrong key is refused', async (t) => {
  const azurite = await startAzurite(t, 'box');
  if (azurite === undefined) return;
  const { storageOptions } = azurite;
  const { azure_storage_account_name: _, ...nameless } = storageOptions;
  const open = (options: Readonly<Record<string, string>>) =>
    new ObjectStores(toObjectSettings({ storageOptions: options })).open(parseAddress('az://box'));
  assert.throws(() => open(nameless), refusal('Unsupported', /azure_storage_account_name/));
  const wrong = open({ ...storageOptions, azure_storage_account_key: Buffer.from('wrong').toString('base64') });
  await assert.rejects(wrong.get('key'), refusal('ServiceUnavailable', /status 403|credentials/));
});
