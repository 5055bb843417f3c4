import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../../../src/storage/object/address.ts';
import { ObjectStores } from '../../../../src/storage/object/object-stores.ts';
import { CredentialVending } from '../../../../src/storage/object/vending/credential-vending.ts';
import type { VendRequest } from '../../../../src/storage/object/vending/credential-vending.ts';
import { startMinio, withoutMinio } from '../../../support/minio.ts';
import { refusal } from '../../../support/refusal.ts';
import { collect, toObjectSettings } from '../test-stores.ts';

const ROOT = 's3://bucket/root';
const TABLE = 'root/orders.lance';
const CONTENT = Buffer.from('content');
const DENIED = refusal('ServiceUnavailable', /403/);

test('MinIO issues credentials that keep to the policy', { skip: withoutMinio }, async (t) => {
  const minio = await startMinio(t, 'bucket');
  const owner = new ObjectStores(toObjectSettings(minio)).open(parseAddress(ROOT));
  const [own, neighbour] = [`${TABLE}/data/a.lance`, 'root/orders.lance2/data/b.lance'];
  for (const key of [own, neighbour]) await owner.put(key, CONTENT);
  const vending = new CredentialVending({
    ...toObjectSettings(minio),
    role: undefined,
    endpoint: undefined,
    seconds: 900,
  });
  const location = { kind: 'listed', root: ROOT, directory: 'orders' } as const;
  const openAs = async (access: VendRequest['access']) => {
    const vended = await vending.vend({ location, root: ROOT, access, callerId: 'key:1' });
    return new ObjectStores(toObjectSettings(vended)).open(parseAddress(ROOT));
  };

  const reader = await openAs('read');
  assert.deepEqual(await reader.get(own), CONTENT);
  const listed = await collect(reader.list(`${TABLE}/`));
  assert.deepEqual(
    listed.map(({ key }) => key),
    [own],
  );
  await assert.rejects(reader.get(neighbour), DENIED);
  await assert.rejects(collect(reader.list('root/')), DENIED);
  await assert.rejects(collect(reader.list(TABLE)), DENIED);
  await assert.rejects(reader.put(own, Buffer.from('changed')), DENIED);

  const stager = await openAs('stage');
  await stager.put(`${TABLE}/_versions/7.manifest-x`, CONTENT);
  await assert.rejects(stager.put(`${TABLE}/_versions/7.manifest`, CONTENT), DENIED);
  await assert.rejects(stager.put(neighbour, CONTENT), DENIED);

  for (const store of [reader, stager]) await store.remove([own]).catch(() => {});
  assert.deepEqual(await owner.get(own), CONTENT);
  // It does not know s3:if-none-match: safer no credentials than ones that can replace a manifest.
  await assert.rejects(openAs('create'), refusal('Internal', /refuses this server/));
});
