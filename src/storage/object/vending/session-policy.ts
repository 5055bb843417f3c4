import { storeMisconfigured } from '../object-store.ts';
import { DATA_FOLDERS, VERSIONS } from '../../format/layout.ts';
import { manifestName } from '../../format/manifest.ts';

/**
 * What vended credentials allow on the files of a table. They never allow a delete, nor the replacement of a manifest.
 *
 * `read`: get and list. `create`: also the files of the first version of a table that has no data. `stage`: also data
 * files and staging manifests, which the server turns into versions; for tables with managed versioning.
 */
export type TableAccess = 'read' | 'create' | 'stage';

interface PolicyScope {
  /** The partition in resource names: `aws`, or that of another group of regions. */
  readonly partition: string;
  readonly bucket: string;
  /** The directory of the table, without leading or trailing slashes. */
  readonly path: string;
}

type Statement = Readonly<Record<'Effect' | 'Action', string>> & {
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string>>>>;
};

/** The limit of STS for the plain text of a policy. */
const POLICY_CHARACTERS_MAX = 2048;

/** The session policy: credentials never allow more, whatever their role allows. */
export function toSessionPolicy({ partition, bucket, path }: PolicyScope, access: TableAccess): string {
  // With a trailing slash, so that the policy for `orders` does not match `orders2`.
  const folder = `arn:${partition}:s3:::${bucket}/${path}/`;
  const statements: readonly Statement[] = [
    { Effect: 'Allow', Action: 's3:GetObject', Resource: `${folder}*` },
    {
      Effect: 'Allow',
      Action: 's3:ListBucket',
      Resource: `arn:${partition}:s3:::${bucket}`,
      Condition: { StringLike: { 's3:prefix': `${path}/*` } },
    },
    ...WRITES[access](folder),
  ];
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: statements });
  if (policy.length <= POLICY_CHARACTERS_MAX) return policy;
  throw storeMisconfigured(
    'The location of the table is too long for a credential policy.',
    'Read the table through the server.',
  );
}

const WRITES: Readonly<Record<TableAccess, (folder: string) => readonly Statement[]>> = {
  read: () => [],
  create: (folder) => [
    { Effect: 'Allow', Action: 's3:PutObject', Resource: [`${folder}data/*`, `${folder}_transactions/*`] },
    {
      Effect: 'Allow',
      Action: 's3:PutObject',
      // One name only: a second one for the same version could replace a manifest that was checked.
      Resource: `${folder}${VERSIONS}/${manifestName(1)}`,
      // Only with If-None-Match, so it can be written only once.
      Condition: { Null: { 's3:if-none-match': 'false' } },
    },
  ],
  stage: (folder) => [
    {
      Effect: 'Allow',
      Action: 's3:PutObject',
      Resource: [...DATA_FOLDERS.map((name) => `${folder}${name}/*`), `${folder}${VERSIONS}/*.manifest-*`],
    },
    // Lance treats every name with this ending as a version, even `7.manifest-x.manifest`.
    { Effect: 'Deny', Action: 's3:PutObject', Resource: `${folder}${VERSIONS}/*.manifest` },
  ],
};
