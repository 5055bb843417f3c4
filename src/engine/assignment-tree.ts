import { ServiceError } from '../errors/service-error.ts';
import { formatFieldPath } from '../model/field-path.ts';
import type { FieldPath } from '../model/field-path.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { GuardedSql } from '../model/query.ts';

export interface Assignment {
  readonly path: FieldPath;
  readonly expression: GuardedSql;
}

/** Assignments by field, as nested as the fields are: a field has an expression of its own or fields below it. */
export type AssignmentTree = ReadonlyMap<string, AssignmentNode>;

export type AssignmentNode =
  | { readonly kind: 'value'; readonly expression: GuardedSql }
  | { readonly kind: 'fields'; readonly fields: Map<string, AssignmentNode> };

/** Refuses a field that is assigned twice, or together with a field inside it: the engine would let the last win. */
export function toAssignmentTree(assignments: readonly Assignment[]): AssignmentTree {
  const tree = new Map<string, AssignmentNode>();
  for (const assignment of assignments) insert(tree, assignment);
  return tree;
}

function insert(tree: Map<string, AssignmentNode>, { path, expression }: Assignment): void {
  let fields = tree;
  for (const [index, name] of path.slice(0, -1).entries()) {
    const node = fields.get(name) ?? { kind: 'fields', fields: new Map<string, AssignmentNode>() };
    if (node.kind === 'value') throw assignedWithParent(path, path.slice(0, index + 1));
    fields.set(name, node);
    fields = node.fields;
  }
  const last = path[path.length - 1] ?? path[0];
  const present = fields.get(last);
  if (present?.kind === 'value') throw assignedTwice(path);
  if (present !== undefined) throw assignedWithParent(undefined, path);
  fields.set(last, { kind: 'value', expression });
}

function assignedTwice(path: FieldPath): ServiceError {
  return new ServiceError('InvalidInput', `The field ${quoteForMessage(formatFieldPath(path))} is updated twice.`, {
    hint: 'Give each field once.',
  });
}

function assignedWithParent(path: FieldPath | undefined, parent: readonly string[]): ServiceError {
  const [first = '', ...rest] = parent;
  const struct = quoteForMessage(formatFieldPath([first, ...rest]));
  const field = path === undefined ? 'a field inside it' : `its field ${quoteForMessage(formatFieldPath(path))}`;
  return new ServiceError('InvalidInput', `The struct ${struct} is updated together with ${field}.`, {
    hint: 'Update either the whole struct or its fields.',
  });
}
