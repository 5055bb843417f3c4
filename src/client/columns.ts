import { formatFieldPath, sqlFieldReference } from '../model/field-path.ts';
import type { TablePath } from '../model/identifier.ts';
import type { SchemaJson, TypeJson } from '../wire/schema/schema-json.ts';
import type { DescribeEmbeddingsReply } from '../wire/operating/embeddings.ts';
import type { ApiClient } from './api-client.ts';
import type { State } from './history.ts';
import { queryRows } from './rows.ts';
import type {
  AlterColumnsBody,
  ColumnsReply,
  DropColumnsBody,
  UpdateFieldMetadataBody,
  UpdateFieldMetadataReply,
} from '../wire/columns.ts';
import { tableOperation } from './calls.ts';

export const alterColumns = tableOperation<ColumnsReply, AlterColumnsBody>('alter_columns');
export const dropColumns = tableOperation<ColumnsReply, DropColumnsBody>('drop_columns');
export const updateFieldMetadata = tableOperation<UpdateFieldMetadataReply, UpdateFieldMetadataBody>(
  'update_field_metadata',
);

/** The models that can embed search texts. */
export async function describeEmbeddings(client: ApiClient): Promise<DescribeEmbeddingsReply> {
  return client.json('/v1/embeddings');
}

export type FieldJson = SchemaJson['fields'][number];
type OnBranch = Pick<State, 'branch'>;

/** Whether a column can be converted to vectors, because it contains lists of numbers. */
export function holdsNumberLists({ type }: FieldJson): boolean {
  const isList = type.type === 'list' || type.type === 'large_list';
  return isList && /^(?:u?int\d+|float\d+|halffloat|float|double)$/.test(itemOf(type)?.type.type ?? '');
}

/** The length of the first list; `undefined` if all rows are null. */
export async function findListLength(client: ApiClient, table: TablePath, { name }: FieldJson, on: OnBranch = {}) {
  const length = `array_length(${sqlFieldReference([name])})`;
  const filter = `${sqlFieldReference([name])} IS NOT NULL`;
  const [row] = await queryRows(client, table, { k: 1, filter, columns: { column_aliases: { length } }, ...on });
  return row === undefined ? undefined : Number(row['length']);
}

/** Converts lists of numbers to vectors; the server refuses if a list has another length. */
export async function convertToVectors(
  client: ApiClient,
  table: TablePath,
  field: FieldJson,
  { length, ...on }: { readonly length: number } & OnBranch,
): Promise<{ readonly version: number }> {
  const item = itemOf(field.type)?.type.type ?? '';
  const type = /float|double/.test(item) ? item : 'float32';
  const fields = [{ name: 'item', nullable: true, type: { type } }];
  const alteration = { path: formatFieldPath([field.name]), data_type: { type: 'fixed_size_list', length, fields } };
  return alterColumns(client, table, { alterations: [alteration], ...on });
}

function itemOf(type: TypeJson): FieldJson | undefined {
  return type.fields?.[0];
}
