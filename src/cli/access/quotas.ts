import { describeUsage, listQuotas, removeQuota, setQuota } from '../../client/access.ts';
import { formatBytes, formatCount } from '../../plans/format-figure.ts';
import type { GivenQuota, QuotaShape } from '../../wire/access.ts';
import { defineClientCommand } from '../client-command.ts';
import { UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber } from '../options.ts';
import type { Given } from '../options.ts';
import { drawTable } from '../show/draw-table.ts';
import { defineAccessCommand } from './access-command.ts';

const SUBJECT_HELP = 'SUBJECT is "key:ID", "client:ID" or "database:NAME".';

type Limit = keyof QuotaShape;

/** By JSON name; options have dashes instead of underscores. */
const LIMITS: Readonly<Record<Limit, { readonly minimum: number; readonly help: string }>> = {
  requests_per_second: { minimum: 1, help: 'requests per second, counted by each node' },
  concurrent_reads: { minimum: 0, help: 'reads in flight at once, counted by each node' },
  concurrent_writes: { minimum: 0, help: 'writes in flight at once, counted by each node' },
  bytes: { minimum: 0, help: 'bytes of the latest versions of its tables' },
  rows: { minimum: 0, help: 'rows of the latest versions of its tables' },
  tables: { minimum: 0, help: 'tables' },
};
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The keys of a literal.
const LIMIT_NAMES = Object.keys(LIMITS) as readonly Limit[];

export const quotaCommands: readonly Command[] = [
  defineAccessCommand({
    words: ['quota', 'set'],
    names: 'SUBJECT',
    summary: 'limit what a key, a client or a database may use',
    about: `Sets limits; other limits stay as they are. ${SUBJECT_HELP} The tables of a key or a client are those that it created.`,
    options: LIMIT_NAMES.map((name) => ({ name: toOption(name), value: 'N', help: LIMITS[name].help })),
    examples: ['quota set database:sales --rows 1000000 --tables 50'],
    async run(client, { given }) {
      const subject = requireSubject(given);
      const reply = toSubject(await setQuota(client, subject, readLimits(given)));
      return { reply, text: quotaLine(reply) };
    },
  }),
  defineAccessCommand({
    words: ['quota', 'list'],
    names: '',
    summary: 'list the quotas of keys, clients and databases',
    about: 'Lists each key, client and database that has a quota, with its limits.',
    examples: ['quota list', 'quota list --json'],
    async run(client) {
      const reply = (await listQuotas(client)).map(toSubject);
      return { reply, text: reply.map(quotaLine).join(''), none: 'There are no quotas.' };
    },
  }),
  defineAccessCommand({
    words: ['quota', 'remove'],
    names: 'SUBJECT [LIMIT]...',
    summary: 'remove limits of a key, a client or a database',
    about: `Removes the limits that you name, or all of them. ${SUBJECT_HELP} LIMIT is one of ${optionNames()}.`,
    examples: ['quota remove database:sales rows', 'quota remove database:sales'],
    async run(client, { given }) {
      const subject = requireSubject(given);
      const limits = given.names.slice(1).map(readLimitName);
      const reply = toSubject(await removeQuota(client, subject, limits.length === 0 ? undefined : limits));
      return { reply, text: `${subject} now has ${showQuota(reply.quota) || 'no quota'}.\n` };
    },
  }),
];

export const usageCommand = defineClientCommand({
  words: ['usage'],
  names: '[SUBJECT]',
  summary: 'show how much of its quota a caller or a database uses',
  about: `Shows usage and limits. ${SUBJECT_HELP} Without SUBJECT, it shows those of the key or client that you use.`,
  examples: ['usage', 'usage database:sales'],
  async run({ client, given: { names }, canvas }) {
    const [subject] = names;
    if (subject !== undefined) checkSubject(subject);
    const reply = await describeUsage(client, subject);
    const { quota, usage } = reply;
    const sizes = (['bytes', 'rows', 'tables'] as const).map((name) => {
      const limit = quota[name];
      return [name, showLimit(name, usage[name]), limit === undefined ? { faint: 'none' } : showLimit(name, limit)];
    });
    const rates = (['requests_per_second', 'concurrent_reads', 'concurrent_writes'] as const).flatMap((name) => {
      const limit = quota[name];
      return limit === undefined ? [] : [[name.replaceAll('_', ' '), '', formatCount(limit)]];
    });
    const heads = ['', { number: 'used' }, { number: 'limit' }] as const;
    const missing = usage.unmeasured_tables;
    const note = missing === 0 ? '' : `Not counted: ${formatCount(missing)} tables whose sizes are not yet known.\n`;
    return { reply, text: drawTable(heads, [...sizes, ...rates], canvas) + note };
  },
});

function toOption(limit: Limit): string {
  return limit.replaceAll('_', '-');
}

function readLimits(given: Given): QuotaShape {
  const limits = LIMIT_NAMES.map((name) => [name, readNumber(given, toOption(name), LIMITS[name].minimum)] as const);
  const set = limits.filter(([, value]) => value !== undefined);
  if (set.length > 0) return Object.fromEntries(set);
  throw new UsageError('Give at least one limit, such as --rows 1000000.');
}

function readLimitName(name: string): Limit {
  const limit = LIMIT_NAMES.find((each) => each === name.replaceAll('-', '_'));
  if (limit === undefined) throw new UsageError(`The limit "${name}" does not exist. The limits are ${optionNames()}.`);
  return limit;
}

function optionNames(): string {
  return LIMIT_NAMES.map(toOption).join(', ');
}

function requireSubject({ names: [subject = ''] }: Given): string {
  checkSubject(subject);
  return subject;
}

function checkSubject(subject: string): void {
  if (/^(?:key|client|database):./s.test(subject)) return;
  throw new UsageError(`"${subject}" cannot have a quota: give "key:ID", "client:ID" or "database:NAME".`);
}

interface SubjectQuota extends Pick<GivenQuota, 'quota'> {
  readonly subject: string;
}

function toSubject({ principal = '', database, quota }: GivenQuota): SubjectQuota {
  return { subject: database === undefined ? principal : `database:${database}`, quota };
}

function quotaLine({ subject, quota }: SubjectQuota): string {
  return `${subject}  ${showQuota(quota)}\n`;
}

function showQuota(quota: QuotaShape): string {
  const shown = LIMIT_NAMES.flatMap((name) => {
    const value = quota[name];
    return value === undefined ? [] : [`${name.replaceAll('_', ' ')} ${showLimit(name, value)}`];
  });
  return shown.join(', ');
}

function showLimit(name: Limit, value: number): string {
  return name === 'bytes' ? formatBytes(value) : formatCount(value);
}
