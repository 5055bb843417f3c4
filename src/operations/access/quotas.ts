import type { Catalog, GivenQuota as QuotaRecord } from '../../catalog/catalog.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';
import { QUOTA_LIMITS } from '../../model/access.ts';
import type { Quota, QuotaLimit } from '../../model/access.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { databaseNotFound } from '../../model/refusals.ts';
import { ListQuotasReply, PageBody, QuotaReply, RemoveQuotaBody, SetQuotaBody } from '../../wire/access.ts';
import type { GivenQuota, QuotaShape } from '../../wire/access.ts';
import type { Sent } from '../../wire/shapes.ts';
import { defineServerOperation, json, objectReply } from '../operation.ts';
import { cutPage, readPageSize, unknownPageToken } from '../shared/pages.ts';
import { reportChange, requireServerAdministrator } from './access-rules.ts';

/** Only administrators of the server change quotas: an owner of a database could otherwise lift its own. */
export const setQuota = defineServerOperation({
  id: 'set_quota',
  path: '/v1/access/quota/set',
  summary: 'Set quotas of a key, a client or a database',
  permission: 'administer',
  body: { kind: 'json', shape: SetQuotaBody },
  replies: [json(QuotaReply, 'All limits of the key, client or database after the change.')],
  async run(request, services) {
    requireServerAdministrator(request.caller);
    const { body } = request;
    const limits = readLimits(body);
    const named = await readSubject(body, services.catalog);
    const quota = await services.catalog.quotas.set(named.subject, limits);
    reportChange(request, named.shown, services);
    return objectReply<typeof QuotaReply>(toGivenQuota({ ...named, quota }));
  },
});

export const removeQuota = defineServerOperation({
  id: 'remove_quota',
  path: '/v1/access/quota/remove',
  summary: 'Remove quotas of a key, a client or a database',
  permission: 'administer',
  body: { kind: 'json', shape: RemoveQuotaBody },
  replies: [json(QuotaReply, 'The remaining limits.')],
  async run(request, services) {
    requireServerAdministrator(request.caller);
    const limits = request.body.limits?.map(readLimitName);
    const named = await readSubject(request.body, services.catalog);
    const quota = await services.catalog.quotas.remove(named.subject, limits);
    if (quota === undefined) {
      throw new ServiceError(
        'QuotaNotFound',
        `${quoteForMessage(named.shown)} has no ${limits === undefined ? 'quota' : 'such limit'}.`,
      );
    }
    reportChange(request, named.shown, services);
    return objectReply<typeof QuotaReply>(toGivenQuota({ ...named, quota }));
  },
});

export const listQuotas = defineServerOperation({
  id: 'list_quotas',
  path: '/v1/access/quota/list',
  summary: 'List quotas',
  permission: 'administer',
  body: { kind: 'json', shape: PageBody },
  replies: [json(ListQuotasReply, 'Clients, databases and keys that have a quota.')],
  async run({ body, caller }, services) {
    requireServerAdministrator(caller);
    const limit = readPageSize(body.limit, services);
    const after = readQuotaToken(body.page_token);
    const found = await services.catalog.quotas.list({ after, limit: limit + 1 });
    const { entries, page_token } = cutPage(found, limit, ({ subject }) => subject);
    return objectReply<typeof ListQuotasReply>({ quotas: entries.map(toGivenQuota), page_token });
  },
});

function readQuotaToken(token: string | undefined): string | undefined {
  if (token === undefined || token === '') return undefined;
  if (/^(?:client|database|key):[0-9a-z]{1,64}$/.test(token)) return token;
  throw unknownPageToken();
}

/** Wire names of limits. A rate of 0 would allow no requests at all, which is what revoking a key is for. */
const LIMITS = {
  requestsPerSecond: { field: 'requests_per_second', minimum: 1, maximum: 1_000_000 },
  concurrentReads: { field: 'concurrent_reads', minimum: 0, maximum: 1_000_000 },
  concurrentWrites: { field: 'concurrent_writes', minimum: 0, maximum: 1_000_000 },
  bytes: { field: 'bytes', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  rows: { field: 'rows', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  tables: { field: 'tables', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
} as const satisfies Record<QuotaLimit, object>;

function readLimits(body: QuotaShape): Quota {
  const limits: Partial<Record<QuotaLimit, number>> = {};
  for (const limit of QUOTA_LIMITS) {
    const rule = LIMITS[limit];
    const value = body[rule.field];
    if (value !== undefined) limits[limit] = requireInteger(value, rule);
  }
  if (Object.keys(limits).length > 0) return limits;
  throw invalidInput('The quota has no limit.', `Give at least one of ${limitNames()}.`);
}

function readLimitName(name: string): QuotaLimit {
  const limit = QUOTA_LIMITS.find((each) => LIMITS[each].field === name);
  if (limit !== undefined) return limit;
  throw invalidInput(`The limit ${quoteForMessage(name)} does not exist.`, `The limits are ${limitNames()}.`);
}

function limitNames(): string {
  return QUOTA_LIMITS.map((limit) => LIMITS[limit].field).join(', ');
}

interface SubjectBody {
  readonly principal?: string;
  readonly database?: string;
}

interface NamedSubject extends Pick<QuotaRecord, 'subject' | 'databaseName'> {
  /** Its name for the caller and the log. */
  readonly shown: string;
}

/** Requires the database to exist; checking a key or client is up to the caller. */
export async function readSubject(
  { principal, database }: SubjectBody,
  { databases }: Pick<Catalog, 'databases'>,
): Promise<NamedSubject> {
  if ((principal === undefined) === (database === undefined)) {
    throw invalidInput('A quota belongs to a principal or to a database.', 'Give exactly one of them.');
  }
  if (database !== undefined) {
    const found = await databases.find(database);
    if (found === undefined) throw databaseNotFound(database);
    return { subject: `database:${found.id}`, databaseName: database, shown: `database:${database}` };
  }
  const [kind, id = ''] = (principal ?? '').split(/:(.*)/s, 2);
  if ((kind !== 'key' && kind !== 'client') || id === '') {
    throw invalidInput(
      `The principal ${quoteForMessage(principal ?? '')} cannot have a quota.`,
      'Give key:<id> or client:<id>. Requests with tokens of other issuers count towards the quota of the database.',
    );
  }
  return { subject: `${kind}:${id}`, shown: `${kind}:${id}` };
}

export function toGivenQuota({ subject, databaseName, quota }: QuotaRecord): Sent<GivenQuota> {
  const limits = QUOTA_LIMITS.map((limit) => [LIMITS[limit].field, quota[limit]] as const);
  return {
    ...(subject.startsWith('database:') ? { database: databaseName } : { principal: subject }),
    quota: Object.fromEntries(limits.filter(([, value]) => value !== undefined)),
  };
}
