import type { UsageReply } from '../wire/access.ts';
import type { ApiClient } from './api-client.ts';

/** A principal, such as `key:ID`, or `database:NAME`. */
export type QuotaSubject = string;

/** Of the caller itself when no subject is named. */
export async function describeUsage(client: ApiClient, subject?: QuotaSubject): Promise<UsageReply> {
  return client.json('/v1/access/usage', { json: subject === undefined ? {} : toSubjectFields(subject) });
}

export function toSubjectFields(subject: QuotaSubject): { database: string } | { principal: string } {
  const prefix = 'database:';
  return subject.startsWith(prefix) ? { database: subject.slice(prefix.length) } : { principal: subject };
}
