import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

/** The reply to a change that returns nothing but its record. */
export const ChangeReply = Shape.replyBody({ transaction_id: Shape.optionalText() });
export type ChangeReply = Type.Static<typeof ChangeReply>;

export const ListVersionsQuery = Type.Object({
  ...Shape.BranchQuery.properties,
  ...Shape.pageParameters,
  descending: Shape.optionalText('`true` lists the latest version first; oldest first by default.'),
});

export const ListVersionsBody = Shape.requestBody({
  ...Shape.pageFields,
  branch: Type.Optional(Shape.Branch),
  descending: Shape.optionalFlag(),
});

export const TableVersionShape = Type.Object({
  version: Shape.Version,
  timestamp: Type.String({ description: 'Commit time, RFC 3339.' }),
  timestamp_millis: Type.Integer({ description: 'Commit time, in milliseconds since 1970.' }),
  metadata: Shape.mapOf(Type.String(), 'Figures of the engine, and the metadata from `version/create`.'),
  manifest_path: Type.String({ description: 'Path of the manifest file of the version.' }),
  manifest_size: Shape.optionalCount('Size of the manifest in bytes, if the storage reports it.'),
});
export type TableVersionShape = Type.Static<typeof TableVersionShape>;

export const ListVersionsReply = Shape.replyBody({
  versions: Type.Array(TableVersionShape),
  page_token: Shape.NextPageToken,
});
export type ListVersionsReply = Type.Static<typeof ListVersionsReply>;

/** A manifest that the caller has staged to become the next version. */
export const submissionFields = {
  version: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The next version: the latest version plus one.',
  }),
  manifest_path: Type.String({
    minLength: 1,
    maxLength: 4096,
    description:
      'Path of the staged file, in `_versions` of the table or branch. Its name is that of the manifest, followed by `-` and a UUID.',
  }),
  manifest_size: Shape.optionalCount('Size of the staged file in bytes; the request is refused if the size differs.'),
  e_tag: Shape.optionalText('ETag of the staged file; not checked.'),
  metadata: Type.Optional(Shape.mapOf(Type.String(), 'Stored with the version, and listed with it.')),
  naming_scheme: Type.Optional(
    Type.Union([Type.Literal('V1'), Type.Literal('V2')], { description: 'Must match the naming scheme of the table.' }),
  ),
  branch: Type.Optional(Shape.Branch),
};

export const CreateVersionBody = Shape.requestBody(submissionFields);
export type CreateVersionBody = Type.Static<typeof CreateVersionBody>;

export const CreatedVersion = Type.Object({
  version: Shape.Version,
  manifest_path: Type.String({ description: 'Path of the manifest of the version, from the root of its store.' }),
  manifest_size: Shape.count('Size of the manifest in bytes.'),
  e_tag: Shape.optionalText('ETag of the manifest, if the store provides one; absent in a replayed reply.'),
  metadata: Type.Optional(Shape.mapOf(Type.String(), 'As it was given.')),
});

export const CreateVersionReply = Shape.replyBody({ version: CreatedVersion, transaction_id: Shape.optionalText() });
export type CreateVersionReply = Type.Static<typeof CreateVersionReply>;

export const SetManagedVersioningBody = Shape.requestBody({
  enabled: Type.Boolean({ description: 'Whether external writers must commit through the server.' }),
});

export type SetManagedVersioningBody = Type.Static<typeof SetManagedVersioningBody>;

export const SetManagedVersioningReply = Shape.replyBody({
  managed_versioning: Type.Boolean(),
  properties: Shape.StringMap,
  transaction_id: Type.String(),
});

export type SetManagedVersioningReply = Type.Static<typeof SetManagedVersioningReply>;

export const DescribeVersionBody = Shape.requestBody(Shape.stateFields);

export const DescribeVersionReply = Shape.replyBody({ version: TableVersionShape });

export const DeleteVersionsBody = Shape.requestBody({
  branch: Type.Optional(Shape.Branch),
  ranges: Type.Array(
    Shape.strictObject({
      start_version: Shape.Version,
      end_version: Type.Integer({
        minimum: -1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'End of the range, exclusive; -1 for all versions but the latest.',
      }),
    }),
  ),
});
export type DeleteVersionsBody = Type.Static<typeof DeleteVersionsBody>;

export const DeleteVersionsReply = Shape.replyBody({
  deleted_count: Shape.count('Number of versions deleted.'),
  transaction_id: Shape.optionalText(),
});

export const RestoreTableBody = Shape.requestBody({ version: Shape.Version, branch: Type.Optional(Shape.Branch) });
export type RestoreTableBody = Type.Static<typeof RestoreTableBody>;

export const RestoreTableReply = Type.Object({
  ...ChangeReply.properties,
  version: Shape.Version,
  removed_indexes: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Indexes that the restored version does not have.',
    }),
  ),
  removed_columns: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Columns that the restored version does not have.',
    }),
  ),
});
export type RestoreTableReply = Type.Static<typeof RestoreTableReply>;
