import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

const scopeFields = {
  table: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Path of a table: only its commits are delivered. Cannot be combined with `namespace`.',
    }),
  ),
  namespace: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Path of a namespace: only commits in it and in namespaces below it are delivered.',
    }),
  ),
  operations: Type.Optional(
    Type.Array(Type.String(), { description: 'Kinds of writes, such as `insert_into_table`; all by default.' }),
  ),
};

export const CreateWebhookBody = Shape.requestBodyWithoutId({
  url: Type.String({ minLength: 1, description: 'URL to which events are sent by POST.' }),
  ...scopeFields,
  cursor: Shape.optionalText('Id of the last event that the receiver has; only new events by default.'),
});
export type CreateWebhookBody = Type.Static<typeof CreateWebhookBody>;

export const WebhookBody = Shape.requestBodyWithoutId({ webhook_id: Type.String({ minLength: 1 }) });
export type WebhookBody = Type.Static<typeof WebhookBody>;

export const UpdateWebhookBody = Shape.requestBodyWithoutId({
  webhook_id: Type.String({ minLength: 1 }),
  url: Type.Optional(Type.String({ minLength: 1, description: 'URL to which later events are sent.' })),
  table: scopeFields.table,
  namespace: Type.Optional(
    Type.Array(Type.String(), { description: 'Path of a namespace; an empty path selects the whole database.' }),
  ),
  operations: Type.Optional(
    Type.Array(Type.String(), { description: 'Kinds of writes; an empty list selects all kinds.' }),
  ),
});
export type UpdateWebhookBody = Type.Static<typeof UpdateWebhookBody>;

export const ListWebhooksBody = Shape.requestBodyWithoutId(Shape.pageFields);

export const WebhookShape = Type.Object({
  webhook_id: Type.String(),
  url: Type.String(),
  ...scopeFields,
  state: Type.String({
    description:
      '`active`, `failing` (deliveries are retried), or `disabled` (by a caller, because it failed for too long, or because its creator may no longer manage its target).',
  }),
  created_by: Type.String({
    description: 'Principal that must be able to manage the target: the creator, or the caller who took it over.',
  }),
  created_at: Type.String({ description: 'RFC 3339, UTC.' }),
  cursor: Type.String({
    description: 'Id of the last event that was delivered, or skipped because the webhook does not select it.',
  }),
  delivered_events: Shape.count('Number of events delivered so far.'),
  last_delivery_at: Shape.optionalText('Time of the last successful delivery.'),
  last_attempt_at: Shape.optionalText(),
  last_status: Shape.optionalCount('HTTP status of the last reply from the receiver.'),
  last_error: Shape.optionalText('Why the last attempt failed, or was not made.'),
  failures: Shape.count('Failed attempts since the last success.'),
  failing_since: Shape.optionalText(),
  next_attempt_at: Shape.optionalText('When a failed delivery is retried.'),
});
export type WebhookShape = Type.Static<typeof WebhookShape>;

export const CreateWebhookReply = Shape.replyBody({
  ...WebhookShape.properties,
  secret: Type.String({ description: 'Secret that signs every delivery. It is shown only once.' }),
});

export const DescribeWebhookReply = Shape.replyBody({
  ...WebhookShape.properties,
  backlog: Shape.count('Number of commits in the database after the cursor, counted up to 10,000.'),
});
export type DescribeWebhookReply = Type.Static<typeof DescribeWebhookReply>;

export const ListWebhooksReply = Shape.replyBody({
  webhooks: Type.Array(WebhookShape),
  page_token: Shape.NextPageToken,
});
export type ListWebhooksReply = Type.Static<typeof ListWebhooksReply>;

export const DeletedWebhookReply = Shape.replyBody({ webhook_id: Type.String() });

export const TestWebhookReply = Shape.replyBody({
  delivered: Type.Boolean(),
  status: Shape.optionalCount('HTTP status that the receiver returned.'),
  error: Shape.optionalText('Why the delivery counts as failed.'),
});
export type TestWebhookReply = Type.Static<typeof TestWebhookReply>;
