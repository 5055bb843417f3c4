import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { collect } from '../../../src/client/calls.ts';
import { createWebhook, deleteWebhook, listWebhooks, updateWebhook } from '../../../src/client/events.ts';
import type { WebhookShape } from '../../../src/wire/history/webhooks.ts';
import { SecretDialog } from '../access/secret-dialog.tsx';
import { usePolling } from '../activity/use-activity.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Empty, Skeleton } from '../parts/states.tsx';
import { toast } from '../parts/toasts.tsx';
import { useLoad } from '../parts/use-load.ts';
import { WebhookDialog } from './webhook-dialog.tsx';
import { NEW_WEBHOOK, toChanges, toForm, toNewWebhook } from './webhook-form.ts';
import { WebhookTable } from './webhook-table.tsx';

type Open = { readonly kind: 'create' } | { readonly kind: 'edit' | 'delete'; readonly webhook: WebhookShape };

/** For owners: commits are sent to other programs. */
export function WebhooksTab(): JSX.Element {
  const client = useClient();
  const list = useLoad(async () => collect(listWebhooks(client)), [client]);
  const [open, setOpen] = useState<Open>();
  const [created, setCreated] = useState<{ readonly url: string; readonly secret: string }>();
  usePolling(list, open !== undefined);
  const close = (): void => setOpen(undefined);
  return (
    <section aria-label="Webhooks">
      <header class="section-head">
        <p class="muted">A webhook sends commits to a URL, signed and in order, and retries failed deliveries.</p>
        <span class="spring" />
        <Button kind="primary" icon="add" onClick={() => setOpen({ kind: 'create' })}>
          New webhook
        </Button>
      </header>
      <ErrorBox error={list.error} onRetry={list.reload} />
      {list.value === undefined && list.error === undefined ? <Skeleton /> : null}
      {list.value?.length === 0 ? (
        <Empty icon="out" title="No webhooks yet">
          <p>Create one to notify another program of every write to a table, a namespace or the database.</p>
        </Empty>
      ) : null}
      {list.value === undefined || list.value.length === 0 ? null : (
        <WebhookTable
          webhooks={list.value}
          onEdit={(webhook) => setOpen({ kind: 'edit', webhook })}
          onDelete={(webhook) => setOpen({ kind: 'delete', webhook })}
          onChanged={list.reload}
        />
      )}
      {open?.kind === 'create' ? (
        <WebhookDialog
          title="New webhook"
          action="Create"
          start={NEW_WEBHOOK}
          onSave={async (form) => {
            setCreated(await createWebhook(client, toNewWebhook(form)));
            list.reload();
          }}
          onClose={close}
        />
      ) : null}
      {created === undefined ? null : (
        <SecretDialog
          secret={{ name: 'the webhook', lines: [{ label: 'Secret', text: created.secret }] }}
          about={`The secret signs every delivery to ${created.url}. Copy it now: it is not shown again.`}
          onClose={() => setCreated(undefined)}
        />
      )}
      {open?.kind === 'edit' ? <EditDialog webhook={open.webhook} onSaved={list.reload} onClose={close} /> : null}
      {open?.kind === 'delete' ? <DeleteDialog webhook={open.webhook} onDeleted={list.reload} onClose={close} /> : null}
    </section>
  );
}

interface EditDialogProps {
  readonly webhook: WebhookShape;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

function EditDialog({ webhook, onSaved, onClose }: EditDialogProps): JSX.Element {
  const client = useClient();
  return (
    <WebhookDialog
      title="Edit the webhook"
      action="Save"
      start={toForm(webhook)}
      onSave={async (form) => {
        await updateWebhook(client, { webhook_id: webhook.webhook_id, ...toChanges(form, webhook) });
        toast('Saved. The secret is the same as before.');
        onSaved();
      }}
      onClose={onClose}
    />
  );
}

interface DeleteDialogProps {
  readonly webhook: WebhookShape;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}

function DeleteDialog({ webhook, onDeleted, onClose }: DeleteDialogProps): JSX.Element {
  const client = useClient();
  return (
    <ConfirmDialog
      title="Delete the webhook?"
      action="Delete"
      onConfirm={async () => {
        await deleteWebhook(client, webhook.webhook_id);
        toast('Deleted the webhook.');
        onDeleted();
      }}
      onClose={onClose}
    >
      <p>
        Nothing more is sent to <code>{webhook.url}</code>. You cannot undo this; a new webhook has another secret.
      </p>
    </ConfirmDialog>
  );
}
