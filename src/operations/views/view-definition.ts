import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';
import type { ViewDefinition, ViewRefresh } from '../../model/derived/view.ts';
import { sqlFieldReference } from '../../model/field-path.ts';
import { checkNames, parseTablePath, toTablePath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { Limits } from '../../model/limits.ts';
import { isObject, parseStrictText } from '../../model/strict-json.ts';
import type { CreateViewBody } from '../../wire/views.ts';
import { readSelect } from './select-text.ts';

/** The caller's request; `columns: undefined` means all columns of the source. */
export interface AskedView {
  readonly source: TablePath;
  readonly filter: string | undefined;
  readonly columns: ViewDefinition['columns'] | undefined;
  readonly limit: number | undefined;
  readonly refresh: ViewRefresh;
}

const FORM =
  'Send it as SELECT id, price FROM items WHERE price > 1, or as JSON: {"table": "items", "columns": ["id"]}.';
const FIELDS: ReadonlySet<string> = new Set(['table', 'filter', 'columns', 'limit']);

export function readView(body: CreateViewBody, delimiter: string, limits: Limits): AskedView {
  requireQueryKind(body);
  const refresh = readRefresh(body, limits);
  if (!body.source_query.trimStart().startsWith('{')) {
    const { table, columns, ...rows } = readSelect(body.source_query);
    const source = table.length === 1 ? readSource(table[0], delimiter) : readSource(table, delimiter);
    return {
      ...rows,
      source,
      columns: columns && readColumns(Object.fromEntries(columns), limits.query.columnsMax),
      refresh,
    };
  }
  const query = parseStrictText(body.source_query, { depthMax: limits.http.jsonDepthMax, what: 'source_query' });
  if (!isObject(query)) throw invalidInput('source_query is not a JSON object.', FORM);
  const unknown = Object.keys(query).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) throw invalidInput(`source_query has the unknown field ${JSON.stringify(unknown)}.`, FORM);
  const { filter, limit } = query;
  if (filter !== undefined && filter !== null && typeof filter !== 'string') {
    throw invalidInput('The filter of source_query must be a string.', FORM);
  }
  const rule = { field: 'The limit of source_query', minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
  return {
    source: readSource(query['table'], delimiter),
    filter: filter ?? undefined,
    columns: readColumns(query['columns'], limits.query.columnsMax),
    limit: limit === undefined || limit === null ? undefined : requireInteger(Number(limit), rule),
    refresh,
  };
}

/** A column that is copied unchanged. */
export function toColumn(name: string): readonly [string, string] {
  return [name, sqlFieldReference([name])];
}

function requireQueryKind({ kind, udtf_spec: code }: CreateViewBody): void {
  if (kind === 'udtf' || kind === 'chunker') {
    throw new ServiceError('Unsupported', `Views of the kind ${kind} are not offered: they would run code.`, {
      hint: 'Use the kind query: SQL expressions, a filter and a limit on one table.',
    });
  }
  if (kind !== 'query') throw invalidInput('The kind of the view is unknown.', 'It must be query.');
  if (code !== undefined && code !== null) throw invalidInput('A view of the kind query cannot have a udtf_spec.');
}

function readSource(table: unknown, delimiter: string): TablePath {
  if (typeof table === 'string') return parseTablePath(table, delimiter);
  if (Array.isArray(table) && table.every((name) => typeof name === 'string')) {
    return toTablePath(checkNames(table, delimiter), delimiter);
  }
  throw invalidInput('source_query has no table.', FORM);
}

function readColumns(columns: unknown, countMax: number): ViewDefinition['columns'] | undefined {
  if (columns === undefined || columns === null) return undefined;
  const isList = Array.isArray(columns) && columns.every((name) => typeof name === 'string');
  const isMap = isObject(columns) && Object.values(columns).every((sql) => typeof sql === 'string');
  if (!isList && !isMap) throw invalidInput('The columns of source_query must be names or expressions.', FORM);
  const pairs = isList
    ? columns.map(toColumn)
    : Object.entries(columns).map(([name, sql]) => [name, String(sql)] as const);
  if (pairs.length === 0) throw invalidInput('source_query has no columns.', 'Omit columns to select all of them.');
  if (pairs.length > countMax) throw invalidInput(`source_query has more than ${countMax} columns.`);
  return pairs;
}

function readRefresh({ auto_refresh: auto, refresh_seconds: seconds }: CreateViewBody, { views }: Limits): ViewRefresh {
  if (seconds === undefined || seconds === null) return { mode: auto === true ? 'on_change' : 'manual' };
  if (auto === true)
    throw invalidInput('The view has both auto_refresh and refresh_seconds.', 'Give only one of them.');
  const rule = { field: 'refresh_seconds', minimum: views.intervalSecondsMin, maximum: Number.MAX_SAFE_INTEGER };
  return { mode: 'schedule', seconds: requireInteger(seconds, rule) };
}
