import { Type } from 'typebox';
import {
  CreateClientReply,
  CreateCredentialBody,
  ListClientsReply,
  PageBody,
  RevokeClientBody,
  RevokeReply,
} from '../../wire/access.ts';
import { defineServerOperation } from '../operation.ts';
import { createCredential, listCredentials, revokeCredential } from './credentials.ts';

export const createClient = defineServerOperation({
  id: 'create_client',
  methods: ['POST'],
  path: '/v1/access/client/create',
  summary: 'Make a client of the token endpoint; its secret is shown once',
  permission: 'administer',
  body: { kind: 'json', shape: CreateCredentialBody },
  query: Type.Object({}),
  replies: [{ mediaType: 'application/json', shape: CreateClientReply, description: 'The secret, for the only time.' }],
  statuses: [],
  async run({ body, caller }, services) {
    const { secret, digest } = services.secrets.generateClientSecret();
    const { shown } = await createCredential(services.catalog.clients, 'client', { body, digest, caller }, services);
    const issuer = services.issuerUrl === undefined ? {} : { issuer_url: services.issuerUrl };
    return { kind: 'object', body: { ...shown, client_id: shown.id, client_secret: secret, ...issuer } };
  },
});

export const listClients = defineServerOperation({
  id: 'list_clients',
  methods: ['POST'],
  path: '/v1/access/client/list',
  summary: 'List the clients of the token endpoint for what the caller administers',
  permission: 'administer',
  body: { kind: 'json', shape: PageBody },
  query: Type.Object({}),
  replies: [{ mediaType: 'application/json', shape: ListClientsReply, description: 'Oldest first, never a secret.' }],
  statuses: [],
  async run({ body, caller }, services) {
    const { shown, ...page } = await listCredentials(services.catalog.clients, 'client', { body, caller }, services);
    return { kind: 'object', body: { clients: shown, ...page } };
  },
});

export const revokeClient = defineServerOperation({
  id: 'revoke_client',
  methods: ['POST'],
  path: '/v1/access/client/revoke',
  summary: 'Revoke a client and all its tokens, at once',
  permission: 'administer',
  body: { kind: 'json', shape: RevokeClientBody },
  query: Type.Object({}),
  replies: [{ mediaType: 'application/json', shape: RevokeReply, description: 'The client is valid no more.' }],
  statuses: [],
  async run({ body, caller }, services) {
    const id = body.client_id;
    await revokeCredential(services.catalog.clients, 'client', { id, caller }, services);
    return { kind: 'object', body: { id } };
  },
});
