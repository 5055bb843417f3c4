import { formatFieldPath } from '../../../src/model/field-path.ts';
import type { GridSort } from '../parts/grid-head.tsx';

/** The order of the grid as a query says it. */
export function toOrder({ column, isAscending }: GridSort): { column_name: string; ascending: boolean } {
  return { column_name: formatFieldPath([column]), ascending: isAscending };
}
