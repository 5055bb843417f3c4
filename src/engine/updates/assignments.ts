import { formatArrowCast } from '../../arrow/schema/type-name.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { quotePath, requireField, sqlFieldReference, sqlString } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import { childFields, isJson } from '../../model/schema.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';
import { holdsStruct } from '../workarounds/filtered-scans.ts';

export interface Assignment {
  readonly path: FieldPath;
  readonly expression: GuardedSql;
}

/** Assignments nested like the fields: a field has either an expression or child fields. */
export type AssignmentTree = ReadonlyMap<string, AssignmentNode>;

export type AssignmentNode =
  | { readonly kind: 'value'; readonly expression: GuardedSql }
  | { readonly kind: 'fields'; readonly fields: Map<string, AssignmentNode> };

/**
 * Refuses a field that is assigned twice, or together with a field inside it: in the engine, the last one would win.
 */
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
  if (present?.kind === 'value') {
    throw invalidInput(`The field ${quotePath(path)} is updated twice.`, 'Give each field once.');
  }
  if (present !== undefined) throw assignedWithParent(undefined, path);
  fields.set(last, { kind: 'value', expression });
}

function assignedWithParent(path: FieldPath | undefined, parent: readonly string[]): ServiceError {
  const [first = '', ...rest] = parent;
  const struct = quotePath([first, ...rest]);
  const field = path === undefined ? 'a field inside it' : `its field ${quotePath(path)}`;
  return invalidInput(
    `The struct ${struct} is updated together with ${field}.`,
    'Update either the whole struct or its fields.',
  );
}

/**
 * The engine updates top-level columns only. For a field inside a struct, the whole struct is rewritten, with every
 * sibling from the row, and null where the struct was null.
 */
export function toColumnUpdates(tree: AssignmentTree, schema: Schema): [column: string, expression: string][] {
  return [...tree].map(([name, node]) => {
    const value = toExpression(node, [name], schema);
    return [name, node.kind === 'value' ? withItemMetadata(value, requireField(schema, [name])) : value];
  });
}

/**
 * The engine refuses to store a list in a column whose items have metadata, which no SQL type can express. `nullif`
 * gives its result the type of the column; the inner one is always null, so the value is unchanged.
 */
export function withItemMetadata(value: string, { name, type }: Field): string {
  if (type.kind !== 'list' || !hasItemMetadata(type)) return value;
  const column = sqlFieldReference([name]);
  return `nullif(${value}, nullif(${column}, ${column}))`;
}

function hasItemMetadata(type: DataType): boolean {
  return childFields(type).some((child) => child.metadata.size > 0 || hasItemMetadata(child.type));
}

function toExpression(node: AssignmentNode, path: FieldPath, schema: Schema): string {
  const field = requireField(schema, path);
  return node.kind === 'value'
    ? toTypedValue(node.expression, field, path)
    : toStruct(node.fields, field, path, schema);
}

/**
 * Casts to the column's exact type: without a cast the engine silently turns a vector of the wrong length, or an
 * out-of-range number inside a list, into null. Structs are not cast, because the engine matches their fields by name.
 */
export function toTypedValue(expression: GuardedSql, field: Field, path: FieldPath): string {
  if (isJson(field)) return requireNull(expression, path);
  const type = holdsStruct(field.type) ? undefined : formatArrowCast(field.type);
  return type === undefined ? expression : `arrow_cast(${expression}, ${sqlString(type)})`;
}

function toStruct(
  assigned: ReadonlyMap<string, AssignmentNode>,
  struct: Field,
  path: FieldPath,
  schema: Schema,
): string {
  const children = requireStruct(struct, path, assigned);
  for (const name of assigned.keys()) requireField(schema, [...path, name]);
  for (const child of children) requireNullable(child, path);
  const parts = children.map((child) => {
    const childPath: FieldPath = [...path, child.name];
    const node = assigned.get(child.name);
    const value = node === undefined ? sqlFieldReference(childPath) : toExpression(node, childPath, schema);
    return `${sqlString(child.name)}, ${value}`;
  });
  const rewritten = `named_struct(${parts.join(', ')})`;
  return struct.nullable ? `nvl2(${sqlFieldReference(path)}, ${rewritten}, NULL)` : rewritten;
}

function requireStruct(field: Field, path: FieldPath, assigned: ReadonlyMap<string, AssignmentNode>): readonly Field[] {
  if (field.type.kind === 'struct') return field.type.children;
  const inside = quotePath([...path, ...firstPath(assigned)]);
  if (childFields(field.type).length === 0) {
    throw new ServiceError('TableColumnNotFound', `The field ${inside} was not found.`, {
      hint: `${quotePath(path)} has no fields.`,
    });
  }
  const outer = quotePath(path);
  throw invalidInput(
    `The field ${inside} cannot be updated, because ${outer} is a list or a map.`,
    `Update ${outer} as a whole.`,
  );
}

function firstPath(assigned: ReadonlyMap<string, AssignmentNode>): readonly string[] {
  for (const [name, node] of assigned) return node.kind === 'value' ? [name] : [name, ...firstPath(node.fields)];
  return [];
}

/** The engine considers the result of `named_struct` nullable, so it refuses to store it in a field that is not. */
function requireNullable(child: Field, parent: FieldPath): void {
  if (child.nullable) return;
  const struct = quotePath(parent);
  const field = quotePath([...parent, child.name]);
  throw invalidInput(
    `No field of the struct ${struct} can be updated, because its field ${field} is not nullable.`,
    'The storage engine cannot rewrite such a struct.',
  );
}

/** JSON columns store a binary form, which the engine's SQL cannot produce: it would store the text. */
function requireNull(expression: GuardedSql, path: FieldPath): string {
  if (/^[\s(]*null[\s)]*$/i.test(expression)) return expression;
  throw invalidInput(`The field ${quotePath(path)} contains JSON, which an update can only set to NULL.`);
}
