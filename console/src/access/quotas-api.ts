import { describeUsage, toSubjectFields } from '../../../src/client/access.ts';
import type { QuotaSubject } from '../../../src/client/access.ts';
import type { ApiClient } from '../../../src/client/api-client.ts';
import { ClientError } from '../../../src/client/client-error.ts';
import type { GivenQuota, QuotaShape, UsageReply } from '../../../src/wire/access.ts';

export type LimitName = keyof QuotaShape;

export const LIMITS: readonly { readonly name: LimitName; readonly label: string; readonly hint: string }[] = [
  { name: 'requests_per_second', label: 'Requests per second', hint: 'Each node counts its own.' },
  { name: 'concurrent_reads', label: 'Reads at once', hint: 'Each node counts its own.' },
  { name: 'concurrent_writes', label: 'Writes at once', hint: 'Each node counts its own.' },
  { name: 'bytes', label: 'Bytes', hint: 'Of the latest versions of its tables.' },
  { name: 'rows', label: 'Rows', hint: 'Of the latest versions of its tables.' },
  { name: 'tables', label: 'Tables', hint: 'Of a key or client: those that it created.' },
];

/** A quota with its usage. */
export interface UsedQuota extends Pick<UsageReply, 'quota' | 'usage'> {
  readonly subject: QuotaSubject;
  /** Whether it is that of the caller. */
  readonly isOwn?: boolean;
}

interface QuotaPage {
  readonly quotas: readonly GivenQuota[];
  readonly page_token?: string;
}

const PAGE_SIZE = 100;

/** The first hundred; the CLI lists more. */
export async function listUsedQuotas(client: ApiClient): Promise<readonly UsedQuota[]> {
  const page: QuotaPage = await client.json('/v1/access/quota/list', { json: { limit: PAGE_SIZE } });
  const used: UsedQuota[] = [];
  for (const { principal, database } of page.quotas) {
    const subject = principal ?? `database:${database ?? ''}`;
    const { quota, usage } = await describeUsage(client, subject);
    used.push({ subject, quota, usage });
  }
  return used;
}

/** For callers who may not list quotas: their own, and that of the database if they own it. */
export async function listOwnUsage(client: ApiClient, database: string): Promise<readonly UsedQuota[]> {
  const own = await describeUsage(client);
  const shown: UsedQuota[] = [{ subject: own.principal ?? 'caller', quota: own.quota, usage: own.usage, isOwn: true }];
  const subject = `database:${database}`;
  const owned = await unlessRefused(describeUsage(client, subject));
  if (owned !== undefined) shown.push({ subject, quota: owned.quota, usage: owned.usage });
  return shown;
}

/** `undefined` for callers without the necessary role, or from whom it is hidden. */
export async function unlessRefused<Value>(reply: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (error instanceof ClientError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}

export async function setQuota(client: ApiClient, subject: QuotaSubject, quota: QuotaShape): Promise<void> {
  await client.json('/v1/access/quota/set', { json: { ...toSubjectFields(subject), ...quota } });
}

export async function removeLimits(
  client: ApiClient,
  subject: QuotaSubject,
  limits?: readonly LimitName[],
): Promise<void> {
  const named = limits === undefined ? {} : { limits };
  await client.json('/v1/access/quota/remove', { json: { ...toSubjectFields(subject), ...named } });
}
