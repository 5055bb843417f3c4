import { defined } from '../../client/api-client.ts';
import { collect } from '../../client/calls.ts';
import type { ClientError } from '../../client/client-error.ts';
import {
  createWebhook,
  deleteWebhook,
  describeWebhook,
  disableWebhook,
  listWebhooks,
  resumeWebhook,
  testWebhook,
  updateWebhook,
} from '../../client/events.ts';
import { ERROR_KINDS } from '../../errors/service-error.ts';
import { formatCount } from '../../plans/format-figure.ts';
import type { DescribeWebhookReply, WebhookShape } from '../../wire/history/webhooks.ts';
import { defineClientCommand } from '../client-command.ts';
import { EXIT } from '../command.ts';
import type { Command } from '../command.ts';
import type { Given } from '../options.ts';
import { parsePath, showPath } from '../session.ts';
import type { Session } from '../session.ts';
import { drawPairs, drawTable } from '../show/draw-table.ts';
import type { Pair } from '../show/draw-table.ts';

export const webhookCommands: readonly Command[] = [
  defineClientCommand({
    words: ['webhook', 'create'],
    names: 'URL',
    summary: 'send commits to a URL; the secret is shown once',
    options: [
      { name: 'table', value: 'TABLE', help: 'send only commits of this table' },
      { name: 'namespace', value: 'NAMESPACE', help: 'send only commits in this namespace and below it' },
      {
        name: 'operation',
        value: 'NAME',
        repeats: true,
        help: 'send only this kind of write, such as insert_into_table; may be repeated',
      },
      { name: 'cursor', value: 'ID', help: 'start after this event (default: new events only)' },
    ],
    examples: ['webhook create https://example.com/hooks --table orders'],
    async run({ client, given, canvas }) {
      const operations = given.values('operation');
      const reply = await createWebhook(client, {
        url: given.names[0] ?? '',
        ...defined({
          table: readPath(given, 'table'),
          namespace: readPath(given, 'namespace'),
          operations: operations.length === 0 ? undefined : [...operations],
          cursor: given.value('cursor'),
        }),
      });
      const pairs: readonly Pair[] = [...toPairs(reply), ['secret', reply.secret]];
      return { reply, text: `${drawPairs(pairs, canvas)}Store the secret now: it is not shown again.\n` };
    },
  }),
  defineClientCommand({
    words: ['webhook', 'list'],
    names: '',
    summary: 'list webhooks and the state of their deliveries',
    examples: ['webhook list', 'webhook list --json'],
    async run({ client, canvas }) {
      const webhooks = await collect(listWebhooks(client));
      const lines = webhooks.map((each) => [each.webhook_id, scopeOf(each), each.state, each.url]);
      const text = drawTable(['webhook', 'commits of', 'state', 'url'], lines, canvas);
      return { reply: { webhooks }, text, none: 'There are no webhooks.' };
    },
  }),
  defineClientCommand({
    words: ['webhook', 'describe'],
    names: 'WEBHOOK',
    advice: adviseOnWebhook,
    summary: 'show the last delivery, failures and backlog of a webhook',
    examples: ['webhook describe 01jz3v0c6q8h2m5n7p9r1t3w5y'],
    run: async (session) => shown(session, await describeWebhook(session.client, idOf(session))),
  }),
  defineClientCommand({
    words: ['webhook', 'update'],
    names: 'WEBHOOK',
    advice: adviseOnWebhook,
    summary: 'change the URL of a webhook, or which commits it selects',
    about:
      'Changes the URL of a webhook, or which commits it selects. What you do not name stays the same, and so does the secret.',
    options: [
      { name: 'url', value: 'URL', help: 'send later events to this address' },
      { name: 'table', value: 'TABLE', help: 'send only commits of this table' },
      {
        name: 'namespace',
        value: 'NAMESPACE',
        help: 'send only commits in this namespace and below it; / for all tables',
      },
      { name: 'operation', value: 'NAME', repeats: true, help: 'send only this kind of write; may be repeated' },
      { name: 'all-operations', help: 'send all kinds of writes' },
    ],
    examples: ['webhook update 01jz3v0c6q8h2m5n7p9r1t3w5y --url https://example.com/other'],
    async run(session) {
      const { client, given } = session;
      const operations = [...given.values('operation')];
      const reply = await updateWebhook(client, {
        webhook_id: idOf(session),
        ...defined({
          url: given.value('url'),
          table: readPath(given, 'table'),
          namespace: readPath(given, 'namespace'),
          operations: operations.length === 0 && !given.has('all-operations') ? undefined : operations,
        }),
      });
      return shown(session, reply);
    },
  }),
  defineClientCommand({
    words: ['webhook', 'disable'],
    names: 'WEBHOOK',
    advice: adviseOnWebhook,
    summary: 'stop the deliveries of a webhook until it is resumed',
    examples: ['webhook disable 01jz3v0c6q8h2m5n7p9r1t3w5y'],
    run: async (session) => shown(session, await disableWebhook(session.client, idOf(session))),
  }),
  defineClientCommand({
    words: ['webhook', 'test'],
    names: 'WEBHOOK',
    advice: adviseOnWebhook,
    summary: 'send a test delivery without events',
    examples: ['webhook test 01jz3v0c6q8h2m5n7p9r1t3w5y'],
    async run(session) {
      const reply = await testWebhook(session.client, idOf(session));
      const text = reply.delivered
        ? `The receiver responded with status ${reply.status}.\n`
        : `Not delivered. ${reply.error}\n`;
      return { reply, text, ...(reply.delivered ? {} : { code: EXIT.failed }) };
    },
  }),
  defineClientCommand({
    words: ['webhook', 'resume'],
    names: 'WEBHOOK',
    advice: adviseOnWebhook,
    summary: 'deliver again from where a failing or disabled webhook stopped',
    examples: ['webhook resume 01jz3v0c6q8h2m5n7p9r1t3w5y'],
    run: async (session) => shown(session, await resumeWebhook(session.client, idOf(session))),
  }),
  defineClientCommand({
    words: ['webhook', 'delete'],
    names: 'WEBHOOK',
    advice: adviseOnWebhook,
    summary: 'delete a webhook',
    examples: ['webhook delete 01jz3v0c6q8h2m5n7p9r1t3w5y'],
    async run(session) {
      const reply = await deleteWebhook(session.client, idOf(session));
      return { reply, text: `Deleted the webhook ${reply.webhook_id}.\n` };
    },
  }),
];

function adviseOnWebhook({ status, code }: ClientError): string | undefined {
  const isMissing = status === 404 && code === ERROR_KINDS.WebhookNotFound.code;
  return isMissing ? 'Run "tiltyard webhook list" to list the webhooks.' : undefined;
}

function idOf({ given }: Session): string {
  return given.names[0] ?? '';
}

function readPath(given: Given, option: string): string[] | undefined {
  const text = given.value(option);
  return text === undefined ? undefined : [...parsePath(text)];
}

function scopeOf({ table, namespace, operations }: WebhookShape): string {
  const path = table ?? namespace;
  const what = path === undefined ? 'all tables' : showPath(path);
  return operations === undefined ? what : `${what}: ${operations.join(', ')}`;
}

function shown({ canvas }: Session, reply: DescribeWebhookReply) {
  const pairs: readonly Pair[] = [...toPairs(reply), ['backlog', formatCount(reply.backlog)]];
  return { reply, text: drawPairs(pairs, canvas) };
}

function toPairs(webhook: WebhookShape): readonly Pair[] {
  const { failures, last_error: error } = webhook;
  const optional: readonly (readonly [string, string | undefined])[] = [
    ['last delivery', webhook.last_delivery_at],
    ['last error', error],
    ['failing since', webhook.failing_since],
    ['next attempt', webhook.next_attempt_at],
  ];
  return [
    ['webhook', webhook.webhook_id],
    ['url', webhook.url],
    ['commits of', scopeOf(webhook)],
    ['state', webhook.state],
    ['delivered events', formatCount(webhook.delivered_events)],
    ...(failures === 0 ? [] : [['failures', formatCount(failures)] as const]),
    ...optional.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  ];
}
