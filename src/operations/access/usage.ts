import { ServiceError } from '../../errors/service-error.ts';
import { administersEverything, isPermitted, isVisible, limitsSize } from '../../model/access.ts';
import type { Caller } from '../../model/access.ts';
import { databaseNotFound, notPermitted } from '../../model/refusals.ts';
import { UsageBody, UsageReply } from '../../wire/access.ts';
import { defineServerOperation, json, objectReply } from '../operation.ts';
import { readSubject, toGivenQuota } from './quotas.ts';

/** Callers may see their own usage, owners that of their database, server administrators all. */
export const describeUsage = defineServerOperation({
  id: 'describe_usage',
  path: '/v1/access/usage',
  summary: 'Show usage and quotas of the caller, a database, a key or a client',
  permission: 'see',
  body: { kind: 'json', shape: UsageBody },
  replies: [json(UsageReply, 'Limits and usage.')],
  async run({ body, caller }, { catalog, sizeQuotas }) {
    const isOwn = body.database === undefined && (body.principal === undefined || body.principal === caller.id);
    if (!isOwn) requireInsight(caller, body.database);
    const { subject, databaseName } = isOwn ? { subject: caller.id } : await readSubject(body, catalog);
    const quota = await catalog.quotas.of(subject);
    const { unmeasured, bytes, rows, tables } = await sizeQuotas.usage(subject, { isKept: limitsSize(quota) });
    const isKnown = isOwn || databaseName !== undefined || tables > 0 || Object.keys(quota).length > 0;
    if (!isKnown) await requireCredential(subject, catalog);
    return objectReply<typeof UsageReply>({
      ...toGivenQuota({ subject, quota, ...(databaseName === undefined ? {} : { databaseName }) }),
      usage: { bytes, rows, tables, unmeasured_tables: unmeasured },
    });
  },
});

function requireInsight(caller: Caller, database: string | undefined): void {
  if (administersEverything(caller)) return;
  if (database === undefined) throw notPermitted('administer');
  if (isPermitted(caller, 'manage', database, [])) return;
  throw isVisible(caller, database, []) ? notPermitted('manage') : databaseNotFound(database);
}

/** Without tables and limits, the key or client may never have existed. */
async function requireCredential(
  subject: string,
  { keys, clients }: Record<'keys' | 'clients', { find(id: string): Promise<object | undefined> }>,
): Promise<void> {
  const id = subject.slice(subject.indexOf(':') + 1);
  const found = await (subject.startsWith('key:') ? keys : clients).find(id);
  if (found === undefined) throw new ServiceError('CredentialNotFound', 'The key or client does not exist.');
}
