import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, temporaryCatalog } from '../temporary-catalog.ts';

const key = (id: string): { id: string; jwk: string } => ({ id, jwk: `{"kty":"${id}"}` });

test('the first signing key is kept, and shared by all who open the catalog', async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  const other = await open(context, file);
  assert.deepEqual(await catalog.signingKeys.list(), []);
  await Promise.all([catalog.signingKeys.ensure(key('a')), other.signingKeys.ensure(key('b'))]);
  const listed = await catalog.signingKeys.list();
  assert.equal(listed.length, 1);
  assert.deepEqual(await other.signingKeys.list(), listed);
});

test('a new signing key is listed first; earlier ones stay until they are forgotten', async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  const other = await open(context, file);
  await catalog.signingKeys.ensure(key('a'));
  await other.signingKeys.list();
  await catalog.signingKeys.rotate(key('b'));
  assert.deepEqual(
    (await other.signingKeys.list()).map(({ id }) => id),
    ['b', 'a'],
  );
  await other.signingKeys.rotate(key('c'), { forgetEarlier: true });
  assert.deepEqual(
    (await catalog.signingKeys.list()).map(({ id }) => id),
    ['c'],
  );
});
