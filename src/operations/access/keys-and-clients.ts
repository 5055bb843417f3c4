import {
  CreateCredentialBody,
  CreateKeyReply,
  ListKeysReply,
  PageBody,
  RevokeKeyBody,
  RevokeReply,
  CreateClientReply,
  ListClientsReply,
  RevokeClientBody,
} from '../../wire/access.ts';
import { defineServerOperation, json } from '../operation.ts';
import { createCredential, listCredentials, revokeCredential } from './credentials.ts';

export const createKey = defineServerOperation({
  id: 'create_key',
  path: '/v1/access/key/create',
  summary: 'Make an API key; it is shown once',
  permission: 'administer',
  body: { kind: 'json', shape: CreateCredentialBody },
  replies: [json(CreateKeyReply, 'The key, for the only time.')],
  async run({ body, caller }, services) {
    const { key, digest } = services.secrets.makeKey();
    const { shown } = await createCredential(services.catalog.keys, 'key', { body, digest, caller }, services);
    return { kind: 'object', body: { ...shown, key } };
  },
});

export const listKeys = defineServerOperation({
  id: 'list_keys',
  path: '/v1/access/key/list',
  summary: 'List the API keys for what the caller administers',
  permission: 'administer',
  body: { kind: 'json', shape: PageBody },
  replies: [json(ListKeysReply, 'Oldest first, never a key itself.')],
  async run({ body, caller }, services) {
    const { shown: keys, ...page } = await listCredentials(services.catalog.keys, 'key', { body, caller }, services);
    return { kind: 'object', body: { keys, ...page } };
  },
});

export const revokeKey = defineServerOperation({
  id: 'revoke_key',
  path: '/v1/access/key/revoke',
  summary: 'Revoke an API key, at once',
  permission: 'administer',
  body: { kind: 'json', shape: RevokeKeyBody },
  replies: [json(RevokeReply, 'The key is valid no more.')],
  statuses: [409],
  async run({ body, caller }, services) {
    const id = body.key_id;
    await revokeCredential(services.catalog.keys, 'key', { id, caller }, services);
    return { kind: 'object', body: { id } };
  },
});

export const createClient = defineServerOperation({
  id: 'create_client',
  path: '/v1/access/client/create',
  summary: 'Make a client of the token endpoint; its secret is shown once',
  permission: 'administer',
  body: { kind: 'json', shape: CreateCredentialBody },
  replies: [json(CreateClientReply, 'The secret, for the only time.')],
  async run({ body, caller }, services) {
    const { secret, digest } = services.secrets.generateClientSecret();
    const { shown } = await createCredential(services.catalog.clients, 'client', { body, digest, caller }, services);
    const issuer = services.issuerUrl === undefined ? {} : { issuer_url: services.issuerUrl };
    return { kind: 'object', body: { ...shown, client_id: shown.id, client_secret: secret, ...issuer } };
  },
});

export const listClients = defineServerOperation({
  id: 'list_clients',
  path: '/v1/access/client/list',
  summary: 'List the clients of the token endpoint for what the caller administers',
  permission: 'administer',
  body: { kind: 'json', shape: PageBody },
  replies: [json(ListClientsReply, 'Oldest first, never a secret.')],
  async run({ body, caller }, services) {
    const { shown, ...page } = await listCredentials(services.catalog.clients, 'client', { body, caller }, services);
    return { kind: 'object', body: { clients: shown, ...page } };
  },
});

export const revokeClient = defineServerOperation({
  id: 'revoke_client',
  path: '/v1/access/client/revoke',
  summary: 'Revoke a client and all its tokens, at once',
  permission: 'administer',
  body: { kind: 'json', shape: RevokeClientBody },
  replies: [json(RevokeReply, 'The client is valid no more.')],
  async run({ body, caller }, services) {
    const id = body.client_id;
    await revokeCredential(services.catalog.clients, 'client', { id, caller }, services);
    return { kind: 'object', body: { id } };
  },
});
