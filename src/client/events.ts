import type { NamespacePath } from '../model/identifier.ts';
import type { CommitEvent } from '../wire/history/events.ts';
import type {
  CreateWebhookBody,
  DescribeWebhookReply,
  ListWebhooksReply,
  TestWebhookReply,
  UpdateWebhookBody,
  WebhookShape,
} from '../wire/history/webhooks.ts';
import type { ApiClient } from './api-client.ts';
import { readItems } from './calls.ts';

/** Events that arrived together, and the cursor after the last of them. */
export interface EventsPage {
  readonly events: readonly CommitEvent[];
  readonly cursor: string | undefined;
}

interface FollowOptions {
  /** Only events of this table or namespace, and of everything below it. */
  readonly below: NamespacePath;
  /** Only events after it; only new ones if absent. */
  readonly cursor?: string | undefined;
  readonly signal: AbortSignal;
}

/** Commits as they happen, until the connection ends. */
export async function* followEvents(
  client: ApiClient,
  { below, cursor: start, signal }: FollowOptions,
): AsyncGenerator<EventsPage> {
  const query = { cursor: start, namespace: below.length === 0 ? undefined : below.join('/'), delimiter: '/' };
  const response = await client.open('/v1/events', { query, accept: 'text/event-stream', signal });
  const decoder = new TextDecoder();
  let text = '';
  let cursor = start;
  for await (const piece of client.bytes(response)) {
    text += decoder.decode(piece, { stream: true });
    const messages = text.split('\n\n').map((message) => message.split('\n'));
    text = messages.pop()?.join('\n') ?? '';
    cursor = messages.flatMap((lines) => fieldOf(lines, 'id') ?? []).at(-1) ?? cursor;
    const commits = messages.filter((lines) => fieldOf(lines, 'event') === 'commit');
    yield { events: commits.map((lines) => JSON.parse(fieldOf(lines, 'data') ?? '')), cursor };
  }
}

function fieldOf(lines: readonly string[], name: string): string | undefined {
  return lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
}

const at = (action: string): string => `/v1/webhook/${action}`;

export async function createWebhook(
  client: ApiClient,
  body: CreateWebhookBody,
): Promise<WebhookShape & { readonly secret: string }> {
  return client.json(at('create'), { json: body });
}

export function listWebhooks(client: ApiClient) {
  return readItems(client, at('list'), ({ webhooks }: ListWebhooksReply) => webhooks, {});
}

export async function describeWebhook(client: ApiClient, id: string): Promise<DescribeWebhookReply> {
  return client.json(at('describe'), { json: { webhook_id: id } });
}

export async function resumeWebhook(client: ApiClient, id: string): Promise<DescribeWebhookReply> {
  return client.json(at('resume'), { json: { webhook_id: id } });
}

export async function updateWebhook(client: ApiClient, body: UpdateWebhookBody): Promise<DescribeWebhookReply> {
  return client.json(at('update'), { json: body });
}

export async function disableWebhook(client: ApiClient, id: string): Promise<DescribeWebhookReply> {
  return client.json(at('disable'), { json: { webhook_id: id } });
}

export async function testWebhook(client: ApiClient, id: string): Promise<TestWebhookReply> {
  return client.json(at('test'), { json: { webhook_id: id } });
}

export async function deleteWebhook(client: ApiClient, id: string): Promise<{ readonly webhook_id: string }> {
  return client.json(at('delete'), { json: { webhook_id: id } });
}
