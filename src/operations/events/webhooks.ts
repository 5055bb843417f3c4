import { randomBytes } from 'node:crypto';
import type { WebhookRecord, WebhookScope } from '../../catalog/catalog.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { isPermitted } from '../../model/access.ts';
import { belowPrefix, checkNames, isWithin, toTablePath } from '../../model/identifier.ts';
import type { NamespacePath } from '../../model/identifier.ts';
import { namespaceNotFound, notPermitted, tableNotFound } from '../../model/refusals.ts';
import {
  CreateWebhookBody,
  CreateWebhookReply,
  DeletedWebhookReply,
  DescribeWebhookReply,
  ListWebhooksBody,
  ListWebhooksReply,
  TestWebhookReply,
  UpdateWebhookBody,
  WebhookBody,
} from '../../wire/history/webhooks.ts';
import { defineDatabaseOperation, json, objectReply, toShownPath } from '../operation.ts';
import type { DatabaseRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { collectPages, cutPage, readIdToken, readPageSize } from '../shared/pages.ts';
import { readEventId, requireOperation } from './event-filter.ts';

const SECRET_BYTES = 32;
const OPERATIONS_MAX = 100;
const BACKLOG_MAX = 10_000;

export const createWebhook = defineDatabaseOperation({
  id: 'create_webhook',
  path: '/v1/webhook/create',
  summary: 'Create a webhook, which sends signed commit events to a URL in order; the secret is shown once',
  permission: 'manage',
  authorizesTables: true,
  body: { kind: 'json', shape: CreateWebhookBody },
  replies: [json(CreateWebhookReply, 'The webhook, with its secret.')],
  async run(request, { catalog, commitFeed, webhookSender, limits }) {
    const { body, database, caller } = request;
    const scope = readScope(request);
    requireManaged(request, scope);
    const url = webhookSender.checkUrl(body.url);
    await requireTarget(request, scope, catalog);
    const hint = 'Give the id of the last event that the receiver has.';
    const cursor = readEventId(body.cursor, hint) ?? (await commitFeed.newest());
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64url')}`;
    const webhook = { databaseId: database.id, url, scope, secret, createdBy: caller.id, cursor };
    const created = await catalog.webhooks.create(webhook, limits.webhooks.perDatabaseMax);
    return objectReply<typeof CreateWebhookReply>({ ...toShape(request, created), secret });
  },
});

export const listWebhooks = defineDatabaseOperation({
  id: 'list_webhooks',
  path: '/v1/webhook/list',
  summary: 'List the webhooks of objects that the caller manages, with their delivery state',
  permission: 'see',
  body: { kind: 'json', shape: ListWebhooksBody },
  replies: [json(ListWebhooksReply, 'Webhooks, oldest first, without their secrets.')],
  async run(request, services) {
    const { body, database } = request;
    const limit = readPageSize(body.limit, services);
    const first = readIdToken(body.page_token);
    const read = async (last: WebhookRecord | undefined, count: number) =>
      services.catalog.webhooks.list({ databaseId: database.id, after: last?.id ?? first, limit: count });
    const found = await collectPages(limit + 1, read, (webhook) => isManaged(request, webhook));
    const { entries, page_token } = cutPage(found, limit, ({ id }) => id);
    return objectReply<typeof ListWebhooksReply>({
      webhooks: entries.map((webhook) => toShape(request, webhook)),
      page_token,
    });
  },
});

export const describeWebhook = defineDatabaseOperation({
  id: 'describe_webhook',
  path: '/v1/webhook/describe',
  summary: 'Describe a webhook: its last delivery, its failures and its backlog',
  permission: 'manage',
  authorizesTables: true,
  body: { kind: 'json', shape: WebhookBody },
  replies: [json(DescribeWebhookReply, 'The webhook.')],
  run: async (request, services) => describe(request, services),
});

export const resumeWebhook = defineDatabaseOperation({
  id: 'resume_webhook',
  path: '/v1/webhook/resume',
  summary: 'Resume a failing or disabled webhook immediately, from where it stopped',
  permission: 'manage',
  authorizesTables: true,
  body: { kind: 'json', shape: WebhookBody },
  replies: [json(DescribeWebhookReply, 'The webhook.')],
  async run(request, services) {
    const { id, createdBy, scope } = await requireWebhook(request, services);
    const owner = await findOwner(request, { createdBy, scope }, services);
    await services.catalog.webhooks.resume({ id, createdBy: owner });
    return describe(request, services);
  },
});

export const updateWebhook = defineDatabaseOperation({
  id: 'update_webhook',
  path: '/v1/webhook/update',
  summary: 'Change the URL of a webhook or the commits that it selects; its secret stays the same',
  permission: 'manage',
  authorizesTables: true,
  body: { kind: 'json', shape: UpdateWebhookBody },
  replies: [json(DescribeWebhookReply, 'The webhook.')],
  async run(request, services) {
    const { body } = request;
    const webhook = await requireWebhook(request, services);
    const scope = changeScope(request, webhook.scope);
    requireManaged(request, scope);
    const url = body.url === undefined ? webhook.url : services.webhookSender.checkUrl(body.url);
    if (body.table !== undefined || body.namespace !== undefined) await requireTarget(request, scope, services.catalog);
    const createdBy = await findOwner(request, { createdBy: webhook.createdBy, scope }, services);
    await services.catalog.webhooks.update(webhook.id, { url, scope, createdBy });
    return describe(request, services);
  },
});

export const disableWebhook = defineDatabaseOperation({
  id: 'disable_webhook',
  path: '/v1/webhook/disable',
  summary: 'Stop the deliveries of a webhook until it is resumed; no event is lost',
  permission: 'manage',
  authorizesTables: true,
  body: { kind: 'json', shape: WebhookBody },
  replies: [json(DescribeWebhookReply, 'The webhook.')],
  async run(request, services) {
    const { id } = await requireWebhook(request, services);
    await services.catalog.webhooks.disable(id);
    return describe(request, services);
  },
});

export const testWebhook = defineDatabaseOperation({
  id: 'test_webhook',
  path: '/v1/webhook/test',
  summary: 'Send a test delivery without events to a webhook, and show the reply of its receiver',
  permission: 'manage',
  authorizesTables: true,
  body: { kind: 'json', shape: WebhookBody },
  replies: [json(TestWebhookReply, 'The result of the test delivery.')],
  async run(request, services) {
    const webhook = await requireWebhook(request, services);
    const { status, error } = await services.webhooks.test(webhook, request.database.name);
    return objectReply<typeof TestWebhookReply>({ delivered: error === undefined, status, error });
  },
});

export const deleteWebhook = defineDatabaseOperation({
  id: 'delete_webhook',
  path: '/v1/webhook/delete',
  summary: 'Delete a webhook; a delivery in progress may still arrive',
  permission: 'manage',
  authorizesTables: true,
  body: { kind: 'json', shape: WebhookBody },
  replies: [json(DeletedWebhookReply, 'The deleted webhook.')],
  async run(request, services) {
    const { id } = await requireWebhook(request, services);
    await services.catalog.webhooks.remove(id);
    return objectReply<typeof DeletedWebhookReply>({ webhook_id: id });
  },
});

type AskedScope = Pick<CreateWebhookBody, 'table' | 'namespace' | 'operations'>;

/** Omitted parts stay unchanged. */
function changeScope(request: DatabaseRequest<UpdateWebhookBody>, before: WebhookScope): WebhookScope {
  const { table, namespace, operations } = request.body;
  const given = readScope(request);
  const { operations: _replaced, ...path } = table === undefined && namespace === undefined ? before : given;
  const kinds = operations === undefined ? before.operations : given.operations;
  return kinds === undefined || kinds.length === 0 ? path : { ...path, operations: kinds };
}

function readScope({ body, prefix, delimiter }: DatabaseRequest<AskedScope>): WebhookScope {
  const { table, namespace, operations } = body;
  if (table !== undefined && namespace !== undefined) {
    throw invalidInput(
      'The request has both a table and a namespace.',
      'Give one of them, or neither for the whole database.',
    );
  }
  if ((operations?.length ?? 0) > OPERATIONS_MAX)
    throw invalidInput(`The request has more than ${OPERATIONS_MAX} operations.`);
  const below = [...prefix, ...checkNames(namespace ?? [], delimiter)];
  return {
    ...(table === undefined ? {} : { table: belowPrefix(prefix, toTablePath(table, delimiter)) }),
    ...(table !== undefined || below.length === 0 ? {} : { namespace: below }),
    ...(operations === undefined ? {} : { operations: operations.map(requireOperation) }),
  };
}

function pathOf({ table, namespace = [] }: WebhookScope): NamespacePath {
  return table ?? namespace;
}

function requireManaged({ caller, database }: DatabaseRequest, scope: WebhookScope): void {
  if (!isPermitted(caller, 'manage', database.name, pathOf(scope))) throw notPermitted('manage');
}

/** A misspelled name would never deliver anything. A webhook stays if its target is dropped later. */
async function requireTarget(
  request: DatabaseRequest,
  { table, namespace }: WebhookScope,
  catalog: Services['catalog'],
): Promise<void> {
  const { database, delimiter } = request;
  if (table !== undefined && (await catalog.tables.find(database.id, table)) === undefined) {
    throw tableNotFound(toShownPath(request, table), delimiter);
  }
  if (namespace !== undefined && (await catalog.namespaces.find(database.id, namespace)) === undefined) {
    throw namespaceNotFound(toShownPath(request, namespace), delimiter);
  }
}

function isManaged({ caller, database, prefix }: DatabaseRequest, { databaseId, scope }: WebhookRecord): boolean {
  const path = pathOf(scope);
  if (databaseId !== database.id || !isWithin(path, prefix)) return false;
  return isPermitted(caller, 'manage', database.name, path);
}

/** A webhook that the caller does not manage is refused as if it did not exist. */
async function requireWebhook(request: DatabaseRequest<WebhookBody>, { catalog }: Services): Promise<WebhookRecord> {
  const webhook = await catalog.webhooks.find(request.body.webhook_id);
  if (webhook !== undefined && isManaged(request, webhook)) return webhook;
  throw new ServiceError('WebhookNotFound', 'The webhook does not exist.', {
    hint: 'List the webhooks that you manage with list_webhooks.',
  });
}

/** The creator, or the caller if the creator may no longer manage the webhook's target. */
async function findOwner(
  { caller, database }: DatabaseRequest,
  webhook: Pick<WebhookRecord, 'createdBy' | 'scope'>,
  { webhooks }: Services,
): Promise<string> {
  return ((await webhooks.findCreator(webhook, database.name)) ?? caller).id;
}

async function describe(request: DatabaseRequest<WebhookBody>, services: Services) {
  const webhook = await requireWebhook(request, services);
  const backlog = await services.catalog.webhooks.backlog(webhook, BACKLOG_MAX);
  return objectReply<typeof DescribeWebhookReply>({ ...toShape(request, webhook), backlog });
}

function toShape(request: DatabaseRequest, webhook: WebhookRecord) {
  const { scope, state, failures } = webhook;
  return {
    webhook_id: webhook.id,
    url: webhook.url,
    table: scope.table && toShownPath(request, scope.table),
    namespace: scope.namespace && toShownPath(request, scope.namespace),
    operations: scope.operations && [...scope.operations],
    state: state === 'active' && failures > 0 ? 'failing' : state,
    created_by: webhook.createdBy,
    created_at: new Date(webhook.createdAt).toISOString(),
    cursor: webhook.cursor,
    delivered_events: webhook.deliveredEvents,
    last_delivery_at: toTime(webhook.deliveredAt),
    last_attempt_at: toTime(webhook.attemptedAt),
    last_status: webhook.lastStatus ?? undefined,
    last_error: webhook.lastError ?? undefined,
    failures,
    failing_since: toTime(webhook.failingSince),
    next_attempt_at: state === 'active' && failures > 0 ? toTime(webhook.nextAttemptAt) : undefined,
  };
}

function toTime(milliseconds: number | null): string | undefined {
  return milliseconds === null ? undefined : new Date(milliseconds).toISOString();
}
