import { Type } from 'typebox';
import {
  CreateCredentialBody,
  CreateKeyReply,
  ListKeysReply,
  PageBody,
  RevokeKeyBody,
  RevokeReply,
} from '../../wire/access.ts';
import { defineServerOperation } from '../operation.ts';
import { createCredential, listCredentials, revokeCredential } from './credentials.ts';

export const createKey = defineServerOperation({
  id: 'create_key',
  methods: ['POST'],
  path: '/v1/access/key/create',
  summary: 'Make an API key; it is shown once',
  permission: 'administer',
  body: { kind: 'json', shape: CreateCredentialBody },
  query: Type.Object({}),
  replies: [{ mediaType: 'application/json', shape: CreateKeyReply, description: 'The key, for the only time.' }],
  statuses: [],
  async run({ body, caller }, services) {
    const { key, digest } = services.secrets.makeKey();
    const { shown } = await createCredential(services.catalog.keys, 'key', { body, digest, caller }, services);
    return { kind: 'object', body: { ...shown, key } };
  },
});

export const listKeys = defineServerOperation({
  id: 'list_keys',
  methods: ['POST'],
  path: '/v1/access/key/list',
  summary: 'List the API keys for what the caller administers',
  permission: 'administer',
  body: { kind: 'json', shape: PageBody },
  query: Type.Object({}),
  replies: [{ mediaType: 'application/json', shape: ListKeysReply, description: 'Oldest first, never a key itself.' }],
  statuses: [],
  async run({ body, caller }, services) {
    const { shown: keys, ...page } = await listCredentials(services.catalog.keys, 'key', { body, caller }, services);
    return { kind: 'object', body: { keys, ...page } };
  },
});

export const revokeKey = defineServerOperation({
  id: 'revoke_key',
  methods: ['POST'],
  path: '/v1/access/key/revoke',
  summary: 'Revoke an API key, at once',
  permission: 'administer',
  body: { kind: 'json', shape: RevokeKeyBody },
  query: Type.Object({}),
  replies: [{ mediaType: 'application/json', shape: RevokeReply, description: 'The key is valid no more.' }],
  statuses: [409],
  async run({ body, caller }, services) {
    const id = body.key_id;
    await revokeCredential(services.catalog.keys, 'key', { id, caller }, services);
    return { kind: 'object', body: { id } };
  },
});
