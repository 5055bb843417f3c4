import { invalidInput } from '../../errors/service-error.ts';
import { quotePath } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Schema } from '../../model/schema.ts';
import { referredColumns } from '../computed/references.ts';
import type { AssignmentNode, AssignmentTree } from '../updates/assignments.ts';

/**
 * Seen in @lancedb/lancedb 0.31.0 and 0.39.0: one update computes its columns one after the other, in random order, each from the values
 * that the previous ones have written. An expression that reads another updated column would see its old or its new value
 * by chance, so it is refused. A column may read itself: fields of one struct are one column. Can go when every expression
 * sees the old values.
 */
export function refuseCrossReferences(tree: AssignmentTree, schema: Schema): void {
  for (const [column, node] of tree) {
    for (const expression of expressionsOf(node)) {
      const other = referredColumns(expression, schema).find((name) => name !== column && tree.has(name));
      if (other === undefined) continue;
      throw invalidInput(
        `The expression for ${quotePath([column])} reads ${quotePath([other])}, which the same request updates.`,
        'Whether it would see the old value or the new one is not certain; send the two updates one after the other.',
      );
    }
  }
}

export function* expressionsOf(node: AssignmentNode): Generator<GuardedSql> {
  if (node.kind === 'value') yield node.expression;
  else for (const child of node.fields.values()) yield* expressionsOf(child);
}
