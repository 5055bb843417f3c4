import { invalidInput } from '../../errors/service-error.ts';
import { guardFullText } from '../../guard/full-text.ts';
import { guardVectors, requireFinite, requireInteger } from '../../guard/numbers.ts';
import { guardSql } from '../../guard/sql/guard-sql.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { Limits, QueryLimits, SqlLimits } from '../../model/limits.ts';
import { DISTANCE_TYPES } from '../../model/query.ts';
import type { DistanceType, FullTextQuery, GuardedSql, Order, Probes, Projection, Query } from '../../model/query.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { readStructuredQuery } from '../../wire/full-text.ts';
import { UNLIMITED, withoutUndefined } from '../../wire/query-forms.ts';
import type { RequestFacts } from '../operation.ts';

/** Every text and number of a query is guarded here. */
export function readQuery(body: QueryTableBody, limits: Limits): Query {
  const { kMax, offsetMax, efMax, refineFactorMax } = limits.query;
  const fields: { readonly [Key in keyof Query]: Query[Key] | undefined } = {
    vectors: readVectors(body, limits.query),
    prefilter: body.prefilter ?? true,
    bypassVectorIndex: body.bypass_vector_index ?? false,
    fastSearch: body.fast_search ?? false,
    withRowId: body.with_row_id ?? false,
    vectorColumn: body.vector_column === undefined ? undefined : parseFieldPath(body.vector_column),
    fullText: readFullText(body, limits),
    filter: readSql('filter', body.filter, limits.sql),
    projection: readProjection(body, limits),
    distanceType: readDistanceType(body.distance_type),
    probes: readProbes(body, limits.query),
    orderBy: readOrder(body, limits.query),
    k: readLimit(body, kMax),
    offset: readCount(body.offset, 'offset', offsetMax),
    // With 0, the engine chooses based on the number of results.
    ef: readCount(body.ef, 'ef', efMax) || undefined,
    refineFactor: readCount(body.refine_factor, 'refine_factor', refineFactorMax),
    recallTarget: body.recall_target,
    lowerBound: readBound(body.lower_bound, 'lower_bound'),
    upperBound: readBound(body.upper_bound, 'upper_bound'),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only fields that may be absent are `undefined`.
  return withoutUndefined<unknown>(fields) as unknown as Query;
}

type Clause = 'filter' | 'predicate';

export function readSql(name: Clause, text: string | undefined, limits: SqlLimits): GuardedSql | undefined {
  return text === undefined ? undefined : guardSql(text, { name, field: name }, limits);
}

/** How long the caller will wait; the service's own limit applies too. */
export function readQueryTimeout(request: Pick<RequestFacts, 'header' | 'signal' | 'caller'>) {
  const text = request.header('x-request-timeout-ms') ?? '';
  const seconds = /^\d{1,12}$/.test(text) && Number(text) > 0 ? Number(text) / 1000 : undefined;
  return { seconds, signal: request.signal, caller: request.caller.id };
}

function readVectors(body: QueryTableBody, limits: QueryLimits): readonly (readonly number[])[] {
  if (body.vector === undefined) return [];
  if (body.vector_text !== undefined)
    throw invalidInput('vector and vector_text are both given.', 'Give one of the two.');
  const { single_vector: single, multi_vector: several } = body.vector;
  requireOneOf('vector', { single_vector: single, multi_vector: several });
  if (several?.length === 0) {
    const hint = 'Give at least one vector, or omit vector to scan the table.';
    throw invalidInput('vector.multi_vector is empty.', hint);
  }
  const vectors = single === undefined ? (several ?? []) : [single];
  guardVectors(vectors, limits);
  return vectors;
}

function readFullText(body: QueryTableBody, limits: Limits): FullTextQuery | undefined {
  if (body.full_text_query === undefined) return undefined;
  const { string_query: text, structured_query: tree } = body.full_text_query;
  requireOneOf('full_text_query', { string_query: text, structured_query: tree });
  const query: FullTextQuery =
    text === undefined
      ? readStructuredQuery(tree?.query, limits.sql.fullTextDepthMax)
      : { kind: 'text', terms: text.query, columns: (text.columns ?? []).map(parseFieldPath) };
  return guardFullText(query, limits.sql);
}

function readProjection(body: QueryTableBody, limits: Limits): Projection | undefined {
  if (body.columns === undefined) return undefined;
  const { column_names: names, column_aliases: aliases } = body.columns;
  requireOneOf('columns', { column_names: names, column_aliases: aliases });
  const count = names?.length ?? Object.keys(aliases ?? {}).length;
  requireInteger(count, { field: 'The number of columns', minimum: 0, maximum: limits.query.columnsMax });
  if (names !== undefined) return { kind: 'names', paths: names.map(parseFieldPath) };
  const columns = Object.entries(aliases ?? {}).map(([name, expression]) => {
    const field = `columns.column_aliases[${quoteForMessage(name)}]`;
    if (name === '_rowid' && body.with_row_id === true && !/^\s*(?:_rowid|`_rowid`)\s*$/i.test(expression)) {
      throw invalidInput(`${field} is another column than the row id of with_row_id.`, 'Use another name.');
    }
    return [name, guardSql(expression, { name: 'projection', field }, limits.sql)] as const;
  });
  return { kind: 'aliases', columns };
}

function readDistanceType(text: string | undefined): DistanceType | undefined {
  if (text === undefined) return undefined;
  const type = DISTANCE_TYPES.find((candidate) => candidate === text.toLowerCase());
  if (type !== undefined) return type;
  const hint = `Use one of ${DISTANCE_TYPES.join(', ')}.`;
  throw invalidInput(`The distance_type ${quoteForMessage(text)} is unknown.`, hint);
}

function readProbes(body: QueryTableBody, limits: QueryLimits): Probes | undefined {
  const exact = readCount(body.nprobes, 'nprobes', limits.nprobesMax);
  const minimum = readCount(body.minimum_nprobes, 'minimum_nprobes', limits.nprobesMax) ?? exact;
  const maximum = readCount(body.maximum_nprobes, 'maximum_nprobes', limits.nprobesMax) ?? exact;
  if (minimum === undefined && maximum === undefined) return undefined;
  if (maximum !== undefined && maximum > 0 && (minimum ?? 0) > maximum) {
    throw invalidInput(`minimum_nprobes (${minimum}) is greater than maximum_nprobes (${maximum}).`);
  }
  // maximum_nprobes: 0 means no maximum; nprobes: 0 means that nothing is probed.
  const unlimited = maximum === 0 && body.maximum_nprobes === 0;
  return { minimum: minimum ?? 0, maximum: unlimited ? undefined : maximum };
}

/** A search sorts its results in memory, so it has a bound; a scan has none. */
function readLimit(body: QueryTableBody, kMax: number): number | undefined {
  const isSearch = [body.vector, body.vector_text, body.full_text_query].some((each) => each !== undefined);
  return body.k === UNLIMITED && !isSearch ? undefined : readCount(body.k, 'k', kMax);
}

function readOrder(body: QueryTableBody, limits: QueryLimits): readonly Order[] | undefined {
  if (body.order_by === undefined || body.order_by.length === 0) return undefined;
  const count = { field: 'The number of columns in order_by', minimum: 0, maximum: limits.columnsMax };
  requireInteger(body.order_by.length, count);
  return body.order_by.map(({ column_name: name, ascending = true, nulls_first: nullsFirst = false }) => {
    return { path: parseFieldPath(name), ascending, nullsFirst };
  });
}

function readCount(value: number | undefined, field: string, maximum: number): number | undefined {
  return value === undefined ? undefined : requireInteger(value, { field, minimum: 0, maximum });
}

function readBound(value: number | undefined, field: string): number | undefined {
  return value === undefined ? undefined : requireFinite(value, field);
}

function requireOneOf(field: string, choices: Readonly<Record<string, unknown>>): void {
  const chosen = Object.keys(choices).filter((name) => choices[name] !== undefined);
  if (chosen.length === 1) return;
  const found = `${chosen.length === 0 ? 'neither' : 'both'} ${Object.keys(choices).join(chosen.length === 0 ? ' nor ' : ' and ')}`;
  throw invalidInput(`${field} has ${found}.`, 'Give exactly one of them.');
}
