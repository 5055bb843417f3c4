import type { Catalog } from '../../catalog/catalog.ts';
import {
  ListSigningKeysBody,
  ListSigningKeysReply,
  RotateSigningKeyBody,
  RotateSigningKeyReply,
} from '../../wire/access.ts';
import type { SigningKey } from '../../wire/access.ts';
import { defineServerOperation, json, objectReply } from '../operation.ts';
import { reportChange, requireServerAdministrator } from './access-rules.ts';

export const rotateSigningKey = defineServerOperation({
  id: 'rotate_signing_key',
  path: '/v1/access/signing_key/rotate',
  summary: 'Rotate the signing key: sign access tokens with a new key from now on',
  permission: 'administer',
  body: { kind: 'json', shape: RotateSigningKeyBody },
  replies: [json(RotateSigningKeyReply, 'Id and state of the new key, without the key itself.')],
  async run(request, services) {
    requireServerAdministrator(request.caller);
    const key = await services.generateSigningKey();
    await services.catalog.signingKeys.rotate(key, { forgetEarlier: request.body.forget_earlier === true });
    reportChange(request, `signing-key:${key.id}`, services);
    return objectReply<typeof RotateSigningKeyReply>({
      id: key.id,
      state: 'signs',
      created_at: new Date(services.now()).toISOString(),
    });
  },
});

export const listSigningKeys = defineServerOperation({
  id: 'list_signing_keys',
  path: '/v1/access/signing_key/list',
  summary: 'List the keys that sign access tokens',
  permission: 'administer',
  body: { kind: 'json', shape: ListSigningKeysBody },
  replies: [
    json(
      ListSigningKeysReply,
      'Signing keys, newest first, without the keys themselves. The first one signs new tokens.',
    ),
  ],
  async run({ caller }, { catalog }) {
    requireServerAdministrator(caller);
    const keys = await catalog.signingKeys.list();
    return objectReply<typeof ListSigningKeysReply>({ keys: keys.map(toShape) });
  },
});

function toShape({ id, createdAt, retiredAt }: Listed): SigningKey {
  const state = retiredAt === undefined ? 'signs' : 'retired';
  return { id, state, created_at: new Date(createdAt).toISOString() };
}

type Listed = Awaited<ReturnType<Catalog['signingKeys']['list']>>[number];
