import type { QueryTableBody } from '../../../src/wire/data.ts';
import { splitPaths } from './split-paths.ts';

/** `price desc, id` as a query says it. */
export function toOrderBy(text: string): Pick<QueryTableBody, 'order_by'> {
  const orders = splitPaths(text).map((part) => {
    const [, path = part, direction = ''] = /^(.+?)(?:\s+(asc|desc))?$/is.exec(part) ?? [];
    return { column_name: path, ascending: direction.toLowerCase() !== 'desc' };
  });
  return orders.length === 0 ? {} : { order_by: orders };
}
