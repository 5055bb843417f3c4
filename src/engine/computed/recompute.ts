import { ServiceError } from '../../errors/service-error.ts';
import { guardSql } from '../../guard/sql/guard-sql.ts';
import { findVolatile } from '../../guard/sql/functions.ts';
import type { SqlLimits } from '../../model/limits.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Schema } from '../../model/schema.ts';
import { toTypedValue } from '../updates/assignments.ts';
import type { AssignmentNode, AssignmentTree } from '../updates/assignments.ts';
import { expressionsOf } from '../workarounds/cross-references.ts';
import { findComputed, isComputed } from './definitions.ts';
import type { ComputedColumn } from './definitions.ts';
import { findReferences, referredColumns } from './references.ts';

/** How columns that are computed from updated columns get their new values. */
export interface Recomputation {
  /** The update itself, including the computed columns that it can set directly. */
  readonly tree: AssignmentTree;
  /** Columns that need a second commit, because they depend on values that the first one writes. */
  readonly after: readonly ComputedColumn[];
}

/**
 * The engine computes the columns of one update sequentially, in random order, from what the previous ones have
 * written. So an update sets a computed column directly only if the new values of its inputs do not depend on columns
 * that the update changes: its definition is then rewritten with the new values in place of the inputs.
 */
export function planRecomputation(tree: AssignmentTree, schema: Schema, limits: SqlLimits): Recomputation {
  const computed = findComputed(schema, limits);
  const assigned = computed.find(({ field }) => tree.has(field.name));
  if (assigned !== undefined) throw isComputed(assigned.field.name, 'Update the columns that it is computed from.');
  const affected = computed.filter(({ inputs }) => [...inputs].some((name) => tree.has(name)));
  if (affected.length === 0) return { tree, after: [] };
  const whole = new Map(tree);
  for (const column of affected) {
    const expression = substitute(column, tree, schema, limits);
    if (expression === undefined) return { tree, after: affected };
    whole.set(column.field.name, { kind: 'value', expression });
  }
  return { tree: whole, after: [] };
}

/**
 * Refuses an update in one commit if some columns can only be computed from what it writes. This depends on the schema
 * at commit time; reading the schema before every update would slow down all of them.
 */
export class NeedsTwoCommits extends ServiceError {
  constructor() {
    super('ConcurrentModification', 'The columns of the table changed in the meantime.', {
      hint: 'Send the update again.',
    });
  }
}

/**
 * `undefined` if the new inputs depend on what the update changes, would differ when evaluated again, or the result is
 * not allowed.
 */
function substitute(
  { expression, inputs }: ComputedColumn,
  tree: AssignmentTree,
  schema: Schema,
  limits: SqlLimits,
): GuardedSql | undefined {
  for (const name of inputs) {
    const node = tree.get(name);
    if (node === undefined) continue;
    if (node.kind !== 'value' || readsUpdated(node, tree, schema)) return undefined;
    if (findVolatile(node.expression) !== undefined) return undefined;
  }
  let text = '';
  let end = 0;
  for (const { token, column } of findReferences(expression, schema)) {
    const node = column === undefined ? undefined : tree.get(column);
    const field = schema.fields.find(({ name }) => name === column);
    if (node?.kind !== 'value' || field === undefined) continue;
    // A field inside a new value is read by the second commit.
    if (/^\s*[.[]/.test(expression.slice(token.end))) return undefined;
    text += `${expression.slice(end, token.start)}${toTypedValue(node.expression, field, [field.name])}`;
    end = token.end;
  }
  try {
    return guardSql(text + expression.slice(end), { name: 'expression', field: 'the definition' }, limits);
  } catch {
    return undefined;
  }
}

function readsUpdated(node: AssignmentNode, tree: AssignmentTree, schema: Schema): boolean {
  return [...expressionsOf(node)].some((sql) => referredColumns(sql, schema).some((name) => tree.has(name)));
}
