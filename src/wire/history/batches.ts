import { Type } from 'typebox';
import * as Shape from '../shapes.ts';
import { DeclareTableBody, DeclareTableReply, GoneTableReply } from '../tables.ts';
import {
  CreateVersionBody,
  CreateVersionReply,
  CreatedVersion,
  DeleteVersionsBody,
  DeleteVersionsReply,
  submissionFields,
} from './versions.ts';

export const BatchCreateVersionsBody = Shape.requestBodyWithoutId({
  entries: Type.Array(Shape.strictObject({ id: Shape.IdentifierPath, ...submissionFields }), {
    description: 'One entry per table.',
  }),
});
export type BatchCreateVersionsBody = Type.Static<typeof BatchCreateVersionsBody>;

export const BatchCreateVersionsReply = Shape.replyBody({
  versions: Type.Array(CreatedVersion, { description: 'In the order of `entries`.' }),
  transaction_id: Shape.optionalText('Transaction id of the first result.'),
});

export const TableOperation = Shape.strictObject(
  {
    declare_table: Type.Optional(DeclareTableBody),
    create_table_version: Type.Optional(CreateVersionBody),
    delete_table_versions: Type.Optional(DeleteVersionsBody),
    deregister_table: Type.Optional(Shape.EmptyBody),
  },
  { description: 'Exactly one of these, with the `id` of its table.' },
);
export type TableOperation = Type.Static<typeof TableOperation>;

export const BatchCommitBody = Shape.requestBodyWithoutId({ operations: Type.Array(TableOperation) });
export type BatchCommitBody = Type.Static<typeof BatchCommitBody>;

export const BatchCommitReply = Shape.replyBody({
  results: Type.Array(
    Type.Object({
      declare_table: Type.Optional(DeclareTableReply),
      create_table_version: Type.Optional(CreateVersionReply),
      delete_table_versions: Type.Optional(DeleteVersionsReply),
      deregister_table: Type.Optional(GoneTableReply),
    }),
    { description: 'In the order of `operations`.' },
  ),
  transaction_id: Shape.optionalText('Transaction id of the first result.'),
});
