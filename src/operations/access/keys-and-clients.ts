import {
  CreateClientReply,
  CreateCredentialBody,
  CreateKeyReply,
  ListClientsReply,
  ListKeysReply,
  PageBody,
  RevokeClientBody,
  RevokeKeyBody,
  RevokeReply,
} from '../../wire/access.ts';
import { defineServerOperation, json, objectReply } from '../operation.ts';
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
    const credential = await createCredential('key', { body, digest, caller }, services);
    return objectReply<CreateKeyReply>({ ...credential, key });
  },
});

export const listKeys = defineServerOperation({
  id: 'list_keys',
  path: '/v1/access/key/list',
  summary: 'List the API keys for what the caller administers',
  permission: 'administer',
  body: { kind: 'json', shape: PageBody },
  replies: [json(ListKeysReply, 'Oldest first, never a key itself.')],
  async run(request, services) {
    const { credentials: keys, page_token } = await listCredentials('key', request, services);
    return objectReply<ListKeysReply>({ keys, page_token });
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
  async run({ body: { key_id: id }, caller }, services) {
    await revokeCredential('key', { id, caller }, services);
    return objectReply<RevokeReply>({ id });
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
    const credential = await createCredential('client', { body, digest, caller }, services);
    return objectReply<CreateClientReply>({
      ...credential,
      client_id: credential.id,
      client_secret: secret,
      issuer_url: services.issuerUrl,
    });
  },
});

export const listClients = defineServerOperation({
  id: 'list_clients',
  path: '/v1/access/client/list',
  summary: 'List the clients of the token endpoint for what the caller administers',
  permission: 'administer',
  body: { kind: 'json', shape: PageBody },
  replies: [json(ListClientsReply, 'Oldest first, never a secret.')],
  async run(request, services) {
    const { credentials: clients, page_token } = await listCredentials('client', request, services);
    return objectReply<ListClientsReply>({ clients, page_token });
  },
});

export const revokeClient = defineServerOperation({
  id: 'revoke_client',
  path: '/v1/access/client/revoke',
  summary: 'Revoke a client and all its tokens, at once',
  permission: 'administer',
  body: { kind: 'json', shape: RevokeClientBody },
  replies: [json(RevokeReply, 'The client is valid no more.')],
  async run({ body: { client_id: id }, caller }, services) {
    await revokeCredential('client', { id, caller }, services);
    return objectReply<RevokeReply>({ id });
  },
});
