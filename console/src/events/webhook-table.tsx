import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { disableWebhook, resumeWebhook, testWebhook } from '../../../src/client/events.ts';
import type { WebhookShape } from '../../../src/wire/history/webhooks.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { formatAgo, formatCountOf, formatMoment } from '../parts/format.ts';
import { Heads, hidden } from '../parts/grid/pager.tsx';
import { Badge } from '../parts/states.tsx';
import { toast, toastError } from '../parts/toasts.tsx';

interface WebhookTableProps {
  readonly webhooks: readonly WebhookShape[];
  readonly onEdit: (webhook: WebhookShape) => void;
  readonly onDelete: (webhook: WebhookShape) => void;
  readonly onChanged: () => void;
}

export function WebhookTable({ webhooks, onEdit, onDelete, onChanged }: WebhookTableProps): JSX.Element {
  return (
    <div class="scrolled" tabIndex={0} role="region" aria-label="List of webhooks">
      <table class="entries webhooks">
        <caption class="hidden">Webhooks</caption>
        <Heads heads={['URL', 'Commits of', 'State', 'Last delivery', hidden('Actions')]} />
        <tbody>
          {webhooks.map((webhook) => (
            <tr key={webhook.webhook_id}>
              <th scope="row">
                <code title={webhook.webhook_id}>{webhook.url}</code>
              </th>
              <td>
                {(webhook.table ?? webhook.namespace)?.join(' / ') ?? 'the whole database'}
                {webhook.operations === undefined ? null : (
                  <div class="muted">{webhook.operations.map((name) => name.replaceAll('_', ' ')).join(', ')}</div>
                )}
              </td>
              <td>
                <State webhook={webhook} />
              </td>
              <td>
                <LastDelivery webhook={webhook} />
              </td>
              <td class="right">
                <Actions
                  webhook={webhook}
                  onEdit={() => onEdit(webhook)}
                  onDelete={() => onDelete(webhook)}
                  onChanged={onChanged}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const STATES: Readonly<Record<string, 'good' | 'warn' | 'plain'>> = { active: 'good', failing: 'warn' };

function State({ webhook }: { readonly webhook: WebhookShape }): JSX.Element {
  const { state, failures, last_error: error, next_attempt_at: next } = webhook;
  return (
    <>
      <Badge kind={STATES[state] ?? 'plain'}>{state}</Badge>
      {failures === 0 ? null : (
        <div class="muted">
          {formatCountOf(failures, 'failed attempt')}. {error}
          {next === undefined ? '' : ` Next attempt at ${formatMoment(Date.parse(next))}.`}
        </div>
      )}
    </>
  );
}

function LastDelivery({ webhook }: { readonly webhook: WebhookShape }): JSX.Element {
  const { last_delivery_at: at, delivered_events: events } = webhook;
  if (at === undefined) return <span class="muted">none yet</span>;
  return (
    <>
      <time title={formatMoment(Date.parse(at))}>{formatAgo(Date.parse(at))}</time>
      <div class="muted">{formatCountOf(events, 'event')} so far</div>
    </>
  );
}

interface ActionsProps {
  readonly webhook: WebhookShape;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
  readonly onChanged: () => void;
}

function Actions({ webhook, onEdit, onDelete, onChanged }: ActionsProps): JSX.Element {
  const client = useClient();
  const { webhook_id: id, url, state } = webhook;
  const [isBusy, setIsBusy] = useState(false);
  const run = (work: () => Promise<void>): void => {
    setIsBusy(true);
    work()
      .catch(toastError)
      .finally(() => {
        setIsBusy(false);
        onChanged();
      });
  };
  const test = async (): Promise<void> => {
    const { delivered, status, error } = await testWebhook(client, id);
    if (delivered) toast(`The receiver responded with status ${status}.`);
    else toast(`The test was not delivered. ${error ?? ''}`, 'bad');
  };
  const resume = async (): Promise<void> => {
    await resumeWebhook(client, id);
    toast('Delivering again, from where it stopped.');
  };
  const disable = async (): Promise<void> => {
    await disableWebhook(client, id);
    toast('Disabled. Commits are kept until you resume it.');
  };
  return (
    <div class="actions">
      <Button isDisabled={isBusy} onClick={() => run(test)}>
        Test
      </Button>
      {state === 'active' ? null : (
        <Button icon="play" isDisabled={isBusy} onClick={() => run(resume)}>
          Resume
        </Button>
      )}
      {state === 'disabled' ? null : (
        <Button kind="quiet" icon="pause" label={`Disable ${url}`} isDisabled={isBusy} onClick={() => run(disable)} />
      )}
      <Button kind="quiet" icon="edit" label={`Edit ${url}`} onClick={onEdit} />
      <Button kind="quiet" icon="trash" label={`Delete ${url}`} onClick={onDelete} />
    </div>
  );
}
