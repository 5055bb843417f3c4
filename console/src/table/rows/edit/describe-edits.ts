import { formatCountOf } from '../../../parts/format.ts';
import type { PendingEdits } from './pending-edits.ts';

/** `2 rows added, 1 row changed.` */
export function describeEdits({ added, changed, deleted }: PendingEdits): string {
  const counts: readonly (readonly [number, string])[] = [
    [added.length, 'added'],
    [changed.size, 'changed'],
    [deleted.size, 'deleted'],
  ];
  const parts = counts.filter(([count]) => count > 0).map(([count, verb]) => `${formatCountOf(count, 'row')} ${verb}`);
  return `${parts.join(', ')}.`;
}
