import { test } from 'node:test';
import { parseAddress } from '../../../src/storage/object/address.ts';
import { ObjectStores } from '../../../src/storage/object/object-stores.ts';
import { startVersityGw, withoutVersityGw } from '../../support/versitygw.ts';
import { checkObjects, checkTables } from './store-checks.ts';
import { toObjectSettings } from './test-stores.ts';

test('an S3 server that is not ours holds objects and tables', { skip: withoutVersityGw }, async (t) => {
  const objects = toObjectSettings(await startVersityGw(t, 'bucket'));
  await checkObjects(new ObjectStores(objects).open(parseAddress('s3://bucket')), 'bucket');
  await checkTables(t, 's3://bucket/root', objects);
});
