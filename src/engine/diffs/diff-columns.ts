import { describeType } from '../../arrow/schema/type-name.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { requireField } from '../../model/field-path.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';

/** What identifies a row in both versions. */
export type DiffKey =
  | { readonly kind: 'columns'; readonly columns: readonly string[] }
  /** Ids that a row always keeps. */
  | { readonly kind: 'row-ids' };

export interface NamedType {
  readonly name: string;
  readonly type: string;
}

/** How the columns of two versions differ. */
export interface ColumnChanges {
  readonly added: readonly NamedType[];
  readonly removed: readonly NamedType[];
  readonly changed: readonly { readonly name: string; readonly from: string; readonly to: string }[];
}

export interface ColumnsOfDiff {
  /** In both versions. */
  readonly compared: readonly string[];
  /** Columns whose type differs between the versions: their values are compared as JSON. */
  readonly asText: ReadonlySet<string>;
  readonly shownBefore: readonly string[];
  readonly shownAfter: readonly string[];
  readonly changes: ColumnChanges;
}

interface Schemas {
  readonly from: Schema;
  readonly to: Schema;
}

interface KeyChoice extends Schemas {
  readonly on: readonly string[] | undefined;
  /** Both versions are on a branch with stable row ids. */
  readonly hasRowIds: boolean;
}

/** The columns that the caller names; otherwise row ids, the primary key of the schema, or the column `id`. */
export function chooseKey({ on, from, to, hasRowIds }: KeyChoice): DiffKey {
  if (on !== undefined) {
    for (const name of on) for (const schema of [from, to]) requireField(schema, [name]);
    return { kind: 'columns', columns: on };
  }
  if (hasRowIds) return { kind: 'row-ids' };
  const primary = primaryKeyOf(to);
  const columns = primary.length > 0 ? primary : ['id'];
  if (columns.every((name) => [from, to].every((schema) => isKeyColumn(schema, name)))) {
    return { kind: 'columns', columns };
  }
  throw invalidInput(
    'The rows of the two versions cannot be matched: the table has no stable row ids, no primary key and no column id.',
    'Give the columns that identify a row, such as {"on": ["sku"]}.',
  );
}

const PRIMARY_KEY = 'lance-schema:unenforced-primary-key';
const PRIMARY_KEY_POSITION = 'lance-schema:unenforced-primary-key:position';

function primaryKeyOf({ fields }: Schema): readonly string[] {
  return fields
    .filter(({ metadata }) => metadata.get(PRIMARY_KEY) === 'true' || metadata.has(PRIMARY_KEY_POSITION))
    .toSorted((one, other) => keyPosition(one) - keyPosition(other))
    .map(({ name }) => name);
}

function keyPosition({ metadata }: Field): number {
  return Number(metadata.get(PRIMARY_KEY_POSITION) ?? 0);
}

const KEY_KINDS: ReadonlySet<DataType['kind']> = new Set(['int', 'utf8', 'binary', 'fixed-size-binary', 'decimal']);

function isKeyColumn({ fields }: Schema, name: string): boolean {
  return fields.some((field) => field.name === name && KEY_KINDS.has(field.type.kind));
}

/** `names` are the requested columns; each is in one of the versions. */
export function chooseColumns({ from, to }: Schemas, names: readonly string[] | undefined): ColumnsOfDiff {
  for (const name of names ?? []) if (!has(from, name)) requireField(to, [name]);
  const isWanted = ({ name }: Pick<Field, 'name'>): boolean => names === undefined || names.includes(name);
  const [before, after] = [from.fields.filter(isWanted), to.fields.filter(isWanted)];
  const changed = to.fields.flatMap((field) => {
    const old = from.fields.find(({ name }) => name === field.name);
    return old === undefined || isSameType(old.type, field.type) ? [] : [{ name: field.name, old, field }];
  });
  return {
    compared: after.filter(({ name }) => has(from, name)).map(({ name }) => name),
    asText: new Set(changed.map(({ name }) => name)),
    shownBefore: before.map(({ name }) => name),
    shownAfter: after.map(({ name }) => name),
    changes: {
      added: after.filter(({ name }) => !has(from, name)).map(toNamedType),
      removed: before.filter(({ name }) => !has(to, name)).map(toNamedType),
      changed: changed.filter(isWanted).map(({ name, old, field }) => {
        return { name, from: describeType(old.type), to: describeType(field.type) };
      }),
    },
  };
}

function has({ fields }: Schema, name: string): boolean {
  return fields.some((field) => field.name === name);
}

function toNamedType({ name, type }: Field): NamedType {
  return { name, type: describeType(type) };
}

function isSameType(one: DataType, other: DataType): boolean {
  return withoutNotes(one) === withoutNotes(other);
}

/** The type as text, ignoring metadata and nullability. */
function withoutNotes(type: DataType): string {
  return JSON.stringify(type, (key, value: unknown) => (key === 'metadata' || key === 'nullable' ? undefined : value));
}
