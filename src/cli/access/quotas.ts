import type { Catalog, GivenQuota } from '../../catalog/catalog.ts';
import { describeUsage } from '../../client/usage.ts';
import { QUOTA_LIMITS } from '../../model/access.ts';
import type { Quota, QuotaLimit } from '../../model/access.ts';
import { formatBytes, formatCount } from '../../plans/format-figure.ts';
import { defineClientCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber } from '../options.ts';
import type { Given } from '../options.ts';
import { drawTable } from '../show/draw-table.ts';
import { defineCatalogCommand, defineListCommand } from './catalog-command.ts';

const SUBJECT_HELP = 'SUBJECT is "key:ID", "client:ID" or "database:NAME".';
const PAGE_SIZE = 1000;

/** As an option and in JSON. */
const LIMITS: Readonly<Record<QuotaLimit, { readonly option: string; readonly minimum: number }>> = {
  requestsPerSecond: { option: 'requests-per-second', minimum: 1 },
  concurrentReads: { option: 'concurrent-reads', minimum: 0 },
  concurrentWrites: { option: 'concurrent-writes', minimum: 0 },
  bytes: { option: 'bytes', minimum: 0 },
  rows: { option: 'rows', minimum: 0 },
  tables: { option: 'tables', minimum: 0 },
};

export const quotaCommands: readonly Command[] = [
  defineCatalogCommand({
    words: ['quota', 'set'],
    usage:
      'SUBJECT [--requests-per-second N] [--concurrent-reads N] [--concurrent-writes N] [--bytes N] [--rows N] [--tables N] [--json] [--data DIR]',
    summary: 'limit what a key, a client or a database may use',
    help: `${SUBJECT_HELP} Limits that are not given stay as they are. Rates and numbers of requests are counted by each node. The sizes of a key or a client are those of the tables that it created.

Example:
  tiltyard quota set database:sales --rows 1000000 --tables 50`,
    prepare(given) {
      const subject = requireSubject(given);
      const limits = readLimits(given);
      return async (catalog) => {
        const id = await toStoredSubject(subject, catalog);
        const quota = await catalog.quotas.set(id, limits);
        return { json: toJson(subject, quota), text: `${subject}  ${showQuota(quota)}\n` };
      };
    },
  }),
  defineListCommand({
    words: ['quota', 'list'],
    summary: 'list the quotas of keys, clients and databases',
    help: 'One line per key, client or database that has a quota.',
    async list(catalog) {
      const quotas: GivenQuota[] = [];
      let page: readonly GivenQuota[];
      do {
        page = await catalog.quotas.list({ after: quotas.at(-1)?.subject, limit: PAGE_SIZE });
        quotas.push(...page);
      } while (page.length === PAGE_SIZE);
      const shown = quotas.map(({ quota, ...given }) => ({ quota, subject: toShownSubject(given) }));
      return {
        json: shown.map(({ subject, quota }) => toJson(subject, quota)),
        text: shown.map(({ subject, quota }) => `${subject}  ${showQuota(quota)}\n`).join(''),
      };
    },
  }),
  defineCatalogCommand({
    words: ['quota', 'remove'],
    usage: 'SUBJECT [LIMIT]... [--data DIR]',
    summary: 'remove limits of a key, a client or a database',
    help: `${SUBJECT_HELP} LIMIT is one of ${optionNames()}; without one, all limits are removed.`,
    prepare({ names: [subject = '', ...limits] }) {
      checkSubject(subject);
      const removed = limits.length === 0 ? undefined : limits.map(readLimitName);
      return async (catalog) => {
        const left = await catalog.quotas.remove(await toStoredSubject(subject, catalog), removed);
        if (left === undefined) return { notice: 'There is no such limit.\n', code: EXIT.failed };
        return { notice: `${subject} now has ${showQuota(left) || 'no quota'}.\n` };
      };
    },
  }),
];

export const usageCommand = defineClientCommand({
  words: ['usage'],
  names: '[SUBJECT]',
  summary: 'show how much of its quota a caller or a database uses',
  about: `Shows what is used, and the limits. ${SUBJECT_HELP} Without one it is the caller itself.`,
  examples: ['usage', 'usage database:sales'],
  async run({ client, given: { names }, canvas }) {
    const [subject] = names;
    if (subject !== undefined) checkSubject(subject);
    const reply = await describeUsage(client, subject);
    const { quota, usage } = reply;
    const sizes = (['bytes', 'rows', 'tables'] as const).map((name) => {
      const show = name === 'bytes' ? formatBytes : formatCount;
      const limit = quota[name];
      return [name, show(usage[name]), limit === undefined ? { faint: 'none' } : show(limit)];
    });
    const rates = (['requests_per_second', 'concurrent_reads', 'concurrent_writes'] as const).flatMap((name) => {
      const limit = quota[name];
      return limit === undefined ? [] : [[name.replaceAll('_', ' '), '', formatCount(limit)]];
    });
    const heads = ['', { number: 'used' }, { number: 'limit' }] as const;
    const missing = usage.unmeasured_tables;
    const note = missing === 0 ? '' : `Without ${formatCount(missing)} tables whose sizes are not known yet.\n`;
    return { reply, text: drawTable(heads, [...sizes, ...rates], canvas) + note };
  },
});

function readLimits(given: Given): Quota {
  const limits: Partial<Record<QuotaLimit, number>> = {};
  for (const limit of QUOTA_LIMITS) {
    const { option, minimum } = LIMITS[limit];
    const value = readNumber(given, option, minimum);
    if (value !== undefined) limits[limit] = value;
  }
  if (Object.keys(limits).length > 0) return limits;
  throw new UsageError('Give at least one limit, such as --rows 1000000.');
}

function readLimitName(name: string): QuotaLimit {
  const limit = QUOTA_LIMITS.find((each) => LIMITS[each].option === name.replaceAll('_', '-'));
  if (limit === undefined) throw new UsageError(`There is no limit "${name}". The limits are ${optionNames()}.`);
  return limit;
}

function optionNames(): string {
  return Object.values(LIMITS)
    .map(({ option }) => option)
    .join(', ');
}

function requireSubject({ names: [subject = '', ...others] }: Given): string {
  if (others.length > 0) throw new UsageError('Give one subject.');
  checkSubject(subject);
  return subject;
}

function checkSubject(subject: string): void {
  if (!/^(?:key|client|database):./s.test(subject)) throw new UsageError(SUBJECT_HELP.replace(' is', ':'));
}

async function toStoredSubject(subject: string, { databases }: Catalog): Promise<string> {
  if (!subject.startsWith('database:')) return subject;
  const name = subject.slice('database:'.length);
  const database = await databases.find(name);
  if (database === undefined) throw new UsageError(`There is no database ${name}.`);
  return `database:${database.id}`;
}

function toShownSubject({ subject, databaseName }: Omit<GivenQuota, 'quota'>): string {
  return databaseName === undefined ? subject : `database:${databaseName}`;
}

function showQuota(quota: Quota): string {
  const shown = QUOTA_LIMITS.flatMap((limit) => {
    const value = quota[limit];
    if (value === undefined) return [];
    return [
      `${LIMITS[limit].option.replaceAll('-', ' ')} ${limit === 'bytes' ? formatBytes(value) : formatCount(value)}`,
    ];
  });
  return shown.join(', ');
}

function toJson(subject: string, quota: Quota): object {
  const limits = QUOTA_LIMITS.filter((limit) => quota[limit] !== undefined);
  return {
    subject,
    quota: Object.fromEntries(limits.map((limit) => [LIMITS[limit].option.replaceAll('-', '_'), quota[limit]])),
  };
}
