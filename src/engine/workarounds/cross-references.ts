import { invalidInput } from '../../errors/service-error.ts';
import { quotePath, sqlFieldReference } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Schema } from '../../model/schema.ts';
import { findReferences, referredColumns, replaceReferences } from '../computed/references.ts';
import type { Assignment, AssignmentNode, AssignmentTree } from '../updates/assignments.ts';

/*
 * Seen in @lancedb/lancedb 0.31.0 and 0.39.0: one update computes its columns one after the other, in random order, each from the values
 * that the previous ones have written. An expression that reads another updated column would see its old or its new value
 * by chance. A column may read itself: fields of one struct are one column. Can go when every expression sees the old
 * values.
 */

/**
 * Whether an expression may read a column that another one sets. May return true unnecessarily, never false wrongly.
 */
export function mayCross(assignments: readonly Assignment[]): boolean {
  if (assignments.length < 2) return false;
  const columns = new Set(assignments.map(({ path }) => path[0].toLowerCase()));
  return assignments.some(({ path, expression }) =>
    findReferences(expression, NO_COLUMNS).some(({ token: { text } }) => {
      return text.toLowerCase() !== path[0].toLowerCase() && columns.has(text.toLowerCase());
    }),
  );
}

const NO_COLUMNS: Schema = { fields: [], metadata: new Map() };

/** The updated columns that the expressions of others read. */
export function findCrossedColumns(tree: AssignmentTree, schema: Schema): readonly string[] {
  if (tree.size < 2) return [];
  const crossed = new Set<string>();
  for (const [column, node] of tree) {
    for (const expression of expressionsOf(node)) {
      for (const name of referredColumns(expression, schema)) {
        if (name !== column && tree.has(name)) crossed.add(name);
      }
    }
  }
  return [...crossed];
}

/** For an update in one commit. */
export function refuseCrossReferences(tree: AssignmentTree, schema: Schema): void {
  const [crossed] = findCrossedColumns(tree, schema);
  if (crossed === undefined) return;
  throw invalidInput(
    `An expression reads ${quotePath([crossed])}, which the same commit updates.`,
    'Send the updates one after the other.',
  );
}

/** The same assignments, reading the copies of other columns. A column still reads itself. */
export function readCopies(tree: AssignmentTree, copies: ReadonlyMap<string, string>, schema: Schema): AssignmentTree {
  return mapExpressions(tree, (expression) =>
    replaceReferences(expression, schema, ({ column }) => {
      const copy = column === undefined ? undefined : copies.get(column);
      return copy === undefined ? undefined : sqlFieldReference([copy]);
    }),
  );
}

export function mapExpressions(tree: AssignmentTree, map: (expression: GuardedSql) => GuardedSql): AssignmentTree {
  return new Map([...tree].map(([name, node]) => [name, mapNode(node)]));

  function mapNode(node: AssignmentNode): AssignmentNode {
    if (node.kind === 'value') return { kind: 'value', expression: map(node.expression) };
    return { kind: 'fields', fields: new Map([...node.fields].map(([name, child]) => [name, mapNode(child)])) };
  }
}

export function* expressionsOf(node: AssignmentNode): Generator<GuardedSql> {
  if (node.kind === 'value') yield node.expression;
  else for (const child of node.fields.values()) yield* expressionsOf(child);
}
