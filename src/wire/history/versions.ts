import { Type } from 'typebox';
import {
  Branch,
  strictObject,
  BranchQuery,
  NextPageToken,
  pageFields,
  pageParameters,
  StringMap,
  Version,
  optionalFlag,
  optionalText,
  replyBody,
  requestBody,
} from '../shapes.ts';

const integer = (description: string) => Type.Integer({ minimum: 0, description });

/** What answers a change that has nothing else to tell. */
export const ChangeReply = replyBody({ transaction_id: optionalText() });
export type ChangeReply = Type.Static<typeof ChangeReply>;

export const ListVersionsQuery = Type.Object({
  ...BranchQuery.properties,
  ...pageParameters,
  descending: optionalText('`true` for the latest first; oldest first when absent.'),
});

export const ListVersionsBody = requestBody({
  ...pageFields,
  branch: Type.Optional(Branch),
  descending: optionalFlag(),
});

export const TableVersionShape = Type.Object({
  version: Version,
  timestamp: Type.String({ description: 'When it was committed, as RFC 3339.' }),
  timestamp_millis: Type.Integer({ description: 'The same in milliseconds since 1970.' }),
  metadata: StringMap,
  manifest_path: Type.String({ description: 'The file that records the version.' }),
  manifest_size: Type.Optional(integer('Its bytes, where the storage tells them.')),
});
export type TableVersionShape = Type.Static<typeof TableVersionShape>;

export const ListVersionsReply = replyBody({
  versions: Type.Array(TableVersionShape),
  page_token: NextPageToken,
});
export type ListVersionsReply = Type.Static<typeof ListVersionsReply>;

export const DescribeVersionBody = requestBody({ version: Type.Optional(Version), branch: Type.Optional(Branch) });

export const DescribeVersionReply = replyBody({ version: TableVersionShape });
export type DescribeVersionReply = Type.Static<typeof DescribeVersionReply>;

export const DeleteVersionsBody = requestBody({
  branch: Type.Optional(Branch),
  ranges: Type.Array(
    strictObject({
      start_version: Version,
      end_version: Type.Integer({
        minimum: -1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The version before which the range ends; -1 for no end.',
      }),
    }),
  ),
});
export type DeleteVersionsBody = Type.Static<typeof DeleteVersionsBody>;

export const DeleteVersionsReply = replyBody({
  deleted_count: integer('How many versions were deleted.'),
  transaction_id: optionalText(),
});
export type DeleteVersionsReply = Type.Static<typeof DeleteVersionsReply>;

export const RestoreTableBody = requestBody({ version: Version, branch: Type.Optional(Branch) });
export type RestoreTableBody = Type.Static<typeof RestoreTableBody>;

export const RestoreTableReply = Type.Object({ ...ChangeReply.properties, version: Version });
export type RestoreTableReply = Type.Static<typeof RestoreTableReply>;
