import { defined } from '../../../src/client/api-client.ts';
import type { CreateWebhookBody, WebhookShape } from '../../../src/wire/history/webhooks.ts';
import { readPath } from '../parts/forms/typed-names.ts';

/** What people enter about a webhook. */
export interface WebhookForm {
  readonly url: string;
  readonly selects: 'database' | 'namespace' | 'table';
  /** Names joined by slashes, which no name contains. */
  readonly path: string;
  /** Separated by commas or spaces; empty for all. */
  readonly operations: string;
}

export const NEW_WEBHOOK: WebhookForm = { url: '', selects: 'database', path: '', operations: '' };

export function toForm({ url, table, namespace, operations = [] }: WebhookShape): WebhookForm {
  return {
    url,
    selects: table !== undefined ? 'table' : namespace !== undefined ? 'namespace' : 'database',
    path: (table ?? namespace ?? []).join('/'),
    operations: operations.join(', '),
  };
}

export function isComplete({ url, selects, path }: WebhookForm): boolean {
  return url.trim() !== '' && (selects === 'database' || readPath(path).length > 0);
}

export function toNewWebhook(form: WebhookForm): CreateWebhookBody {
  const operations = operationsOf(form);
  return {
    url: form.url.trim(),
    ...pathOf(form),
    ...defined({ operations: operations.length > 0 ? operations : undefined }),
  };
}

/** An empty namespace means the whole database, and no operations mean all. */
export function toChanges(form: WebhookForm, { table, namespace }: WebhookShape): CreateWebhookBody {
  const path = form.selects === 'database' ? { namespace: [] } : pathOf(form, table ?? namespace);
  return { url: form.url.trim(), ...path, operations: operationsOf(form) };
}

function pathOf(
  { selects, path }: WebhookForm,
  given?: readonly string[],
): Pick<CreateWebhookBody, 'table' | 'namespace'> {
  if (selects === 'database') return {};
  const names = readPath(path, given);
  return selects === 'table' ? { table: names } : { namespace: names };
}

function operationsOf({ operations }: WebhookForm): string[] {
  return operations.split(/[\s,]+/).filter((name) => name !== '');
}
