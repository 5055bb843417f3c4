import type { FieldPath } from '../model/field-path.ts';
import type { GuardedSql } from '../model/query.ts';
import type { DataType } from '../model/schema.ts';

/** A column that is not there yet, with its values for the rows that are: calculated, or null. */
export type NewColumn =
  | { readonly kind: 'calculated'; readonly name: string; readonly expression: GuardedSql }
  | { readonly kind: 'null'; readonly name: string; readonly type: DataType };

/** What is `undefined` stays as it is. */
export interface ColumnAlteration {
  readonly path: FieldPath;
  readonly rename: string | undefined;
  /** The new type in Lance's own JSON form. */
  readonly typeJson: string | undefined;
  readonly nullable: boolean | undefined;
}
