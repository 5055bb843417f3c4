import type { TablePath } from '../../../src/model/identifier.ts';
import type { ListSlowQueriesReply } from '../../../src/wire/slow-queries.ts';
import { EMPTY_FORM, toParameters } from '../lab/lab-form.ts';
import type { LabForm } from '../lab/lab-form.ts';
import { toHash } from '../router.ts';

export type SlowQuery = ListSlowQueriesReply['slow_queries'][number];

/**
 * Where the lab analyses the same query again. The list keeps neither literals nor vectors: a random vector is as good as
 * the caller's, but a condition or a search for words without theirs is another query, and has no address.
 */
export function labAddress(slow: SlowQuery, table: TablePath): string | undefined {
  const query: Readonly<Record<string, unknown>> = { ...slow.query };
  const text = (name: string): string => {
    const value = query[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const isKnown = slow.operation === 'query_table' && query['full_text'] === undefined && query['offset'] === undefined;
  if (!isKnown || text('filter').includes('?')) return undefined;
  const form: LabForm = {
    ...EMPTY_FORM,
    tab: 'plan',
    search: query['vectors'] === undefined ? 'none' : 'vector',
    vectors: text('vectors') === '' ? '1' : text('vectors'),
    column: text('vector_column'),
    filter: text('filter'),
    order: text('order_by'),
    k: text('k'),
    distance: text('distance_type'),
    nprobes: text('nprobes'),
    refine: text('refine_factor'),
    ef: text('ef'),
    prefilter: query['prefilter'] === false ? '' : '1',
    exact: query['bypass_vector_index'] === true ? '1' : '',
    fast: query['fast_search'] === true ? '1' : '',
  };
  return toHash('lab', table, toParameters(form));
}
