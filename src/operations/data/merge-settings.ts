import type { MergeRequest } from '../../engine/engine.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { guardSql } from '../../guard/sql/guard-sql.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { SqlLimits } from '../../model/limits.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { QueryValues, TableIngestRequest } from '../operation.ts';
import { readFlag } from '../shared/parameters.ts';

export type MergeAsked = Pick<TableIngestRequest, 'query' | 'queryLists' | 'dialect' | 'header'>;

/** `now` is in milliseconds, on the clock of `performance.now()`. */
export function readMergeSettings(request: MergeAsked, limits: SqlLimits, now: number): MergeRequest {
  const { query, dialect } = request;
  const timeout = readTimeout(request);
  const settings: MergeRequest = {
    on: readKeys(request),
    updateMatched: readFlag(query, 'when_matched_update_all') ?? false,
    updateFilter: readFilter(query, 'when_matched_update_all_filt', limits),
    insertNew: readFlag(query, 'when_not_matched_insert_all') ?? false,
    deleteOthers: readFlag(query, 'when_not_matched_by_source_delete') ?? false,
    deleteFilter: readFilter(query, 'when_not_matched_by_source_delete_filt', limits),
    // The LanceDB client sends it only to disable the index.
    useIndex: readFlag(query, 'use_index') ?? dialect === 'lancedb',
    deadline: timeout === undefined ? undefined : now + timeout,
  };
  requireEffect(settings);
  return settings;
}

const KEYS_MAX = 64;

function readKeys({ queryLists }: MergeAsked): MergeRequest['on'] {
  const keys = queryLists['on'] ?? [];
  if (keys.length === 0) {
    const hint = 'Give the column that rows are matched on, such as on=id.';
    throw invalidInput('The query parameter on is missing.', hint);
  }
  const paths = [...new Set(keys)];
  if (paths.length > KEYS_MAX) throw invalidInput(`on has ${paths.length} columns; at most ${KEYS_MAX} are allowed.`);
  return paths.map(parseFieldPath);
}

function readFilter(query: QueryValues, name: string, limits: SqlLimits): GuardedSql | undefined {
  const text = query[name];
  return text === undefined ? undefined : guardSql(text, { name: 'filter', field: name, withoutCalls: true }, limits);
}

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
/** The engine counts in 32 bits; 24 days are as good as no timeout. */
const TIMEOUT_MILLISECONDS_MAX = 2 ** 31 - 1;

/** The shorter of the query parameter and the LanceDB client's header. */
function readTimeout({ query, header }: MergeAsked): number | undefined {
  const given = [readDuration(query['timeout']), readMilliseconds(header('x-request-timeout-ms'))];
  const timeouts = given.filter((value) => value !== undefined);
  return timeouts.length === 0 ? undefined : Math.min(...timeouts, TIMEOUT_MILLISECONDS_MAX);
}

function readDuration(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit = 's'] = /^(\d{1,9}(?:\.\d{1,9})?)\s?(ms|s|m|h)?$/.exec(text) ?? [];
  const factor = UNIT_MILLISECONDS[unit];
  if (amount !== undefined && factor !== undefined) return Number(amount) * factor;
  const hint = 'Give a number followed by ms, s, m or h, such as 30s.';
  throw invalidInput(`The timeout ${quoteForMessage(text)} is not a duration.`, hint);
}

function readMilliseconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const hint = 'It must be a whole number of milliseconds.';
  throw invalidInput(`The header x-request-timeout-ms is ${quoteForMessage(text)}.`, hint);
}

function requireEffect({ updateMatched, updateFilter, insertNew, deleteOthers, deleteFilter }: MergeRequest): void {
  if (updateFilter !== undefined && !updateMatched) refuseFilterAlone('when_matched_update_all');
  if (deleteFilter !== undefined && !deleteOthers) refuseFilterAlone('when_not_matched_by_source_delete');
  if (updateMatched || insertNew || deleteOthers) return;
  const hint = 'Set when_matched_update_all, when_not_matched_insert_all or when_not_matched_by_source_delete.';
  throw invalidInput('The merge would change nothing.', hint);
}

function refuseFilterAlone(name: string): never {
  throw invalidInput(`${name}_filt is given without ${name}=true.`);
}
