import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

/** The reply to a change that returns nothing but its record. */
export const ChangeReply = Shape.replyBody({ transaction_id: Shape.optionalText() });
export type ChangeReply = Type.Static<typeof ChangeReply>;

export const ListVersionsQuery = Type.Object({
  ...Shape.BranchQuery.properties,
  ...Shape.pageParameters,
  descending: Shape.optionalText('`true` for the latest first; oldest first when absent.'),
});

export const ListVersionsBody = Shape.requestBody({
  ...Shape.pageFields,
  branch: Type.Optional(Shape.Branch),
  descending: Shape.optionalFlag(),
});

export const TableVersionShape = Type.Object({
  version: Shape.Version,
  timestamp: Type.String({ description: 'When it was committed, as RFC 3339.' }),
  timestamp_millis: Type.Integer({ description: 'The same in milliseconds since 1970.' }),
  metadata: Shape.StringMap,
  manifest_path: Type.String({ description: 'The file that records the version.' }),
  manifest_size: Shape.optionalCount('Its bytes, where the storage tells them.'),
});
export type TableVersionShape = Type.Static<typeof TableVersionShape>;

export const ListVersionsReply = Shape.replyBody({
  versions: Type.Array(TableVersionShape),
  page_token: Shape.NextPageToken,
});
export type ListVersionsReply = Type.Static<typeof ListVersionsReply>;

/** A manifest that the caller has staged, and wants to be the next version. */
export const submissionFields = {
  version: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'The one after the latest.' }),
  manifest_path: Type.String({
    minLength: 1,
    maxLength: 4096,
    description:
      'The staged file, in `_versions` of the table or the branch: the name of the manifest, `-` and a UUID.',
  }),
  manifest_size: Shape.optionalCount('Its bytes; another size is refused.'),
  e_tag: Shape.optionalText('Of the staged file. Not compared.'),
  metadata: Type.Optional(Shape.StringMap),
  naming_scheme: Type.Optional(
    Type.Union([Type.Literal('V1'), Type.Literal('V2')], { description: 'Must be that of the table.' }),
  ),
  branch: Type.Optional(Shape.Branch),
};

export const CreateVersionBody = Shape.requestBody(submissionFields);
export type CreateVersionBody = Type.Static<typeof CreateVersionBody>;

export const CreatedVersion = Type.Object({
  version: Shape.Version,
  manifest_path: Type.String({ description: 'The manifest of the version, below the root of its store.' }),
  manifest_size: Shape.count('Its bytes.'),
  e_tag: Shape.optionalText('Where the store gives one. A repeated request does not get it.'),
});

export const CreateVersionReply = Shape.replyBody({ version: CreatedVersion, transaction_id: Shape.optionalText() });
export type CreateVersionReply = Type.Static<typeof CreateVersionReply>;

export const SetManagedVersioningBody = Shape.requestBody({
  enabled: Type.Boolean({ description: 'Whether external writers commit through the service.' }),
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
        description: 'The version before which the range ends; -1 for all up to the latest, which stays.',
      }),
    }),
  ),
});
export type DeleteVersionsBody = Type.Static<typeof DeleteVersionsBody>;

export const DeleteVersionsReply = Shape.replyBody({
  deleted_count: Shape.count('How many versions were deleted.'),
  transaction_id: Shape.optionalText(),
});

export const RestoreTableBody = Shape.requestBody({ version: Shape.Version, branch: Type.Optional(Shape.Branch) });
export type RestoreTableBody = Type.Static<typeof RestoreTableBody>;

export const RestoreTableReply = Type.Object({ ...ChangeReply.properties, version: Shape.Version });
export type RestoreTableReply = Type.Static<typeof RestoreTableReply>;
